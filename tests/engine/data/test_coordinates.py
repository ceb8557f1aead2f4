"""Coordinates and values give the same chain as dense data."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn import Gamma, Network, Poisson
from pgbn.extend import Mix

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
