"""Values that a user gives: single ones and draws, by position and by name."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.engine.data.coords import given_arrays, read_stack
from pgbn.errors import DataError

PHI = pgbn.Dirichlet("phi", 0.5, over="term", dims="topic")
X = pgbn.Poisson("x", 1.0, dims="term")
VALUE = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])


@pytest.mark.parametrize("lead", [(), (4,), (2, 4)])
def test_the_dims_of_draws_come_first(lead):
    stack, found = read_stack(PHI, np.broadcast_to(VALUE, (*lead, 3, 2)))
    assert found == lead
    assert stack.shape == (int(np.prod(lead)), 3, 2)
    assert np.array_equal(stack[-1], VALUE)


def test_dims_go_by_name():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(
        np.stack([VALUE, VALUE[::-1]], axis=-1)[None], dims=("chain", "topic", "term", "draw")
    )
    stack, lead = read_stack(PHI, array)
    assert lead == (1, 2)
    assert np.array_equal(stack[1], VALUE[::-1])


@pytest.mark.parametrize(
    ("node", "value", "words"),
    [
        (PHI, VALUE[0], r"shape \(2,\)"),
        (PHI, np.ones((1, 1, 1, 3, 2)), "draw, or chain and draw"),
        (PHI, np.ones((0, 3, 2)), r"shape \(0, 3, 2\)"),
        (PHI, [[np.inf, 1.0]], "the value inf"),
        (PHI, VALUE * 2, "sums to 2"),
        (X, [0.5, 1.0], "'x' has"),
        (X, [[1], [1, 2]], "unequal"),
    ],
)
def test_what_is_refused(node, value, words):
    with pytest.raises(DataError, match=words):
        read_stack(node, value)


def test_dicts_draws_and_nothing():
    assert given_arrays(None) == {}
    assert given_arrays({"a": 1}) == {"a": 1}
    assert list(given_arrays(pgbn.Draws({"a": np.ones((1, 2))}, {"a": ("chain", "draw")}))) == ["a"]
    with pytest.raises(DataError, match="given=5: give a dict"):
        given_arrays(5)


def test_chains_and_new_rows_are_no_draws():
    """They have values, and were taken for draws, to end in an error of Python."""
    net, counts = pgbn.zoo.pfa(2), np.ones((2, 3), int)
    chain = net.chain({"x": counts})
    rows = net.infer({"x": counts}, given=chain.values, burn_in=1, samples=1)
    for given in (chain, rows):
        with pytest.raises(DataError, match=rf"given is a {type(given).__name__}.*\.values"):
            net.infer({"x": counts}, given=given)
