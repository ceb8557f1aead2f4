"""Shapes with a coefficient, c · Φθ and c · r, and sums of two mixes, in every kernel."""

from __future__ import annotations

import numpy as np

import pgbn as pg
from pgbn import Network


def observed(theta: pg.Gamma, **sizes: int) -> Network:
    """Counts of the topics ``theta`` over terms."""
    phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
    return Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 2, **sizes})


def mix(name: str) -> pg.Mix:
    """Φθ of a layer above."""
    theta = pg.Gamma(f"theta_{name}", 1.5, 1.0, dims=("doc", name))
    return pg.Dirichlet(f"phi_{name}", 0.5, over="topic", dims=name) @ theta


def scaled_mix() -> Network:
    return observed(pg.Gamma("theta", 0.3 * mix("above"), 1.0, dims=("doc", "topic")), above=2)


def scaled_shared_shape() -> Network:
    r = pg.Gamma("r", 1.5, 1.0, dims="topic")
    return observed(pg.Gamma("theta", 2.0 * r, 1.0, dims=("doc", "topic")))


def two_mixes() -> Network:
    shape = mix("left") + 0.5 * mix("right")
    return observed(pg.Gamma("theta", shape, 1.0, dims=("doc", "topic")), left=2, right=2)


def test_overlapping_the_steps_of_a_scaled_mix_changes_nothing() -> None:
    data = {"x": np.random.default_rng(0).poisson(0.5, (200, 20))}
    usual, plain = (
        scaled_mix().chain(data, seed=3, layer1="collapsed", threads=1) for _ in range(2)
    )
    plain.sampler.mix = None  # one step after the other
    usual.sweep(3)
    plain.sweep(3)
    assert np.array_equal(usual.sampler.tokens.labels, plain.sampler.tokens.labels)
