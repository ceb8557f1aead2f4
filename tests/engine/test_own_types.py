"""Observed types of a user, where the engine once assumed one of its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import pgbn as pg
from pgbn.testing import check_conjugacy
from tests.helpers.own_types import Chosen, Computed, NeverZero, Weighed


@pytest.mark.parametrize("by", ["row", "cell"])
def test_the_likelihood_of_a_vector_is_that_of_its_type(by: str) -> None:
    counts = np.array([[4, 0, 0], [1, 2, 1]])
    pi = pg.Dirichlet("pi", 1.0, over="term")
    network = pg.Network(Chosen("x", pi, over="term", dims="doc"))
    draws = network.sample({"x": counts}, 0, 3, chains=1, progress=False)
    expected = [[stats.multinomial(4, p).logpmf(row) for row in counts] for p in draws["pi"][0]]
    np.testing.assert_allclose(draws.log_likelihood("x", by=by)[0], expected)


def test_masked_cells_are_not_checked() -> None:
    data = np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    network = pg.Network(NeverZero("x", pg.Gamma("a", 1, 1, dims="doc"), dims=("doc", "term")))
    assert network.chain({"x": data}).sweep(2).values["a"].shape == (2,)
    with pytest.raises(pg.DataError, match="x: the data have zeros"):
        network.chain({"x": np.ma.masked_array([[1, 0], [3, 4]], mask=[[1, 0], [0, 0]])})


def test_a_slot_with_fewer_dims_than_its_evidence_is_rejected() -> None:
    speed = pg.Gamma("speed", 2, 2, dims="doc")
    with pytest.raises(pg.MissingRuleError, match=r"rule for rate reads value.*dims term; remove"):
        pg.Network(Weighed("y", speed, dims=("doc", "term")))


def test_a_computed_integer_needs_no_probability() -> None:
    a, b = pg.Gamma("a", 2, 2, dims="doc"), pg.Gamma("b", 3, 2)
    network = pg.Network(Computed("x", a + b, dims=("doc", "term")))
    result = check_conjugacy(network, {"doc": 3, "term": 2})
    assert result.worst < 1e-8, result
    assert set(result.errors) == {"a", "b"}
