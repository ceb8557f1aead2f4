"""Data of probability 0 are refused, by cell; data that are merely unlikely are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import pgbn
from pgbn import Constant, DataError, Gamma, Network, Poisson


def gamma(*dims: str) -> Gamma:
    return Gamma("l", 2, 1, dims=dims)


ZERO = Constant([1.0, 0.0], dims="i")
GRID = Constant(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]]), dims=("i", "j"))
ALONG = Constant(np.array([[1.0, 1.0], [0.0, 0.0]]), dims=("i", "k"))  # a sum over k of 0 is 0
NONE = Constant([0.0, 0.0], dims="k")
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
        (pgbn.BernoulliPoisson("x", gamma("i") * ZERO, dims="i"), [1, 1], "the value 1 at i 1 "),
        (pgbn.PoissonGamma("x", gamma("i") * ZERO, 1, dims="i"), [1, 0.5], "value 0.5 at i 1 "),
        (Poisson("x", gamma("i") * ZERO, dims="i"), [3, 0], None),
        (Poisson("x", gamma("i") * ZERO + 0.1, dims="i"), [3, 5], None),
        (Poisson("x", gamma("i") * ZERO, dims="i"), np.ma.masked_array([3, 5], [0, 1]), None),
        (Poisson("x", gamma("i") * 1e-200 * Constant([1e-200, 1], dims="i"), dims="i"), [3, 5],
         None),
    ],
)  # fmt: skip
def test_impossible_data(node: pgbn.Observed, data: Any, where: str | None) -> None:
    net = Network(node)
    if where is None:
        net.chain({"x": data})
    else:
        with pytest.raises(DataError, match=f"x: .*{where}.*probability 0"):
            net.chain({"x": data})


@pytest.mark.parametrize("matrix", [BAND, csr_array(BAND)])
def test_a_given_number_beside_an_array_with_zeros(matrix: Any) -> None:
    """A number has no dims, and is asked with the array whether data are possible."""
    level, each = Gamma("level", 2, 1), Gamma("l", 2, 1, dims="k")
    net = Network(Poisson("x", level * (Constant(matrix, dims=("i", "k")) @ each), dims="i"))
    chain = net.chain({"x": [3, 5]}, given={"level": 2.0})
    assert np.isfinite(chain.sweep(2).values["l"]).all()
