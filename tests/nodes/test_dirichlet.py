"""Proportions over the cells of several dims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import pgbn as pg
from pgbn import Dirichlet
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import geweke
from tests.helpers.several_dims import exposed, table


def test_several_dims_are_one_vector_of_their_cells() -> None:
    """Their mean, and their density, are those of a Dirichlet over all cells."""
    node = Dirichlet("pi", 1, over=("row", "column"), dims="k")
    assert (node.axes, node.sums_over) == (("k", "row", "column"), ("row", "column"))
    concentration = np.array([[0.5, 1.0, 2.0], [3.0, 0.7, 1.3]])
    drawn = vectorised.dirichlet(Stream(3, (20_000, 1, 2, 3)), concentration, (2, 3))[:, 0]
    np.testing.assert_allclose(drawn.sum(axis=(1, 2)), 1.0)
    law = stats.dirichlet(concentration.reshape(-1))
    spread = np.sqrt(law.var() / 20_000).reshape(2, 3)
    assert np.all(np.abs(drawn.mean(axis=0) - law.mean().reshape(2, 3)) < 4.5 * spread)
    found = node.log_density(drawn[0], concentration=concentration, axis=(0, 1)).sum()
    assert found == pytest.approx(law.logpdf(drawn[0].reshape(-1)), rel=1e-10)


def test_exposures_of_one_dim_only_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken on purpose: the beta of a table is drawn for each row, as if these summed to one."""
    right = vectorised.neg_log_beta

    def wrong(stream: Stream, a: Any, n: Any) -> Any:
        return right(stream, np.asarray(a) / 2, n)

    monkeypatch.setattr(vectorised, "neg_log_beta", wrong)
    assert geweke(table(), replicates=3000, sweeps=6).worst > 5


def test_several_dims_are_saved_and_explained() -> None:
    net = table()
    again = pg.Network.from_json(net.to_json())
    data = {"x": [[3, 0, 1], [2, 2, 0]]}
    one = net.sample(data, burn_in=2, draws=3, threads=1)
    assert np.array_equal(one["pi"], again.sample(data, burn_in=2, draws=3, threads=2)["pi"])
    assert "s^(π) ∼ Beta(a[·] b[·], m^(π)[· ·])" in str(net.explain())


def test_several_dims_are_refused_where_they_cannot_be() -> None:
    assert Dirichlet("pi", 1, over=("row",)).simplex == "row"
    with pytest.raises(pg.DataError, match="sums to 4 over 'place', 'term'"):
        exposed().sample({"x": np.ones((3, 2, 2), int)}, given={"phi": np.ones((2, 2, 2))})
