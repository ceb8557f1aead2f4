"""The same counts in another form: the draws are bit-identical, or an error names the data."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import xarray as xr

import pgbn
from tests.helpers.hostile import attempt

__all__ = ["Forms"]

COUNTS = np.random.default_rng(0).poisson(0.8, (12, 9))


def _array_subclass(x: np.ndarray) -> Any:
    class Own(np.ndarray):
        pass

    return x.view(Own)


def _read_only(x: np.ndarray) -> Any:
    copy = x.copy()
    copy.flags.writeable = False
    return copy


def _strided(x: np.ndarray) -> Any:
    wide = np.zeros((2 * x.shape[0], 3 * x.shape[1]), x.dtype)
    wide[::2, ::3] = x
    return wide[::2, ::3]


def _swapped(x: np.ndarray) -> Any:
    return x.astype(x.dtype.newbyteorder("S")) if x.dtype.itemsize > 1 else x


def _duplicates(x: np.ndarray) -> Any:
    """A sparse matrix that names every cell twice and some zeros."""
    whole = sp.coo_array(x)
    half = whole.data // 2
    parts = np.concatenate([half, whole.data - half, [0]])
    rows, columns = (np.concatenate([each, each, [0]]) for each in whole.coords)
    return sp.coo_array((parts, (rows, columns)), shape=x.shape)


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda x: x,
    "columns first": np.asfortranarray,
    "strided": _strided,
    "read only": _read_only,
    "swapped bytes": _swapped,
    "subclass": _array_subclass,
    "list": lambda x: x.tolist(),
    "matrix": np.asmatrix,
    "masked array without a mask": np.ma.masked_array,
    "frame": pd.DataFrame,
    "frame of nullable integers": lambda x: pd.DataFrame(x).convert_dtypes(),
    "sparse frame": lambda x: pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(x)),
    "xarray": lambda x: xr.DataArray(x, dims=("doc", "term")),
    "memory map": lambda x: np.memmap.__new__(np.memmap, _FILE, x.dtype, "w+", 0, x.shape),
    "duplicates": _duplicates,
    **{kind: getattr(sp, f"{kind}_array") for kind in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")},
    **{f"{kind} matrix": getattr(sp, f"{kind}_matrix") for kind in ("csr", "csc", "coo")},
}  # fmt: skip
TYPES = ("int64", "int8", "uint8", "uint16", "int32", "uint64", "float32", "float64", "bool", "object",
         "complex128", "float16", "U3", "datetime64[D]")  # fmt: skip
_FILE = "counts.bin"


class Forms:
    """A form and a type of number; counts above 1 if the type has them."""

    def __init__(self, place: Path) -> None:
        global _FILE
        _FILE = str(place / "counts.bin")
        self.network = pgbn.zoo.pgbn([3, 2])
        self.expected: dict[str, Any] = {}

    def run(self, number: int) -> None:
        choice = random.Random(f"form {number}")
        name = list(FORMS)[number % len(FORMS)]
        kind = TYPES[0] if choice.random() < 0.4 else choice.choice(TYPES)
        whole = np.minimum(COUNTS, 1) if kind == "bool" else COUNTS
        try:
            data = FORMS[name](whole.astype(kind))
            if name == "memory map":
                data[:] = whole
        except (TypeError, ValueError, NotImplementedError):
            return  # the library of the form has no such type
        chain = attempt(lambda: self.network.chain({"x": data}, seed=3, threads=1), ["x"])
        if chain is None:
            return
        chain.sweep(2)
        if str(whole.sum()) not in self.expected:
            right = self.network.chain({"x": whole}, seed=3, threads=1).sweep(2)
            self.expected[str(whole.sum())] = right.values
        for node, value in self.expected[str(whole.sum())].items():
            assert np.array_equal(chain.values[node], value), (name, kind, node)
