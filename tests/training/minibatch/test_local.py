"""What the rows of a minibatch say: all of their counts, and exposures that are known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.training.minibatch.learner import find_roles, hear

X = sp.csr_array(np.random.default_rng(0).poisson(1.0, (30, 8)))


@pytest.mark.parametrize("link", ["poisson", "bernoulli"])
def test_counts_are_all_heard_and_shared_values_stay(link) -> None:
    network = pgbn.zoo.pgbn((4, 3), link=link)
    data = X if link == "poisson" else sp.csr_array((X > 0).astype(int))
    first = network.chain({"x": data}, seed=1, layer1="blocked")
    values = {name: np.array(first.values[name]) for name in ("phi1", "phi2", "r", "gamma0", "c0")}
    found = hear(network, find_roles(network, "doc"), {"x": data}, values, 5, (2, 3))
    count, _ = found.received["phi1"]
    assert count.shape == (4, 8)
    if link == "poisson":
        np.testing.assert_allclose(count.sum(axis=0), X.sum(axis=0))
    else:  # at least one count behind every 1
        assert (count.sum(axis=0) >= data.sum(axis=0)).all()
    count, exposure = found.received["r"]
    assert count.shape == exposure.shape == (3,)
    assert 0 < count.sum() <= found.received["phi2"][0].sum() <= found.received["phi1"][0].sum()
    assert (exposure > 0).all()
    for name, value in values.items():
        np.testing.assert_array_equal(found.chain.values[name], value)


def test_the_exposure_is_that_of_the_formula() -> None:
    """Of one layer, q = Σ_j ln(1 + 1/c_j), averaged over sweeps."""
    network = pgbn.zoo.pfa(3)
    first = network.chain({"x": X}, seed=1, layer1="blocked")
    values = {name: np.array(first.values[name]) for name in ("phi1", "r", "gamma0", "c0")}
    found = hear(network, find_roles(network, "doc"), {"x": X}, values, 5, (4, 1))
    rates = found.chain.values["p2"]
    np.testing.assert_allclose(found.received["r"][1], np.log1p(1.0 / rates).sum(), rtol=1e-12)


def test_layers_above_the_data_take_their_steps_as_often_as_there_are_layers() -> None:
    network = pgbn.zoo.pgbn((4, 3, 2))
    first = network.chain({"x": X}, seed=1, layer1="partial")
    roles = find_roles(network, "doc")
    values = {name: np.array(first.values[name]) for name in roles.shared}
    found = hear(network, roles, {"x": X}, values, 5, (1, 1)).chain.schedule.names
    expected = [step.name for step in first.schedule if step.node not in roles.shared]
    above = [n for n in expected if n != "counts(x)"]
    assert found == [*expected, *above, *above]
    network.with_order([*network.schedule.names, *above, *above])  # no step reads what is stale
