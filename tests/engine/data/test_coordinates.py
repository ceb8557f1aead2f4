"""Coordinates and values: read, refused, and the same chain as dense data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn import DataError, Gamma, Mix, Network, Poisson
from pgbn.engine.compile import products
from pgbn.testing import geweke
from tests.helpers.refusals import check_refused

MODES = ("a", "b", "c", "d")
SIZES = {"a": 2, "b": 3, "c": 2, "d": 2, "k": 2}


def tensor(sizes: dict[str, int] = SIZES) -> Network:
    """y ~ Pois(Σ_k Π_m θ^m_{i_m k}), four modes."""
    rate = Gamma("beta", 4.0, 4.0)
    parts = tuple(Gamma(f"theta{m}", 1.5, rate, dims=(m, "k")) for m in MODES)
    return Network(Poisson("y", Mix(factors=parts), dims=MODES), sizes=sizes)


NET = tensor()
Y = NET.generate(seed=1)["y"]


def coordinates(array: Any) -> dict[str, Any]:
    places = np.nonzero(array)
    return dict(zip(MODES, places, strict=True)) | {"values": array[places]}


COO = coordinates(Y)


def test_coordinates_give_the_chain_of_dense_data(tmp_path: Path) -> None:
    dense, sparse = (NET.chain({"y": y}, seed=2, threads=1).sweep(3) for y in (Y, COO))
    for name in NET.latent:
        assert np.array_equal(dense.values[name], sparse.values[name]), name
    assert dense.log_joint() == pytest.approx(sparse.log_joint(), abs=1e-9)
    pgbn.save(sparse, tmp_path / "chain")
    again = pgbn.load(tmp_path / "chain")
    assert np.array_equal(dense.sweep().values["thetaa"], again.sweep().values["thetaa"])


def test_a_place_that_is_named_twice_adds_up() -> None:
    twice = {dim: np.concatenate([each, each]) for dim, each in COO.items()}
    chain = NET.chain({"y": twice}, threads=1)
    assert np.array_equal(chain._program.cells["y"].dense()[0], 2 * Y)


class Compressed:
    """What arrays of the package ``sparse`` have in all of their formats."""

    __module__ = "sparse.numba_backend"

    def asformat(self, name: str) -> Any:
        assert name == "coo"
        places = np.nonzero(Y)
        return SimpleNamespace(coords=np.array(places), data=Y[places], shape=Y.shape)


def test_all_formats_of_the_package_sparse_are_read() -> None:
    chain = NET.chain({"y": Compressed()}, threads=1)
    assert np.array_equal(chain._program.cells["y"].dense()[0], Y)


def test_coordinates_of_a_matrix_are_a_matrix() -> None:
    x = Poisson("x", Gamma("g", 1.0, 1.0, dims="doc"), dims=("doc", "term"))
    chain = Network(x).chain({"x": {"doc": [1, 0], "term": [2, 2], "values": [3, 1]}}, threads=1)
    assert chain._program.cells["x"].dense()[0].tolist() == [[0, 0, 1], [0, 0, 3]]
    dok = sp.dok_array(np.eye(2))  # a mapping, and no coordinates
    assert Network(x).chain({"x": dok}, threads=1)._program.cells["x"].dense().sum() == 2


def test_an_exposure_of_one_mode_too_few_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums over the other modes, of which the last is left out."""
    right = products.Products._in_order

    def wrong(self: products.Products, parts: Any, summed: Any) -> Any:
        found = right(self, parts, summed)
        if len(summed) < 3:
            return found
        return replace(found, get=lambda: found.get() / self.sizes[summed[-1]])

    monkeypatch.setattr(products, "SMALL", 0)
    monkeypatch.setattr(products.Products, "_in_order", wrong)
    assert geweke(NET, replicates=1000, sweeps=5).worst > 6


REFUSED: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "names": (
        lambda: NET.chain({"y": np.array([["ann", 1]], object)}),
        ["dtype object", "the numbers of the cells, {'"],
    ),
    "a dim": (
        lambda: NET.chain({"y": {"a": [0], "b": [0], "c": [0]}}),
        ["y: coordinates of a, b, c", "'d': […], 'values': […]"],
    ),
    "lengths": (
        lambda: NET.chain({"y": COO | {"values": [1]}}),
        ["different lengths", "for every cell"],
    ),
    "too large": (
        lambda: NET.chain({"y": COO | {"a": COO["a"] + 5}}),
        ["along 'a', whose size is 2", "from 0 to 1"],
    ),
    "labels": (lambda: NET.chain({"y": COO | {"a": -COO["a"] - 1}}), ["along 'a'"]),
    "so large that it would wrap": (
        lambda: NET.chain({"y": COO | {"a": np.full(COO["a"].shape, 2**64 - 1, np.uint64)}}),
        ["along 'a'", "integers from 0 on"],
    ),
    "negative": (lambda: NET.chain({"y": COO | {"values": -COO["values"]}}), ["negative"]),
    "rows": (
        lambda: NET.chain({"y": COO})._program.cells["y"].indptr,
        ["a × b × c × d", "coordinates", "not supported here"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    build, words = REFUSED[case]
    check_refused(build, DataError, words)
