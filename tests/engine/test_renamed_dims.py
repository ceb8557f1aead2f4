"""Dims under another name in a child: the evidence comes back under the node's own."""

from __future__ import annotations

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


def renamed_chain() -> pg.Network:
    before = pg.Shift(pg.Self(), along="t", initial=pg.Gamma("i", 3, 3))
    th = pg.Gamma("th", before, 2.0, dims=("t", "d"))
    return pg.Network(pg.Poisson("x", WEIGHTS @ th.rename(d="z"), dims=("t", "d")))


COMPLETED: dict[str, tuple[pg.Network, dict[str, int]]] = {
    "simplex": (poisson(pg.Dirichlet("phi", 1.0, over="d")), SIZES),
    "above": (
        poisson(pg.Gamma("th", 3.0 * pg.Dirichlet("r", 2.0, over="d"), 2.0, dims="d")), SIZES
    ),
    "transposed": (transposed("d"), {"d": 3, "v": 3}),
}  # fmt: skip
CONJUGATE: dict[str, tuple[pg.Network, dict[str, int]]] = {
    "shape": (poisson(pg.Gamma("th", pg.Gamma("r", 3, 3), 2.0, dims="d")), SIZES),
    "chain": (renamed_chain(), {"d": 3, "t": 2}),
    "transposed, weights of v": (transposed("v"), {"d": 3, "v": 3}),
}


@pytest.mark.parametrize("replicates", [4_000, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", [*COMPLETED, *CONJUGATE])
def test_renamed_dims_have_the_right_posterior(name: str, replicates: int) -> None:
    """Also where the exposure varies over a simplex, and its draw is completed."""
    network, sizes = (COMPLETED | CONJUGATE)[name]
    assert geweke(network, sizes, replicates, 5, seed=3).worst < 4
    assert name in COMPLETED or check_conjugacy(network, sizes, seed=0).worst < 1e-9
    assert "The generative model" in network.explain()
