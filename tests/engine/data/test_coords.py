"""Labels along dims, numbers of categories, and values that a user gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import pgbn as pg
from pgbn import Categories, Dirichlet, Gamma, Network, Poisson
from pgbn.engine.data.reading import read_coords, read_stack

NET = pg.zoo.pfa(2)
COUNTS = np.array([[1, 0, 2], [0, 3, 1]])
FRAME = pd.DataFrame(
    COUNTS, index=pd.to_datetime(["2020-01-01", "2020-01-02"]), columns=list("abc")
)
ARRAY = xr.DataArray(COUNTS.T, coords={"term": list("abc")}, dims=("term", "doc"))

FOUND = {
    "frame": (FRAME, {"doc": ["2020-01-01 00:00:00", "2020-01-02 00:00:00"], "term": list("abc")}),
    "frame without names": (pd.DataFrame(COUNTS), {}),
    "xarray": (ARRAY, {"term": list("abc")}),
    "plain": (COUNTS, {}),
    "numbers": (pd.DataFrame(COUNTS, index=[7, 9]), {"doc": [7, 9]}),
}


@pytest.mark.parametrize("name", FOUND)
def test_labels_of_data(name: str) -> None:
    data, expected = FOUND[name]
    assert read_coords(NET, {"x": data}) == expected


def test_given_labels_come_first() -> None:
    assert read_coords(NET, {"x": ARRAY}, {"term": [1, 2, 3]}) == {"term": [1, 2, 3]}


def test_draws_have_them() -> None:
    draws = NET.sample(
        {"x": FRAME}, burn_in=1, draws=1, progress=False, coords={"topic1": ["u", "v"]}
    )
    assert draws.coords["term"] == list("abc")
    assert draws.coords["topic1"] == ["u", "v"]


PHI = pd.DataFrame([[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]], columns=list("abc"))
KEPT = pg.Draws({"phi1": PHI.to_numpy()[None, None]}, {"phi1": ("chain", "draw", "topic1", "term")},
                coords={"term": list("abc"), "doc": ["old", "older"]}, network=NET)  # fmt: skip


def test_values_with_the_labels_of_the_data() -> None:
    """Draws of nodes without rows are of other rows; lines of draws are no dim of a node."""
    by_name, by_place = (NET.chain({"x": FRAME}, given=given).sweep(2).values["theta1"]
                         for given in (KEPT, {"phi1": PHI.to_numpy()}))  # fmt: skip
    np.testing.assert_array_equal(by_name, by_place)
    r = pd.DataFrame(np.ones((3, 2)), index=["draw 1", "draw 2", "draw 3"])
    assert NET.infer({"x": FRAME}, given={"phi1": PHI, "r": r}, burn_in=3, draws=3)


# ---- numbers of categories among the data ----

QUICK: dict[str, Any] = {"burn_in": 2, "draws": 3, "progress": False, "threads": 1}
G = [2, 0, 0, 2, 1]


def network() -> Network:
    author = Categories("author", dims="doc", of="writer")
    scale, theta = Gamma("s", 4.0, 4.0, dims="doc"), Gamma("theta", 0.5, 2.0, dims=("writer", "k"))
    phi = Dirichlet("phi", 0.8, over="term", dims="k")
    x = Poisson("x", phi @ (scale * theta[author]), dims=("doc", "term"))
    return Network(x, sizes={"k": 2})


AUTHORS = network()
X = AUTHORS.generate(given={"author": G}, sizes={"term": 3, "doc": 5}, seed=3)["x"]
DATA = {"x": X, "author": G}


def test_a_run_is_saved_and_loaded_with_its_categories(tmp_path: Path) -> None:
    draws = AUTHORS.sample(DATA, **QUICK)
    saved = AUTHORS.sample(DATA, **QUICK, save=tmp_path / "run")
    assert np.array_equal(draws["theta"], saved["theta"])
    again = pg.load(tmp_path / "run")
    assert again.network.indexes["author"].tolist() == G
    assert np.array_equal(draws.predict("x"), again.predict("x"))
    assert draws.log_likelihood("x").shape == (1, 3, 5, 3)


def test_new_rows_bring_categories_of_their_own() -> None:
    given = AUTHORS.generate(given={"author": G}, sizes={"term": 3, "doc": 5}, seed=3)
    known: dict[str, Any] = {"theta": given["theta"], "phi": given["phi"]}
    how: dict[str, Any] = {"burn_in": 3, "draws": 4, "keep": "draws", "threads": 1}
    whole = AUTHORS.infer(DATA, known, **how)
    order = [3, 1]
    part = AUTHORS.infer({"x": X[order], "author": np.array(G)[order]}, known, **how)
    assert np.array_equal(whole["s"][order], part["s"])
    other = AUTHORS.infer({"x": X[order], "author": [1, 1]}, known, **how)
    assert not np.array_equal(other["s"], part["s"])
    assert part.to_draws().predict("x").shape == (1, 4, 2, 3)


def test_an_expression_with_categories_can_be_kept() -> None:
    nodes = {node.name: node for node in AUTHORS}
    author = AUTHORS.categories["author"]
    draws = AUTHORS.sample(
        DATA, **QUICK, keep={"theta": nodes["theta"], "own": nodes["theta"][author]}
    )
    assert np.array_equal(draws["own"], draws["theta"][:, :, G])


# ---- values that a user gives: single ones and draws, by position and by name ----

TOPICS = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
VALUE = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])


def test_dims_go_by_name():
    array = xr.DataArray(
        np.stack([VALUE, VALUE[::-1]], axis=-1)[None], dims=("chain", "topic", "term", "draw")
    )
    stack, lead = read_stack(TOPICS, array)
    assert lead == (1, 2)
    assert np.array_equal(stack[1], VALUE[::-1])
