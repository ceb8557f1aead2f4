"""The first layer with φ and θ held: cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import pgbn
from pgbn.engine.first_layer.blocked import Blocked

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


def test_its_state_is_the_counts_and_the_key_of_the_topics() -> None:
    sampler = layer()
    sampler.step(5)
    assert set(sampler.state()) == {"n", "m", "value", "scale", "bound"}
    sampler.draw_loadings(9)
    assert set(sampler.state()) == {"n", "m", "key"}
    sampler.step(6)
    assert "key" not in sampler.state()  # φ is no longer the draw given these counts
    sampler.draw_loadings(9)
    state = sampler.state()
    other = layer()
    other.restore({name: array.copy() for name, array in state.items()})
    assert np.array_equal(other.m, sampler.m)
    sampler.show()
    other.show()
    for name in ("values", "counts"):
        tables = [getattr(each.program, name) for each in (sampler, other)]
        key = "phi1" if name == "values" else ("x", "phi1")
        assert np.array_equal(tables[0][key], tables[1][key])


def test_its_cost() -> None:
    """Tokens of a cell up to 4 K, the cells, and φ and θ."""
    few = Blocked.nanoseconds(np.array([1, 2]), 1, 1, 10)
    assert few == pytest.approx(3 * 10.4 + 2 * 71.0 + 11 * 10 * 2)
    many = Blocked.nanoseconds(np.array([10**6, 2]), 1, 1, 10)
    assert many == pytest.approx(42 * 10.4 + 2 * 71.0 + 11 * 10 * 2)


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
