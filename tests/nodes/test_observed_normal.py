"""Real data: a regression against its exact posterior."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn import DataError
from tests.helpers.normal_networks import WEIGHTS, features


def regression() -> pgbn.Network:
    w = pgbn.Normal("w", 0.2, 0.5, dims="feature")
    y = pgbn.ObservedNormal("y", features() @ w, 4.0, dims="doc")
    return pgbn.Network(y, sizes={"doc": 4, "feature": 2})


def test_posterior_is_exact() -> None:
    y = np.array([1.0, -2.0, 0.5, 0.0])
    draws = regression().sample({"y": y}, burn_in=0, draws=2_500, seed=1)["w"][0]
    precision = 0.5 * np.eye(2) + 4.0 * WEIGHTS.T @ WEIGHTS
    covariance = np.linalg.inv(precision)
    mean = covariance @ (0.1 + 4.0 * WEIGHTS.T @ y)
    error = np.sqrt(np.diag(covariance) / 2_500)
    assert (np.abs(draws.mean(axis=0) - mean) < 4.5 * error).all()
    assert np.allclose(np.cov(draws.T), covariance, rtol=0.15, atol=5e-3)


def test_data_of_any_sign_are_generated_and_predicted() -> None:
    net = regression()
    made = net.generate(seed=2)
    assert (made["y"] < 0).any()
    draws = net.sample({"y": made["y"]}, burn_in=1, draws=3, seed=0)
    assert draws.predict("y").shape == (1, 3, 4)
    assert draws.log_likelihood("y").shape == (1, 3, 4)


def test_masked_cells_are_refused() -> None:
    y = np.ma.masked_array(np.zeros(4), mask=[True, False, False, False])
    with pytest.raises(DataError, match="masked cells, which cannot be imputed"):
        regression().sample({"y": y}, burn_in=1, draws=1)
