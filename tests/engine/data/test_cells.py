"""Data that are accepted, with the same bits; data of probability 0 are rejected."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
import pgbn as pg
from pgbn import DataError, Gamma, Network, Poisson
from pgbn.engine.data.reading import document_arrays, read_array
from pgbn.extend import Mix
from pgbn.storage.archive import encode_documents
from pgbn.storage.sparse import read_rows
from tests.helpers.small_data import BINARY, NET, X, run, same


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_sparse_formats_give_the_bits_of_dense_data(form: str) -> None:
    for kind, dtype in product(("array", "matrix"), (np.int64, np.uint8, np.float32)):
        sparse = getattr(sp, f"{form}_{kind}")(X.astype(dtype))
        before = sparse.copy()
        assert same(run(sparse), run(X))
        assert (type(sparse), sparse.dtype, sparse.nnz) == (type(before), dtype, before.nnz)
        assert (sparse != before).nnz == 0
    assert same(run(getattr(sp, f"{form}_array")(X > 0), BINARY), run(X > 0, BINARY))


def messy() -> sp.csr_array:
    """X with unsorted indices, duplicates and explicit zeros."""
    data = np.array([2, 1, 0, 1, 1, 1, 1])
    indices = np.array([2, 0, 3, 1, 0, 0, 0])
    return sp.csr_array((data, indices, [0, 3, 3, 7]), shape=X.shape)


def test_messy_sparse_data_are_read_and_left_alone() -> None:
    data = messy()
    assert np.array_equal(data.toarray(), X)
    assert not data.has_sorted_indices
    assert same(run(data), run(X))
    for name in ("indptr", "indices", "values"):
        found, clean = (getattr(read_array(NET["x"], d), name) for d in (data, X))
        assert np.array_equal(found, clean)
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(data, name), getattr(messy(), name))


def test_duplicates_of_small_integers_do_not_overflow() -> None:
    twice = sp.coo_array((np.array([200, 100], np.uint8), ([0, 0], [0, 0])), shape=(1, 1))
    assert read_array(NET["x"], twice).values.tolist() == [300]


class Frame:
    """What a data frame of any library offers to numpy."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return X


def frozen() -> Any:
    array = X.copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "make",
    [
        lambda: X.tolist(),
        lambda: tuple(map(tuple, X)),
        lambda: np.asfortranarray(X),
        lambda: np.repeat(X, 2, axis=1)[:, ::2],
        lambda: np.flip(np.flip(X, 0).copy(), 0),
        lambda: np.broadcast_to(X, (2, *X.shape))[1],
        lambda: np.ma.masked_array(X),
        frozen,
        Frame,
        *(
            lambda dtype=dtype: X.astype(dtype)
            for dtype in ("u1", "i1", "u2", "i2", ">i4", "u8", "f2", "f4", ">f8", "g")
        ),
    ],
)
def test_arrays_of_all_sorts_give_the_same_bits(make: Callable[[], Any]) -> None:
    data = make()
    assert same(run(data), run(X))
    assert np.array_equal(np.asarray(data), X)


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    assert same(run(frame), run(X))
    with pytest.raises(DataError, match="dtype object"):
        run(pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}))


def test_documents_as_arrays_of_a_file() -> None:
    counts = np.array([[1, 0, 2], [0, 0, 0], [0, 300, 0]])
    arrays = encode_documents(counts)
    assert arrays.keys() == document_arrays(sp.csc_array(counts)).keys()
    assert arrays["indices"].dtype == np.uint8  # as few bytes as they need
    assert np.array_equal(read_rows(arrays).toarray(), counts)
    masked = np.ma.masked_array(counts * 0.5, counts == 300)  # unknown cells count as 0
    rows = read_rows(document_arrays(masked)).toarray()
    assert np.array_equal(rows, np.where(counts == 300, 0, counts / 2))
    with pytest.raises(DataError, match="data: the data have negative values"):
        document_arrays(-counts)


# ---- data of probability 0 are rejected, by cell; data that are merely unlikely are not ----


def gamma(*dims: str) -> Gamma:
    return Gamma("l", 2, 1, dims=dims)


ZERO = pg.Constant([1.0, 0.0], dims="i")
GRID = pg.Constant(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]]), dims=("i", "j"))
ALONG = pg.Constant(np.array([[1.0, 1.0], [0.0, 0.0]]), dims=("i", "k"))  # a sum over k of 0 is 0
NONE = pg.Constant([0.0, 0.0], dims="k")
BAND = np.array([[1.0, 0.0], [0.5, 0.3]])


