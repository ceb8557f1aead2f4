"""Hidden counts as nodes: in the shape of a gamma, and anywhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import chisquare

import pgbn as pg
from pgbn import Gamma, HiddenPoisson, Network, Poisson
from pgbn.nodes.base import Array
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import geweke
from tests.helpers.language import HIDDEN_SIZES, hidden_in_a_shape, randomised


@pytest.mark.parametrize("update", ["", "slice"])
def test_the_conditional_is_a_bessel_law(update: str) -> None:
    """P(h | θ) ∝ (λcθ)^h / (h! Γ(a0 + h)) with λ = 3, c = 2, a0 = 0.5, θ given."""
    h = HiddenPoisson("h", 3.0, dims="i", update=update)
    theta = Gamma("theta", 0.5 + h, 2.0, dims="i")
    network = Network(Poisson("x", theta, dims="i")).with_given("theta")
    cells = 4000
    given = {"theta": np.full(cells, 1.7)}
    chain = network.chain({"x": np.ones(cells, int)}, given=given, seed=1)
    drawn = chain.sweep(1 if not update else 25).values["h"].astype(int)
    support = np.arange(30)
    log_p = support * np.log(3.0 * 2.0 * 1.7) - gammaln(support + 1.0) - gammaln(support + 0.5)
    p = np.exp(log_p - log_p.max())
    expected = cells * p / p.sum()
    last = int(np.flatnonzero(expected > 10)[-1])  # the tail in one cell
    counts = np.bincount(np.minimum(drawn, last), minlength=last + 1)
    expected = np.append(expected[:last], expected[last:].sum())
    assert chisquare(counts, expected).pvalue > 1e-4


def test_a_count_that_forgets_its_gamma_is_seen() -> None:
    def broken(chain: pg.Chain) -> None:
        at = [turn.step.name for turn in chain._turns].index("h")
        turn = chain._turns[at]

        def run(key: int) -> None:
            turn.run(key)
            chain._program.values["h"] = chain._program.values["h"] + (key % 2)

        chain._turns[at] = type(turn)(turn.step, turn.base, run)

    assert geweke(hidden_in_a_shape(), HIDDEN_SIZES, 2000, 8, seed=2, broken=broken).worst > 6


def test_file_derivation_and_values() -> None:
    network = hidden_in_a_shape()
    text = str(network.explain())
    assert "Bessel" in text
    assert "∼ Pois(r" in text
    with pytest.raises(pg.DataError, match=r"value 1\.5; counts are"):
        network.chain({"x": np.ones((2, 2), int)}, start={"h": np.full((2, 2), 1.5)})


# ---- drawn with the gamma whose shape it is in ---------------------------------------------

SIZES = {"i": 2, "k": 2}


def test_a_zero_is_left_again() -> None:
    """Had the count been held, a θ of 0 would keep h at 0, and so itself."""
    chain = randomised(0.0).chain({"x": np.zeros((2, 2), int)}, seed=1)
    zero = np.array([(chain.sweep().values["theta"] == 0).ravel() for _ in range(60)])
    assert zero.any(axis=0).all()
    assert (~zero).any(axis=0).all()


def without_the_gamma_below(
    stream: Stream, count: Array, exposure: Array, rate: Array, noise: Any, offset: Any
) -> Array:
    h = vectorised.poisson(stream.child("count"), rate)  # not what its children say of it
    return vectorised.gamma(stream, offset + h + count, noise + exposure)


def test_a_count_from_its_prior_fails() -> None:
    net = randomised(0.7)
    rule = net.wiring.draws["theta"]
    net.wiring.draws["theta"] = replace(rule, posterior=without_the_gamma_below)
    assert geweke(net, SIZES, 2000, 6).worst > 4
