"""Dims under another name in a child: the evidence comes back under the node's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pgbn as pg
from pgbn.testing import check_conjugacy, geweke

WEIGHTS = pg.Constant([[0.2, 1.5, 0.3], [2.0, 0.1, 0.7], [0.5, 0.5, 3.0]], dims=("z", "d"))
SIZES = {"d": 3}


def poisson(values: pg.Gamma | pg.Dirichlet) -> pg.Network:
    """The values under the name of a dim that is summed out."""
    return pg.Network(pg.Poisson("x", 3.0 * (WEIGHTS @ values.rename(d="z")), dims="d"))


def transposed(weight_dim: str) -> pg.Network:
    phi = pg.Dirichlet("phi", 1.0, over="v", dims="d")
    weight = pg.Constant([0.3, 1.0, 4.0], dims=weight_dim)
    return pg.Network(pg.Poisson("x", weight * phi.rename(v="d", d="v"), dims=("d", "v")))


def shape_of_a_renamed_gamma() -> pg.Network:
    return poisson(pg.Gamma("th", pg.Gamma("r", 3, 3), 2.0, dims="d"))


def renamed_chain() -> pg.Network:
    before = pg.Shift(pg.Self(), along="t", initial=pg.Gamma("i", 3, 3))
    th = pg.Gamma("th", before, 2.0, dims=("t", "d"))
    return pg.Network(pg.Poisson("x", WEIGHTS @ th.rename(d="z"), dims=("t", "d")))


@pytest.mark.parametrize("replicates", [4_000, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (lambda: poisson(pg.Dirichlet("phi", 1.0, over="d")), SIZES),
        (lambda: poisson(pg.Gamma("th", 3.0 * pg.Dirichlet("r", 2.0, over="d"), 2.0, dims="d")),
         SIZES),
        (lambda: transposed("d"), {"d": 3, "v": 3}),
    ],
    ids=["simplex", "above", "transposed"],
)  # fmt: skip
def test_an_exposure_that_varies_over_a_simplex_is_completed(
    build: Callable[[], pg.Network], sizes: dict[str, int], replicates: int
) -> None:
    assert geweke(build(), sizes, replicates, 5, seed=3).worst < 4


@pytest.mark.parametrize("replicates", [4_000, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (shape_of_a_renamed_gamma, SIZES),
        (renamed_chain, {"d": 3, "t": 2}),
        (lambda: transposed("v"), {"d": 3, "v": 3}),
    ],
    ids=["shape", "chain", "transposed"],
)
def test_renamed_dims_have_the_right_posterior(
    build: Callable[[], pg.Network], sizes: dict[str, int], replicates: int
) -> None:
    network = build()
    assert geweke(network, sizes, replicates, 5, seed=3).worst < 4
    assert check_conjugacy(network, sizes, seed=0).worst < 1e-9
    assert "The generative model" in network.explain()
