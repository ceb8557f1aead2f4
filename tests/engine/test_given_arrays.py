"""Arrays that a user gives: named dims go by name, masks are not dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import pgbn as pg
from pgbn import DataError, Network, NetworkError

X = np.arange(6).reshape(2, 3)
PHI = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
MASKED = np.ma.masked_array(PHI, PHI == 0.5)


def network(topics: int = 2) -> Network:
    phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
    theta = pg.Gamma("theta", pg.Gamma("r", 1, 1, dims="topic"), 1, dims=("doc", "topic"))
    x = pg.Poisson("x", phi @ theta, dims=("doc", "term"))
    return Network(x, sizes={"topic": topics})


def siblings() -> Network:
    r = pg.Gamma("r", 1, 1)
    rate = pg.Gamma("a", r, 1, dims="i") + pg.Gamma("b", r, 1, dims="i")
    return Network(pg.Poisson("x", rate, dims="i"))


NET, SHARED = network(), siblings()


def swept(data: Any, **options: Any) -> Any:
    return NET.chain({"x": data}, **options).sweep(2).values["theta"]


@pytest.mark.parametrize("dims", [("doc", "term"), ("dim_0", "dim_1")])
def test_data_with_names(dims: tuple[str, str]) -> None:
    named = xr.DataArray(X, dims=dims)
    assert np.array_equal(swept(named), swept(X))
    if dims[0] == "doc":
        assert np.array_equal(swept(named.T), swept(X))


def test_names_in_init_given_and_constants() -> None:
    turned = xr.DataArray(PHI, dims=("topic", "term")).T
    sizes = {"doc": 2}
    assert np.array_equal(swept(X, start={"phi": turned}), swept(X, start={"phi": PHI}))
    drawn = NET.generate(sizes=sizes, given={"phi": turned})
    assert np.array_equal(drawn["x"], NET.generate(sizes=sizes, given={"phi": PHI})["x"])
    assert np.array_equal(drawn["phi"], PHI)
    assert np.array_equal(pg.Constant(turned, dims=("topic", "term")).value, PHI)


WRONG_NAMES = xr.DataArray(X, dims=("doc", "word"))
REFUSED: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "data": (lambda: swept(WRONG_NAMES), ["x:", "('doc', 'word')", "('doc', 'term')"]),
    "init": (
        lambda: swept(X, start={"theta": WRONG_NAMES}),
        ["start: theta", "('doc', 'word')", "('doc', 'topic')"],
    ),
    "given": (lambda: NET.generate(given={"phi": WRONG_NAMES}), ["given: 'phi'", "'word'"]),
    "constant": (
        lambda: pg.Constant(WRONG_NAMES, dims=("doc", "term")),
        ["Constant", "('doc', 'word')", "('doc', 'term')"],
    ),
    "masked constant": (lambda: pg.Constant(MASKED, dims=("a", "b")), ["Constant", "masked"]),
    "masked factor": (lambda: pg.Gamma("g", 1, 1) * MASKED, ["masked", "filled"]),
    "masked init": (lambda: swept(X, start={"phi": MASKED}), ["start: phi", "masked"]),
    "masked given": (lambda: NET.generate(given={"phi": MASKED}), ["given: 'phi'", "masked"]),
    "ancestors": (
        lambda: SHARED.generate(sizes={"i": 2}, given={"a": [1.0, 1.0]}),
        ["'b' depends on 'r'", "the given 'a'", "give 'r' too"],
    ),
    "nothing to draw": (
        lambda: NET.generate(given={"x": X}),
        ["leave nothing to draw", "Network.sample({'x': …})"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    with pytest.raises((DataError, NetworkError)) as caught:
        build()
    for word in words:
        assert word in str(caught.value)


def test_nodes_above_given_ones_are_left_out() -> None:
    """x from φ and θ alone, whatever r was: the posterior predictive draw of a sample."""
    sizes, given = {"doc": 1, "term": 3}, {"phi": PHI, "theta": [[1.0, 3.0]]}
    drawn = NET.generate(sizes=sizes, given=given)
    assert drawn.keys() == {"phi", "theta", "x"}
    whole = NET.generate(sizes=sizes, given=given | {"r": [1.0, 2.0]})
    assert np.array_equal(drawn["x"], whole["x"])
