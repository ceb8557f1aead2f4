"""The first layer with φ held: cell by cell, and token by token."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import pgbn
from pgbn.engine.first_layer.held import Blocked, Partial
from pgbn.testing import geweke

N = 10_000
PHI = np.array([[0.8, 0.2], [0.4, 0.6]])


def layer() -> Blocked:
    """N documents of 10 tokens of the first term, with θ = (1, 2): weights 0.8 and 0.8."""
    x = np.tile([10, 0], (N, 1))
    init = {"phi1": PHI, "theta1": np.tile([1.0, 2.0], (N, 1))}
    sampler = pgbn.zoo.pfa(2).chain({"x": x}, init=init, layer1="blocked").sampler
    assert isinstance(sampler, Blocked)
    return sampler


def test_cells_are_split_by_their_weights() -> None:
    sampler = layer()
    sampler.step(5)
    assert (sampler.m.sum(axis=1) == 10).all()
    assert sampler.topics_held.n.sum(axis=(0, 1)).tolist() == sampler.m.sum(axis=0).tolist()
    share = np.bincount(sampler.m[:, 0], minlength=11) / N
    np.testing.assert_allclose(share, stats.binom(10, 0.5).pmf(np.arange(11)), atol=0.02)
    assert sampler.program.counts["x", "theta1"].tolist() == [sampler.m.tolist()]


def test_missing_cells_are_imputed_as_by_the_rules() -> None:
    x = np.array([[2, 0, 3], [1, 4, 0], [0, 1, 2]])
    hidden = np.eye(3, dtype=bool)
    network = pgbn.zoo.pfa(2, 0.5, (2.0, 4.0), (4.0, 4.0), (4.0, 4.0))
    means = {}
    for layer1 in ("blocked", "composed"):
        chain = network.chain({"x": np.ma.masked_array(x, hidden)}, seed=1, layer1=layer1)
        assert chain.layer1 == layer1
        drawn = [chain.sweep().imputed("x") for _ in range(1500)]
        assert all(np.array_equal(each[~hidden], x[~hidden]) for each in drawn[::100])
        means[layer1] = np.log1p([each[hidden] for each in drawn]).mean(axis=0)
    assert np.allclose(means["blocked"], means["composed"], atol=0.1)
    assert means["blocked"].min() > 0.1


# ---- the first layer with θ integrated out and φ held: P(z = k) ∝ φ_vk (m⁻_jk + a_jk) ------------


N_PARTIAL = 20_000
PHI_PARTIAL = np.array([[0.8, 0.2], [0.4, 0.6]])


def layer_of_partial(tokens: int = 1) -> Partial:
    """N documents of some tokens of the first term; a = r = (1, 3)."""
    x = np.tile([tokens, 0], (N_PARTIAL, 1))
    init = {"phi1": PHI_PARTIAL, "r": [1.0, 3.0]}
    sampler = pgbn.zoo.pfa(2).chain({"x": x}, init=init, layer1="partial").sampler
    assert isinstance(sampler, Partial)
    return sampler


def test_two_tokens_draw_each_other_in() -> None:
    """P(z, z') ∝ φ_z φ_z' a_z (a_z' + [z = z'])."""
    sampler = layer_of_partial(2)
    for key in range(20):
        sampler.step(key)
    a, phi = np.array([1.0, 3.0]), PHI_PARTIAL[:, 0]
    joint = np.outer(phi, phi) * a[:, None] * (a[None] + np.eye(2))
    joint /= joint.sum()
    share = np.bincount(sampler.m[:, 0], minlength=3) / N_PARTIAL
    exact = [joint[1, 1], joint[0, 1] + joint[1, 0], joint[0, 0]]
    np.testing.assert_allclose(share, exact, atol=0.015)


@pytest.mark.parametrize("is_shared", [False, True])
def test_many_tokens_of_a_word_have_the_joint_law(is_shared: bool) -> None:
    """About forty tokens of each term and 24 topics, as in large corpora: no lists where documents
    share the prior of their scores, and lists in two parts where they do not."""
    phi = pgbn.Dirichlet("phi", 0.1, over="term", dims=("topic",))
    shape = 0.3 if is_shared else pgbn.Constant(np.array([0.2, 0.3, 0.4]), dims="doc")
    theta = pgbn.Gamma("theta", shape, 0.2, dims=("doc", "topic"))
    net = pgbn.Network(pgbn.Poisson("x", theta @ phi, dims=("doc", "term")), sizes={"topic": 24})
    chain = net.chain({"x": np.full((3, 3), 15)}, layer1="partial", threads=1).sweep(2)
    loadings = chain.sampler.topics_held.loadings
    assert bool(loadings.high.any()) != is_shared
    assert bool(loadings.topic.size) != is_shared
    sizes = {"doc": 3, "term": 3}
    assert geweke(net, sizes, 3000, 4, seed=2, layer1="partial", threads=1).worst < 4
