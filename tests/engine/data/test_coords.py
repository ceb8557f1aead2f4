"""Labels along dims, numbers of categories, and values that a user gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import pgbn as pg
from pgbn import Categories, DataError, Dirichlet, Gamma, Network, Poisson
from pgbn.engine.data.reading import given_arrays, read_coords, read_stack
from pgbn.evaluation import HeldOut
from tests.helpers.refusals import check_refused

NET = pg.zoo.pfa(2)
TWO = pg.zoo.multimodal([2], {"x": "poisson", "y": "poisson"})
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


def _sample(**options):
    return NET.sample({"x": COUNTS}, burn_in=1, draws=1, progress=False, **options)


REFUSED = {
    "no dict": (lambda: _sample(coords=["a"]), ["coords=['a']", "dict"]),
    "dim": (lambda: _sample(coords={"word": list("abc")}), ["no node has a dim 'word'"]),
    "text": (lambda: _sample(coords={"term": "abc"}), ["'term'", "list of labels"]),
    "number": (lambda: _sample(coords={"term": 3}), ["'term'", "list of labels"]),
    "known size": (lambda: _sample(coords={"topic1": ["a"]}), ["1 labels along 'topic1'", "2"]),
    "data size": (lambda: _sample(coords={"term": ["a"]}), ["1 labels along 'term'", "3"]),
    "contradiction": (
        lambda: read_coords(
            TWO,
            {
                "x": pd.DataFrame(COUNTS, index=["a", "b"]),
                "y": pd.DataFrame(COUNTS, index=["b", "a"]),
            },
        ),
        ["y: the labels along 'doc'", "'b' where the others have 'a'"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, monkeypatch) -> None:
    monkeypatch.setattr(pg.Chain, "sweep", lambda *_: pytest.fail("a sweep was run"))
    build, words = REFUSED[name]
    check_refused(build, (pg.DataError,), words)


PHI = pd.DataFrame([[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]], columns=list("abc"))
TURNED = FRAME[list("cba")]
KEPT = pg.Draws({"phi1": PHI.to_numpy()[None, None]}, {"phi1": ("chain", "draw", "topic1", "term")},
                coords={"term": list("abc"), "doc": ["old", "older"]}, network=NET)  # fmt: skip
OTHER_ORDER = {
    "given, a frame": lambda: NET.sample({"x": TURNED}, given={"phi1": PHI}, progress=False),
    "given, draws": lambda: NET.sample({"x": TURNED}, given=KEPT, progress=False),
    "given, a chain": lambda: NET.chain({"x": TURNED}, given=KEPT),
    "init": lambda: NET.chain({"x": TURNED}, start={"phi1": PHI}),
    "new rows": lambda: NET.infer({"x": TURNED}, given={"phi1": PHI, "r": np.ones(2)}),
    "generate": lambda: NET.generate(given={"phi1": PHI, "x": TURNED}),
    "appended": lambda: NET.chain({"x": FRAME}).append({"x": TURNED}),
    "appended twice": lambda: (
        NET.chain({"x": FRAME}).append({"x": FRAME}, sweeps=1).append({"x": TURNED})
    ),
    "held out": lambda: HeldOut(TURNED, NET["x"]).add_chain(NET.chain({"x": FRAME})),
    "held out, draws": lambda: HeldOut(TURNED, NET["x"]).add_draws(
        NET.sample({"x": FRAME}, burn_in=0, draws=1, progress=False)
    ),
}


@pytest.mark.parametrize("name", OTHER_ORDER)
def test_values_whose_columns_are_in_another_order(name: str) -> None:
    """They went by position: topics of other words, without a word."""
    check_refused(OTHER_ORDER[name], pg.DataError, ["labels", "'term'", "order"])


def test_values_with_the_labels_of_the_data() -> None:
    """Draws of nodes without rows are of other rows; lines of draws are no dim of a node."""
    by_name, by_place = (NET.chain({"x": FRAME}, given=given).sweep(2).values["theta1"]
                         for given in (KEPT, {"phi1": PHI.to_numpy()}))  # fmt: skip
    np.testing.assert_array_equal(by_name, by_place)
    r = pd.DataFrame(np.ones((3, 2)), index=["draw 1", "draw 2", "draw 3"])
    assert NET.infer({"x": FRAME}, given={"phi1": PHI, "r": r}, burn_in=3, draws=3)


def test_numbers_of_categories_in_another_order() -> None:
    """A series that was sorted otherwise than the counts gave documents to other authors."""
    net, who = pg.zoo.author_topic(2), pd.Series([0, 1], FRAME.index)
    net.chain({"x": FRAME, "author": who})
    check_refused(lambda: net.chain({"x": FRAME, "author": who[::-1]}), pg.DataError,
                  ["author", "labels along 'doc'", "one order"])  # fmt: skip


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
    chain = AUTHORS.chain(DATA, threads=1).sweep(2)
    pg.save(chain, tmp_path / "chain")
    other = pg.load(tmp_path / "chain")
    assert np.array_equal(chain.sweep(2).values["theta"], other.sweep(2).values["theta"])


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


def _with(**data: Any) -> Any:
    return AUTHORS.sample({"x": X} | data, **QUICK)


NO_NUMBERS: dict[str, tuple[Any, list[str]]] = {
    "none": (_with, ["author", "with the data", "with_indexes(author="]),
    "too few": (lambda: _with(author=[0]), ["1 numbers along 'doc'", "size 5"]),
    "too large": (
        lambda: AUTHORS.with_sizes(writer=2).sample(DATA, **QUICK),
        ["has the number 2", "'writer' has size 2", "from 0 to 1"],
    ),
    "none of new rows": (
        lambda: AUTHORS.infer({"x": X}, _with(author=G)),
        ["'author'", "new rows", "each doc"],
    ),
    "too few of new rows": (
        lambda: AUTHORS.infer({"x": X, "author": [0, 1]}, _with(author=G)),
        ["2 numbers along 'doc'", "5 rows"],
    ),
}


@pytest.mark.parametrize("case", NO_NUMBERS)
def test_numbers_that_are_refused(case: str) -> None:
    build, words = NO_NUMBERS[case]
    check_refused(build, DataError, words)


# ---- values that a user gives: single ones and draws, by position and by name ----

TOPICS = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
WORDS = pg.Poisson("x", 1.0, dims="term")
VALUE = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])


def test_dims_go_by_name():
    array = xr.DataArray(
        np.stack([VALUE, VALUE[::-1]], axis=-1)[None], dims=("chain", "topic", "term", "draw")
    )
    stack, lead = read_stack(TOPICS, array)
    assert lead == (1, 2)
    assert np.array_equal(stack[1], VALUE[::-1])


@pytest.mark.parametrize(
    ("node", "value", "words"),
    [
        (TOPICS, VALUE[0], r"shape \(2,\)"),
        (TOPICS, np.ones((1, 1, 1, 3, 2)), "draw, or chain and draw"),
        (TOPICS, np.ones((0, 3, 2)), r"shape \(0, 3, 2\)"),
        (TOPICS, [[np.inf, 1.0]], "the value inf"),
        (TOPICS, VALUE * 2, "sums to 2"),
        (WORDS, [0.5, 1.0], "'x' has"),
        (WORDS, [[1], [1, 2]], "unequal"),
    ],
)
def test_values_that_are_refused(node, value, words):
    with pytest.raises(DataError, match=words):
        read_stack(node, value)


def test_chains_and_new_rows_are_no_draws():
    """They have values, and were taken for draws, to end in an error of Python."""
    net, counts = pg.zoo.pfa(2), np.ones((2, 3), int)
    chain = net.chain({"x": counts})
    rows = net.infer({"x": counts}, given=chain.values, burn_in=1, draws=1)
    for given in (chain, rows):
        with pytest.raises(
            DataError, match=rf"given is a {type(given).__name__}.*\.(values|items)"
        ):
            net.infer({"x": counts}, given=given)
    assert given_arrays(None) == {}
    with pytest.raises(DataError, match="given=5: give a dict"):
        given_arrays(5)
