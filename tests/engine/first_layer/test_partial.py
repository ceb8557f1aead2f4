"""The first layer with θ integrated out and φ held: P(z = k) ∝ φ_vk (m⁻_jk + a_jk)."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.engine.first_layer.partial import Partial
from pgbn.testing import geweke

N = 20_000
PHI = np.array([[0.8, 0.2], [0.4, 0.6]])


def layer(tokens: int = 1) -> Partial:
    """N documents of some tokens of the first term; a = r = (1, 3)."""
    x = np.tile([tokens, 0], (N, 1))
    init = {"phi1": PHI, "r": [1.0, 3.0]}
    sampler = pgbn.zoo.pfa(2).chain({"x": x}, init=init, layer1="partial").sampler
    assert isinstance(sampler, Partial)
    return sampler


def test_a_single_token() -> None:
    """Its own label is left out: 0.8 · 1 against 0.4 · 3."""
    sampler = layer()
    sampler.step(5)
    assert (sampler.m.sum(axis=1) == 1).all()
    assert abs(sampler.m[:, 0].mean() - 0.8 / (0.8 + 1.2)) < 0.015
    assert np.array_equal(np.bincount(sampler.tokens.labels), sampler.m.sum(axis=0))


def test_two_tokens_draw_each_other_in() -> None:
    """P(z, z') ∝ φ_z φ_z' a_z (a_z' + [z = z'])."""
    sampler = layer(2)
    for key in range(20):
        sampler.step(key)
    a, phi = np.array([1.0, 3.0]), PHI[:, 0]
    joint = np.outer(phi, phi) * a[:, None] * (a[None] + np.eye(2))
    joint /= joint.sum()
    share = np.bincount(sampler.m[:, 0], minlength=3) / N
    exact = [joint[1, 1], joint[0, 1] + joint[1, 0], joint[0, 0]]
    np.testing.assert_allclose(share, exact, atol=0.015)


def test_words_are_counted_from_the_labels() -> None:
    sampler = layer(2)
    sampler.step(1)
    assert sampler.topics_held.n[0].tolist() == [sampler.m.sum(axis=0).tolist(), [0, 0]]
    assert np.array_equal(sampler.program.counts["x", "theta1"][0], sampler.m)


def test_its_state_is_the_labels() -> None:
    sampler = layer(2)
    sampler.step(1)
    sampler.draw_loadings(2)
    assert set(sampler.state()) == {"labels", "key"}
    other = layer(2)
    other.restore(sampler.state())
    assert np.array_equal(other.m, sampler.m)
    assert np.array_equal(other.topics_held.n, sampler.topics_held.n)
    assert np.array_equal(other.topics_held.loadings.value, sampler.topics_held.loadings.value)


def test_it_reads_the_topics_and_the_prior_of_the_scores() -> None:
    steps = {step.name: step for step in pgbn.zoo.pfa(2).schedule_for("partial")}
    assert {read.name for read in steps["counts(x)"].reads} == {"phi1", "r"}
    assert "theta1" in steps["counts(x)"].marginalises


def test_the_prior_of_a_deep_network_is_the_mix_above() -> None:
    """a_jk = Σ_l φ2_kl θ2_jl, in single precision, plus what other data say."""
    x = np.random.default_rng(0).poisson(1.0, (50, 6))
    chain = pgbn.zoo.pgbn([5, 3]).chain({"x": x}, layer1="partial", threads=1).sweep(2)
    sampler = chain.sampler
    assert isinstance(sampler, Partial)
    prior = sampler.prior()
    phi, theta = chain.program.values["phi2"][0], chain.program.values["theta2"][0]
    assert prior.shape.dtype == np.float32
    np.testing.assert_allclose(prior.shape, theta @ phi.T, rtol=1e-5)


@pytest.mark.parametrize("is_shared", [False, True])
def test_many_tokens_of_a_word_have_the_joint_law(is_shared: bool) -> None:
    """About forty tokens of each term and 24 topics, as in large corpora: codes where documents
    share the prior of their scores, and lists in two parts where they do not."""
    phi = pgbn.Dirichlet("phi", 0.1, over="term", dims=("topic",))
    shape = 0.3 if is_shared else pgbn.Constant(np.array([0.2, 0.3, 0.4]), dims="doc")
    theta = pgbn.Gamma("theta", shape, 0.2, dims=("doc", "topic"))
    net = pgbn.Network(pgbn.Poisson("x", theta @ phi, dims=("doc", "term")), sizes={"topic": 24})
    chain = net.chain({"x": np.full((3, 3), 15)}, layer1="partial", threads=1).sweep(2)
    loadings = chain.sampler.topics_held.loadings
    assert (loadings.byte if is_shared else loadings.high).any()
    assert bool(loadings.byte.size) == is_shared
    sizes = {"doc": 3, "term": 3}
    assert geweke(net, sizes, 3000, 4, seed=2, layer1="partial", threads=1).worst < 4
