"""Data: what is refused, in which words; what is accepted, with the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn as pg
from pgbn import DataError, Gamma, Network, NetworkError, Poisson, zoo
from pgbn.engine.data.cells import read_array
from pgbn.engine.data.nonzero import cells_of
from tests.helpers.refusals import check_refused
from tests.helpers.small_data import BINARY, NET, REAL, X, run, same

Cases = dict[str, tuple[Callable[[], Any], list[str]]]

REFUSED: Cases = {
    "NaN": (lambda: run(X * np.nan), ["x:", "NaN", "masked_array", "imputed"]),
    "infinite": (lambda: run(X + np.inf), ["x:", "infinite", "masked_array"]),
    "negative": (lambda: run(X - 1), ["x:", "negative", "-1", "0, 1, 2"]),
    "not integer": (lambda: run(X + 0.5), ["x:", "non-integer", "1.5", "PoissonGamma"]),
    "1-d": (lambda: run(X[0]), ["x:", "(4,)", "2 dims", "doc × term"]),
    "3-d": (lambda: run(X[None]), ["x:", "(1, 3, 4)", "2 dims", "doc × term"]),
    "a number": (lambda: run(3), ["x:", "()", "doc × term"]),
    "objects": (lambda: run(X.astype(object)), ["x:", "dtype object", "give numbers"]),
    "strings": (lambda: run(X.astype(str)), ["x:", "dtype <U", "give numbers"]),
    "a string": (lambda: run("abc"), ["x:", "dtype <U3", "give numbers"]),
    "None": (lambda: run(None), ["x:", "dtype object", "give numbers"]),
    "complex": (lambda: run(X * 1j), ["x:", "complex128", "give numbers"]),
    "dates": (lambda: run(X.astype("datetime64[s]")), ["x:", "datetime64", "give numbers"]),
    "ragged": (lambda: run([[1, 2], [3]]), ["x:", "unequal length", "doc × term"]),
    "empty": (lambda: run(np.zeros((0, 3))), ["x:", "(0, 3)", "'doc' is empty"]),
    "no terms": (lambda: run(np.zeros((3, 0))), ["x:", "'term' is empty"]),
    "empty list": (lambda: run([]), ["x:", "(0,)", "doc × term"]),
    "huge": (lambda: run(X * 2**31), ["x:", "6.4", "below 2^31", "rescale"]),
    "huge float": (lambda: run(X * 1e300), ["x:", "3e+300", "below 2^31"]),
    "huge unsigned": (lambda: run(np.array([[2**63]], np.uint64)), ["x:", "below 2^31"]),
    "not binary": (lambda: run(X, BINARY), ["x:", "the value 2", "0 and 1", "data > 0"]),
    "half binary": (lambda: run(X * 0.5, BINARY), ["x:", "the value 0.5", "0 and 1"]),
    "negative reals": (lambda: run(X - 1.5, REAL), ["x:", "negative", "-1.5", "reals ≥ 0"]),
    "sparse negative": (lambda: run(sp.csr_array(X - 1)), ["x:", "negative", "-1"]),
    "sparse NaN": (lambda: run(sp.csr_array(X * np.nan)), ["x:", "NaN"]),
    "sparse infinite": (lambda: run(sp.csc_array(X + np.inf)), ["x:", "infinite"]),
    "sparse complex": (lambda: run(sp.csr_array(X * 1j)), ["x:", "complex128", "integers"]),
    "sparse not integer": (lambda: run(sp.csr_array(X * 0.5)), ["x:", "0.5", "PoissonGamma"]),
    "sparse not binary": (lambda: run(sp.coo_array(X), BINARY), ["x:", "the value 2"]),
    "sparse 1-d": (lambda: run(sp.coo_array(X[0])), ["x:", "(4,)", "doc × term"]),
    "masked strings": (
        lambda: run(np.ma.masked_array(X.astype(str), X == 0)),
        ["x:", "dtype <U", "give numbers"],
    ),
    "negative beside a mask": (
        lambda: run(np.ma.masked_array(X - 1, X == 1)),
        ["x:", "negative", "-1"],
    ),
    "masked multinomial": (
        lambda: run(np.ma.masked_array(X, X == 0), zoo.lda(2)),
        ["x:", "masked", "Multinomial", "pgbn.Poisson"],
    ),
    "missing name": (lambda: NET.chain({}), ["no values", "'x'"]),
    "unknown name": (lambda: NET.chain({"x": X, "xx": X}), ["'xx'", "not an observed", "'x'"]),
    "latent name": (lambda: NET.chain({"x": X, "theta1": X}), ["'theta1'", "not an observed"]),
    "number as a name": (lambda: NET.chain({"x": X, 3: X}), ["3 is not an observed node"]),
    "no dict": (lambda: NET.chain(X), ["dict", "{'x': X}", "ndarray"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    check_refused(build, (DataError, NetworkError), words)


FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_sparse_formats_give_the_bits_of_dense_data(form: str, kind: str, dtype: type) -> None:
    sparse = getattr(sp, f"{form}_{kind}")(X.astype(dtype))
    before = sparse.copy()
    assert same(run(sparse), run(X))
    assert type(sparse) is type(before)
    assert sparse.dtype == before.dtype
    assert (sparse != before).nnz == 0
    assert sparse.nnz == before.nnz


@pytest.mark.parametrize("form", FORMATS)
def test_sparse_bool(form: str) -> None:
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


def test_sparse_data_stay_sparse() -> None:
    """A million by a million cells, three of them full."""
    big = sp.coo_array((np.ones(3, int), ([0, 5, 999_999], [0, 7, 999_999])), (10**6, 10**6))
    cells = read_array(NET["x"], big)
    assert cells.values.size == 3
    assert cells.shape == big.shape


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


def test_data_without_dims() -> None:
    chain = Network(Poisson("x", Gamma("g", 2, 1))).chain({"x": 3}).sweep(1)
    assert chain.values["g"].shape == ()


def test_cells_know_their_values() -> None:
    cells = cells_of(NET["x"], X[None], 1)
    assert np.array_equal(cells.dense()[0], X)
    assert np.array_equal(cells.dense(cells.values * 2)[0], X * 2)
    assert np.array_equal(cells.total(cells.values, ("term",))[0], X.sum(axis=0))


def test_large_reals_stay_reals() -> None:
    chain = pg.zoo.pgbn([2], link="gamma").chain({"x": np.full((3, 2), 1e20)})
    assert chain.program.cells["x"].values.tolist() == [1e20] * 6
