"""A report of draws."""

import numpy as np
import pytest

import pgbn as pg
from pgbn.errors import DataError
from pgbn.report import report_data_from_draws, report_html


def test_from_draws() -> None:
    network = pg.zoo.pgbn([5, 3])
    X = np.random.default_rng(0).poisson(0.5, size=(12, 9))
    draws = network.sample(
        {"x": X}, burn_in=2, draws=6, chains=2, seed=4, threads=1, progress=False
    )
    data = report_data_from_draws(network, draws, title="Draws")
    assert data.widths == (5, 3)
    np.testing.assert_allclose(data.phi[0].sum(axis=1), 1.0)
    np.testing.assert_allclose(data.theta[1].sum(axis=1), 1.0)
    named = {series.name: series for series in data.series}
    np.testing.assert_array_equal(named["gamma0"].values, draws["gamma0"])
    np.testing.assert_allclose(named["total of r"].values, draws["r"].sum(axis=-1))
    expected = draws["theta1"].sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(named["mean total of theta1"].values, expected)
    assert data.settings["seed"] == 4
    assert "mean total of theta1" in report_html(data)
    few = network.sample({"x": X}, burn_in=0, draws=1, keep=["r"], threads=1, progress=False)
    with pytest.raises(DataError, match="phi1"):
        report_data_from_draws(network, few)
