"""Rows that share scores: their counts together, and the samplers that see them so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Categories, Dirichlet, Gamma, Network, Poisson
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import read_data
from pgbn.engine.first_layer.base import SharedRows
from pgbn.engine.first_layer.pattern import find_patterns
from tests.same_bits.networks import topical

AUTHOR = Categories("author", dims="doc", of="writer")
X = topical(40, 30, 0.5)
AUTHORS = np.random.default_rng(0).integers(0, 6, 40)
AUTHORS[AUTHORS == 4] = 0  # who has no document


def network(**fields: Any) -> Network:
    r = Gamma("r", Gamma("g0", 1, 1) / 5, 1, dims="topic")
    theta = Gamma("theta", r, Gamma("c", 1, 1, dims="writer"), dims=("writer", "topic"))
    phi, size = Dirichlet("phi", 0.1, over="term", dims="topic"), Gamma("s", 1, 1, dims="doc")
    rate = size * (phi @ theta[AUTHOR])
    x = fields.get("kind", Poisson)("x", fields.get("rate", lambda each: each)(rate),
                                    dims=("doc", "term"))  # fmt: skip
    return Network(x, sizes={"topic": 5})


def data(counts: Any = X) -> dict[str, Any]:
    return {"x": counts, "author": AUTHORS}


def everything(chain: pgbn.Chain) -> dict[str, Any]:
    values = {f"value of {name}": np.array(value) for name, value in chain.values.items()}
    return values | chain.state()


def assert_same(one: pgbn.Chain, other: pgbn.Chain) -> None:
    first, second = everything(one), everything(other)
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert np.array_equal(array, second[name]), name


def test_counts_of_one_author_are_added_up() -> None:
    chain = network().chain(data(), layer1="partial", threads=1)
    cells = chain.samplers[0].cells
    expected = np.zeros((6, 30), int)
    np.add.at(expected, AUTHORS, X)
    assert np.array_equal(cells.dense()[0], expected)
    assert cells.indices.dtype == np.int32
    assert (np.diff(cells.indptr) >= 0).all()
    assert chain.samplers[0].m.sum() == X.sum()
    assert chain.samplers[0].m[4].sum() == 0


def test_every_replicate_has_authors_of_its_own() -> None:
    net = network().with_indexes(author=AUTHORS)
    (pattern,) = find_patterns(net.wiring)
    both = np.stack((X, X[::-1]))
    cells = read_data(net, {"x": X})
    cells["x"] = type(cells["x"])(
        ("doc", "term"), X.shape, 2, *_csr(both.reshape(80, 30))
    )  # fmt: skip
    indexes = {"author": np.stack((AUTHORS, AUTHORS[::-1]))}
    sizes = {"doc": 40, "term": 30, "writer": 6, "topic": 5}
    shared = SharedRows(Program(net, cells, sizes, 2, indexes=indexes), pattern)
    added = shared.cells.dense()
    assert added.shape == (2, 6, 30)
    assert np.array_equal(added[0], added[1])
    assert np.array_equal(shared.row_counts[:, 0], both.sum(axis=2).reshape(-1))


def _csr(array: Any) -> tuple[Any, ...]:
    rows, columns = np.nonzero(array)
    starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(array)))))
    return starts, columns.astype(np.int32), array[rows, columns]


@pytest.mark.parametrize("layer1", ["collapsed", "partial", "blocked"])
def test_threads_files_and_resumed_chains_have_the_same_bits(layer1: str, tmp_path: Path) -> None:
    one = network().chain(data(), layer1=layer1, threads=1).sweep(4)
    assert one.layer1 == layer1
    assert_same(one, network().chain(data(), layer1=layer1, threads=2).sweep(4))
    disk = pgbn.Disk(tmp_path / "rows", memory="200MB")
    assert_same(one, network().chain(data(), layer1=layer1, executor=disk).sweep(4))
    half = network().chain(data(), layer1=layer1, threads=1).sweep(2)
    pgbn.save(half, tmp_path / "chain")
    assert_same(one, pgbn.load(tmp_path / "chain").sweep(2))


def test_auto_integrates_scores_of_authors_out() -> None:
    assert network().chain(data(), threads=1).layer1 == "collapsed"
    assert find_patterns(network().with_indexes(author=AUTHORS).wiring)[0].index == "author"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"kind": pgbn.BernoulliPoisson}, "theta is read through author, beside counts that"),
        ({"rate": lambda rate: rate + Gamma("b", 1, 1, dims="term")}, "beside further terms"),
    ],
)
def test_what_is_left_to_the_general_rules(fields: dict[str, Any], reason: str) -> None:
    net = network(**fields)
    assert reason in find_patterns(net.wiring)
    assert net.chain(data(np.minimum(X, 1)), threads=1).sweep().layer1 == "composed"


def test_other_reads_of_scores_are_left_to_the_general_rules() -> None:
    period = Categories("period", dims="doc", of="year")
    theta = Gamma("theta", 1, 1, dims=("writer", "year", "topic"))
    phi = Dirichlet("phi", 0.1, over="term", dims="topic")
    net = Network(Poisson("x", phi @ theta[AUTHOR, period], dims=("doc", "term")))
    assert "theta is read through author" in find_patterns(net.wiring)


def test_missing_cells_are_left_to_the_general_rules() -> None:
    masked = np.ma.masked_array(X, np.arange(X.size).reshape(X.shape) % 7 == 0)
    chain = network().chain(data(masked), threads=1).sweep()
    assert chain.layer1 == "composed"
    with pytest.raises(pgbn.NetworkError, match="some cells are missing"):
        network().chain(data(masked), threads=1, layer1="partial")
