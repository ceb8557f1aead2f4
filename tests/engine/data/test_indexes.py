"""Numbers of categories among the data: sampling, saving, new rows, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Categories, DataError, Dirichlet, Gamma, Network, Poisson
from pgbn.engine.data.coords import bind_indexes
from tests.helpers.refusals import Case, check_refused

QUICK: dict[str, Any] = {"burn_in": 2, "draws": 3, "progress": False, "threads": 1}
G = [2, 0, 0, 2, 1]


def network() -> Network:
    author = Categories("author", dims="doc", of="writer")
    scale, theta = Gamma("s", 4.0, 4.0, dims="doc"), Gamma("theta", 0.5, 2.0, dims=("writer", "k"))
    phi = Dirichlet("phi", 0.8, over="term", dims="k")
    x = Poisson("x", phi @ (scale * theta[author]), dims=("doc", "term"))
    return Network(x, sizes={"k": 2})


NET = network()
X = NET.generate(given={"author": G}, sizes={"term": 3, "doc": 5}, seed=3)["x"]
DATA = {"x": X, "author": G}


def test_binding_leaves_the_data_of_nodes() -> None:
    bound, rest = bind_indexes(NET, DATA)
    assert list(rest) == ["x"]
    assert bound.indexes["author"].tolist() == G
    assert bind_indexes(NET, {"x": X})[0] is NET
    assert bind_indexes(NET, X)[1] is X


def test_a_run_is_saved_and_loaded_with_its_categories(tmp_path: Path) -> None:
    draws = NET.sample(DATA, **QUICK)
    saved = NET.sample(DATA, **QUICK, save=tmp_path / "run")
    assert np.array_equal(draws["theta"], saved["theta"])
    again = pgbn.load(tmp_path / "run")
    assert again.network.indexes["author"].tolist() == G
    assert np.array_equal(draws.predict("x"), again.predict("x"))
    assert draws.log_likelihood("x").shape == (1, 3, 5, 3)
    chain = NET.chain(DATA, threads=1).sweep(2)
    pgbn.save(chain, tmp_path / "chain")
    other = pgbn.load(tmp_path / "chain")
    assert np.array_equal(chain.sweep(2).values["theta"], other.sweep(2).values["theta"])


def test_new_rows_bring_categories_of_their_own() -> None:
    given = NET.generate(given={"author": G}, sizes={"term": 3, "doc": 5}, seed=3)
    known: dict[str, Any] = {"theta": given["theta"], "phi": given["phi"]}
    how: dict[str, Any] = {"burn_in": 3, "samples": 4, "keep": "draws", "threads": 1}
    whole = NET.infer(DATA, known, **how)
    order = [3, 1]
    part = NET.infer({"x": X[order], "author": np.array(G)[order]}, known, **how)
    assert np.array_equal(whole["s"][order], part["s"])
    other = NET.infer({"x": X[order], "author": [1, 1]}, known, **how)
    assert not np.array_equal(other["s"], part["s"])
    assert part.to_draws().predict("x").shape == (1, 4, 2, 3)


def test_an_expression_with_categories_can_be_kept() -> None:
    nodes = {node.name: node for node in NET}
    author = NET.categories["author"]
    draws = NET.sample(DATA, **QUICK, keep={"theta": nodes["theta"], "own": nodes["theta"][author]})
    assert np.array_equal(draws["own"], draws["theta"][:, :, G])


def _sample(**data: Any) -> Any:
    return NET.sample({"x": X} | data, **QUICK)


REFUSED: dict[str, Case] = {
    "none": (_sample, DataError, ["author", "with the data", "with_indexes(author="]),
    "too few": (lambda: _sample(author=[0]), DataError, ["1 numbers along 'doc'", "size 5"]),
    "too large": (
        lambda: NET.with_sizes(writer=2).sample(DATA, **QUICK),
        DataError,
        ["has the number 2", "'writer' has size 2", "from 0 to 1"],
    ),
    "none of new rows": (
        lambda: NET.infer({"x": X}, _sample(author=G)),
        DataError,
        ["'author'", "new rows", "each doc"],
    ),
    "too few of new rows": (
        lambda: NET.infer({"x": X, "author": [0, 1]}, _sample(author=G)),
        DataError,
        ["2 numbers along 'doc'", "5 rows"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    check_refused(*REFUSED[case])
