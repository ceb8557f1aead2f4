"""Data at the edges of what is allowed: every network runs on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn import Network, zoo
from tests.helpers.small_data import BINARY, REAL, X, run

EDGES = {
    "empty rows and columns": X,
    "one document": X[:1],
    "one term": X[:, :1],
    "one token": np.array([[0, 0], [0, 1]]),
    "one cell": np.array([[1]]),
    "all zero": np.zeros((3, 4), int),
    "all zero, one cell": np.zeros((1, 1), int),
    "many tokens in a cell": np.array([[10**6, 0], [1, 1]]),
}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize(
    "net",
    [zoo.pfa(1), zoo.pgbn([1]), zoo.pgbn([1, 1]), zoo.pgbn([3, 2]), zoo.lda(1), zoo.lda(2)],
    ids=["pfa1", "pgbn1", "pgbn11", "pgbn32", "lda1", "lda2"],
)
def test_edges(net: Network, edge: str, form: Callable[[Any], Any]) -> None:
    for layer1 in ("auto", "blocked"):
        chain = net.chain({"x": form(EDGES[edge])}, layer1=layer1).sweep(3)
        assert all(np.isfinite(value).all() for value in chain.values.values())


@pytest.mark.parametrize("net", [BINARY, REAL], ids=["binary", "real"])
@pytest.mark.parametrize("edge", EDGES)
def test_edges_of_links(net: Network, edge: str) -> None:
    chain = run(np.minimum(EDGES[edge], 1), net)
    assert all(np.isfinite(value).all() for value in chain.values.values())
