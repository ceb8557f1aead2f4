"""Proportions φ ~ Dir(a_1, …, a_V) along a dim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import pgbn as pg
from pgbn import Dirichlet
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import check_conjugacy, geweke

NODE = Dirichlet("phi", 1, over="term", dims="topic")


# ---- networks with Dirichlets over the cells of several dims ----


def filters() -> pg.Network:
    """Topics that are proportions of place × term, with a concentration for each term."""
    eta = pg.Gamma("eta", 3.0, 3.0, dims="term")
    theta = pg.Gamma("theta", 1.5, 1.0, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", eta, over=("place", "term"), dims="topic")
    x = pg.Poisson("x", phi @ theta, dims=("doc", "place", "term"))
    return pg.Network(x, sizes={"topic": 2, "place": 2, "term": 2, "doc": 2})


def table() -> pg.Network:
    """One table of proportions, whose concentrations are rows times columns."""
    a, b = pg.Gamma("a", 3.0, 3.0, dims="row"), pg.Gamma("b", 3.0, 3.0, dims="column")
    size = pg.Gamma("size", 4.0, 0.5)
    pi = pg.Dirichlet("pi", a * b, over=("row", "column"))
    return pg.Network(pg.Poisson("x", size * pi, dims=("row", "column")),
                      sizes={"row": 2, "column": 3})  # fmt: skip


def exposed() -> pg.Network:
    """Known exposures of places: proportions of place × term that need pseudo-counts."""
    known = pg.Constant(np.array([1.0, 0.25]), dims="place")
    theta = pg.Gamma("theta", 1.5, 1.0, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.8, over=("place", "term"), dims="topic")
    x = pg.Poisson("x", known * (phi @ theta), dims=("doc", "place", "term"))
    return pg.Network(x, sizes={"topic": 2, "term": 2, "doc": 3})


NETWORKS = (filters, table, exposed)


def test_axes() -> None:
    assert NODE.axes == ("topic", "term")
    assert NODE.simplex == "term"


def test_density() -> None:
    value, concentration = np.array([0.2, 0.3, 0.5]), np.array([0.5, 1.0, 2.0])
    found = NODE.log_density(value, concentration=concentration, axis=0).sum()
    assert found == pytest.approx(stats.dirichlet(concentration).logpdf(value), rel=1e-12)


def test_an_entry_that_underflowed_has_a_finite_density() -> None:
    found = NODE.log_density(np.array([0.0, 1.0]), concentration=np.array(0.1), axis=0)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("axis", [2, 3])
def test_draws_sum_to_one_along_their_axis(axis: int) -> None:
    shape = (1, 1, 20_000, 3) if axis == 3 else (1, 20_000, 3, 1)
    concentration = np.array([0.5, 1.0, 2.0]).reshape([3 if a == axis else 1 for a in range(4)])
    found = NODE.generate(Stream(7, shape, simplex=axis), concentration=concentration)
    np.testing.assert_allclose(found.sum(axis=axis), 1.0)
    mean = np.moveaxis(found, axis, 0).reshape(3, -1).mean(axis=1)
    np.testing.assert_allclose(mean, np.array([0.5, 1.0, 2.0]) / 3.5, atol=0.01)


# ---- over several dims --------------------------------------------------------------------

TABLE = Dirichlet("pi", 1, over=("row", "column"), dims="k")


def test_the_cells_of_several_dims_sum_to_one() -> None:
    assert TABLE.axes == ("k", "row", "column")
    assert (TABLE.simplex, TABLE.sums_over) == (None, ("row", "column"))
    drawn = vectorised.dirichlet(Stream(3, (5, 2, 3, 4)), np.array([0.3, 1.0, 2.0, 5.0]), (1, 3))
    assert drawn.shape == (5, 2, 3, 4)
    np.testing.assert_allclose(drawn.sum(axis=(1, 3)), 1.0)


def test_several_dims_are_one_vector_of_their_cells() -> None:
    """Their mean, and their density, are those of a Dirichlet over all cells."""
    concentration = np.array([[0.5, 1.0, 2.0], [3.0, 0.7, 1.3]])
    drawn = vectorised.dirichlet(Stream(3, (20_000, 1, 2, 3)), concentration, (2, 3))[:, 0]
    law = stats.dirichlet(concentration.reshape(-1))
    spread = np.sqrt(law.var() / 20_000).reshape(2, 3)
    assert np.all(np.abs(drawn.mean(axis=0) - law.mean().reshape(2, 3)) < 4.5 * spread)
    found = TABLE.log_density(drawn[0], concentration=concentration, axis=(0, 1)).sum()
    assert found == pytest.approx(law.logpdf(drawn[0].reshape(-1)), rel=1e-10)


def test_exposures_of_one_dim_only_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken on purpose: the beta of a table is drawn for each row, as if these summed to one."""
    right = vectorised.neg_log_beta

    def wrong(stream: Stream, a: Any, n: Any) -> Any:
        return right(stream, np.asarray(a) / 2, n)

    monkeypatch.setattr(vectorised, "neg_log_beta", wrong)
    assert geweke(table(), replicates=3000, sweeps=6).worst > 5


def test_several_dims_have_the_right_algebra_and_are_saved() -> None:
    for make in NETWORKS[:2]:
        check_conjugacy(make())
    net = table()
    again = pg.Network.from_json(net.to_json())
    assert again["pi"].axes == ("row", "column")
    data = {"x": [[3, 0, 1], [2, 2, 0]]}
    one = net.sample(data, burn_in=2, draws=3, threads=1)
    assert np.array_equal(one["pi"], again.sample(data, burn_in=2, draws=3, threads=2)["pi"])
    np.testing.assert_allclose(one["pi"].sum(axis=(-1, -2)), 1.0)
    assert "s^(π) ∼ Beta(a[·] b[·], m^(π)[· ·])" in str(net.explain())


def test_several_dims_are_refused_where_they_cannot_be() -> None:
    with pytest.raises(pg.NetworkError, match="name a dim twice"):
        Dirichlet("pi", 1, over=("row", "row"))
    with pytest.raises(pg.NetworkError, match="names no dim"):
        Dirichlet("pi", 1, over=())
    assert Dirichlet("pi", 1, over=("row",)).simplex == "row"
    chain = Dirichlet("pi", pg.Shift(2.0 * pg.Self(), along="t", initial=1.0),
                      over=("row", "column"), dims="t")  # fmt: skip
    with pytest.raises(pg.MissingRuleError, match="over row, column together"):
        pg.Network(pg.Poisson("x", chain, dims=("t", "row", "column")))
    with pytest.raises(pg.DataError, match="sums to 4 over 'place', 'term'"):
        exposed().sample({"x": np.ones((3, 2, 2), int)}, given={"phi": np.ones((2, 2, 2))})