@pytest.mark.parametrize(
    ("node", "data", "where"),
    [
        (Poisson("x", gamma("i") * ZERO, dims="i"), [3, 5], "the value 5 at i 1 "),
        (Poisson("x", gamma() * ZERO + 3 * ZERO, dims="i"), [3, 5], "the value 5 at i 1 "),
        (Poisson("x", gamma("j") * GRID, dims=("i", "j")), [[1, 0, 1], [0, 0, 0]], None),
        (Poisson("x", gamma("j") * GRID, dims=("i", "j")), [[1, 0, 1], [0, 7, 0]], "7 at i 1, j 1"),
        (Poisson("x", gamma("k") @ ALONG, dims="i"), [3, 4], "the value 4 at i 1 "),
        (Poisson("x", gamma("k") @ NONE), 2, "the value 2 at its only cell"),
        (pg.BernoulliPoisson("x", gamma("i") * ZERO, dims="i"), [1, 1], "the value 1 at i 1 "),
        (pg.PoissonGamma("x", gamma("i") * ZERO, 1, dims="i"), [1, 0.5], "value 0.5 at i 1 "),
        (Poisson("x", gamma("i") * ZERO, dims="i"), [3, 0], None),
        (Poisson("x", gamma("i") * ZERO + 0.1, dims="i"), [3, 5], None),
        (Poisson("x", gamma("i") * ZERO, dims="i"), np.ma.masked_array([3, 5], [0, 1]), None),
        (Poisson("x", gamma("i") * 1e-200 * pg.Constant([1e-200, 1], dims="i"), dims="i"), [3, 5],
         None),
    ],
)  # fmt: skip
def test_impossible_data(node: pg.extend.Observed, data: Any, where: str | None) -> None:
    net = Network(node)
    if where is None:
        net.chain({"x": data})
    else:
        with pytest.raises(DataError, match=f"x: .*{where}.*probability 0"):
            net.chain({"x": data})


@pytest.mark.parametrize("matrix", [BAND, sp.csr_array(BAND)])
def test_a_given_number_beside_an_array_with_zeros(matrix: Any) -> None:
    """A number has no dims, and is asked with the array whether data are possible."""
    level, each = Gamma("level", 2, 1), Gamma("l", 2, 1, dims="k")
    net = Network(Poisson("x", level * (pg.Constant(matrix, dims=("i", "k")) @ each), dims="i"))
    chain = net.chain({"x": [3, 5]}, given={"level": 2.0})
    assert np.isfinite(chain.sweep(2).values["l"]).all()


# ---- coordinates and values -----------------------------------------------------------------

MODES = ("a", "b", "c", "d")
SIZES = {"a": 2, "b": 3, "c": 2, "d": 2, "k": 2}


def tensor(sizes: dict[str, int] = SIZES) -> Network:
    """y ~ Pois(Σ_k Π_m θ^m_{i_m k}), four modes."""
    rate = Gamma("beta", 4.0, 4.0)
    parts = tuple(Gamma(f"theta{m}", 1.5, rate, dims=(m, "k")) for m in MODES)
    return Network(Poisson("y", Mix(factors=parts), dims=MODES), sizes=sizes)


TENSOR = tensor()
Y = TENSOR.generate(seed=1)["y"]


def coordinates(array: Any) -> dict[str, Any]:
    places = np.nonzero(array)
    return dict(zip(MODES, places, strict=True)) | {"values": array[places]}


COO = coordinates(Y)


def test_coordinates_give_the_chain_of_dense_data(tmp_path: Path) -> None:
    dense, sparse = (TENSOR.chain({"y": y}, seed=2, threads=1).sweep(3) for y in (Y, COO))
    for name in TENSOR.latent:
        assert np.array_equal(dense.values[name], sparse.values[name]), name
    assert dense.log_joint() == pytest.approx(sparse.log_joint(), abs=1e-9)
    pgbn.save(sparse, tmp_path / "chain")
    again = pgbn.load(tmp_path / "chain")
    assert np.array_equal(dense.sweep().values["thetaa"], again.sweep().values["thetaa"])


def test_a_place_that_is_named_twice_adds_up() -> None:
    twice = {dim: np.concatenate([each, each]) for dim, each in COO.items()}
    chain = TENSOR.chain({"y": twice}, threads=1)
    assert np.array_equal(chain._program.cells["y"].dense()[0], 2 * Y)


class Compressed:
    """What arrays of the package ``sparse`` have in all of their formats."""

    __module__ = "sparse.numba_backend"

    def asformat(self, name: str) -> Any:
        assert name == "coo"
        places = np.nonzero(Y)
        return SimpleNamespace(coords=np.array(places), data=Y[places], shape=Y.shape)


def test_all_formats_of_the_package_sparse_are_read() -> None:
    chain = TENSOR.chain({"y": Compressed()}, threads=1)
    assert np.array_equal(chain._program.cells["y"].dense()[0], Y)


def test_coordinates_of_a_matrix_are_a_matrix() -> None:
    x = Poisson("x", Gamma("g", 1.0, 1.0, dims="doc"), dims=("doc", "term"))
    chain = Network(x).chain({"x": {"doc": [1, 0], "term": [2, 2], "values": [3, 1]}}, threads=1)
    assert chain._program.cells["x"].dense()[0].tolist() == [[0, 0, 1], [0, 0, 3]]
    dok = sp.dok_array(np.eye(2))  # a mapping, and no coordinates
    assert Network(x).chain({"x": dok}, threads=1)._program.cells["x"].dense().sum() == 2
