"""The first layer with φ held: cell by cell, and token by token."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.testing import geweke


def test_missing_cells_are_imputed_as_by_the_rules() -> None:
    x = np.array([[2, 0, 3], [1, 4, 0], [0, 1, 2]])
    hidden = np.eye(3, dtype=bool)
    network = pgbn.zoo.pfa(2, 0.5, (2.0, 4.0), (4.0, 4.0), (4.0, 4.0))
    means = {}
    for sampler in ("blocked", "composed"):
        chain = network.chain({"x": np.ma.masked_array(x, hidden)}, seed=1, sampler=sampler)
        assert chain.sampler == sampler
        drawn = [chain.sweep().imputed("x") for _ in range(1500)]
        assert all(np.array_equal(each[~hidden], x[~hidden]) for each in drawn[::100])
        means[sampler] = np.log1p([each[hidden] for each in drawn]).mean(axis=0)
    assert np.allclose(means["blocked"], means["composed"], atol=0.1)
    assert means["blocked"].min() > 0.1


# ---- the first layer with θ integrated out and φ held: P(z = k) ∝ φ_vk (m⁻_jk + a_jk) ------------


@pytest.mark.parametrize("is_shared", [False, True])
def test_many_tokens_of_a_word_have_the_joint_law(is_shared: bool) -> None:
    """About forty tokens of each term and 24 topics, as in large corpora: no lists where documents
    share the prior of their scores, and lists in two parts where they do not."""
    phi = pgbn.Dirichlet("phi", 0.1, over="term", dims=("topic",))
    shape = 0.3 if is_shared else pgbn.Constant(np.array([0.2, 0.3, 0.4]), dims="doc")
    theta = pgbn.Gamma("theta", shape, 0.2, dims=("doc", "topic"))
    net = pgbn.Network(pgbn.Poisson("x", theta @ phi, dims=("doc", "term")), sizes={"topic": 24})
    chain = net.chain({"x": np.full((3, 3), 15)}, sampler="partial", threads=1).sweep(2)
    loadings = chain._first_layer.loadings
    assert bool(loadings.high.any()) != is_shared
    assert bool(loadings.topic.size) != is_shared
    sizes = {"doc": 3, "term": 3}
    assert geweke(net, sizes, 3000, 4, seed=2, sampler="partial", threads=1).worst < 4
