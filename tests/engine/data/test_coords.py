"""Labels along dims, from data frames, xarray and ``coords=``."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import pgbn as pg
from pgbn.engine.data.coords import read_coords
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
    "init": lambda: NET.chain({"x": TURNED}, init={"phi1": PHI}),
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
    assert NET.infer({"x": FRAME}, given={"phi1": PHI, "r": r}, burn_in=3, samples=3)


def test_numbers_of_categories_in_another_order() -> None:
    """A series that was sorted otherwise than the counts gave documents to other authors."""
    net, who = pg.zoo.author_topic(2), pd.Series([0, 1], FRAME.index)
    net.chain({"x": FRAME, "author": who})
    check_refused(lambda: net.chain({"x": FRAME, "author": who[::-1]}), pg.DataError,
                  ["author", "labels along 'doc'", "one order"])  # fmt: skip
