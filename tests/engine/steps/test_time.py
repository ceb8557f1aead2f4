"""Nodes in time: chains, lags, hidden states, and earlier rows of other nodes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import poisson

import pgbn as pg
from pgbn.samplers import vectorised
from tests.helpers.language import (
    changing_weights,
    earlier_in_a_rate,
    season,
)


@pytest.mark.parametrize(
    ("count", "exposure", "message"),
    [
        (lambda tables: tables + 0.5, None, "drew the count"),
        (lambda tables: -tables, None, "drew the count -"),
        (lambda tables: tables + np.inf, None, "drew the count inf"),
        (lambda tables: None, None, "returned None"),
        (lambda tables: tables.sum(axis=3), None, "an array of the shape"),
        (lambda tables: tables, lambda: None, "returned None"),
        (lambda tables: tables, lambda: np.ones(7), "an array of the shape"),
    ],
)
def test_rules_of_a_chain_are_checked(count: Any, exposure: Any, message: str) -> None:
    class Chained(pg.Gamma):
        tag: ClassVar[str] = "test_scan.chained"

    @pg.extend.evidence_rule(
        Chained, "shape", relation="collapsed",
        exposure=lambda exposure, rate: given() if given else np.log1p(exposure / rate),
    )  # fmt: skip
    def tables(stream: Any, count: Any, shape: Any) -> Any:
        return changed(vectorised.crt(stream, count, shape))

    changed, given = count, exposure
    before = pg.Shift(pg.Self(), along="t", initial=pg.Gamma("first", 3, 3))
    theta = Chained("th", before, 2.0, dims=("t", "d"))
    network = pg.Network(pg.Poisson("x", theta, dims=("t", "d")))
    with pytest.raises(pg.DataError, match=f"th: the rule of Chained for 'shape'.*{message}"):
        network.chain({"x": np.arange(2, 10).reshape(4, 2)}).sweep(2)


# ---- lags above 1 ---------------------------------------------------------------------------------


def test_json_knows_the_lag_and_old_files_are_as_they_were() -> None:
    network = season(3)
    again = pg.Network.from_json(network.to_json())
    assert '"lag": 3' in network.to_json()
    assert again.to_json() == network.to_json()
    assert '"lag"' not in season(1).to_json()


def test_the_future_goes_on_from_the_last_rows() -> None:
    """With a rate that is large, θ_{T+h} is θ_{T+h−2}, whatever the row before is."""
    lagged = pg.Shift(1e8 * pg.Self(), along="time", initial=1e8, lag=2)
    network = changing_weights(lagged, 1e8)
    theta = np.arange(1.0, 9.0).reshape(1, 4, 2)
    draws = {"theta": theta, "phi": np.full((1, 2, 3), 1 / 3)}
    future = network.forecast(draws, 3)["theta"]
    np.testing.assert_allclose(future[0, 0], [[5, 6], [7, 8], [5, 6]], rtol=1e-2)
    # a past of one row: the next row is one of the first two
    short = network.forecast({**draws, "theta": theta[:, :1]}, 3)["theta"]
    np.testing.assert_allclose(short[0, 0], [[1, 1], [1, 2], [1, 1]], rtol=1e-2)


def test_a_lag_beyond_the_data() -> None:
    """All rows are first rows then."""
    chain = season(9).chain({"x": np.ones((3, 3), int)}, seed=0).sweep(2)
    assert np.isfinite(chain.values["theta"]).all()


# ---- earlier rows of other nodes, and chains of rates --------------------------------------------


def test_the_rate_is_that_of_the_rows_before() -> None:
    net = earlier_in_a_rate()
    x = np.array([[3, 0], [1, 2], [0, 4], [2, 2]])
    chain = net.chain({"x": x}, seed=1).sweep(2)
    values = chain.values
    mixed = values["z"] @ values["phi"]
    late = np.concatenate([np.full((2, 2), 0.3), 0.5 * mixed[:-2]])
    wanted = poisson.logpmf(x, mixed + late + values["b"]).sum()
    assert chain.log_likelihood() == pytest.approx(wanted)


def test_data_that_no_row_explains_are_refused() -> None:
    z = pg.Gamma("z", 1.0, 1.0, dims="time")
    net = pg.Network(pg.Poisson("x", pg.Shift(z, along="time"), dims="time"))
    with pytest.raises(pg.DataError, match="probability 0"):
        net.chain({"x": [2, 1, 0]})
    assert np.isfinite(net.chain({"x": [0, 1, 2]}).sweep(2).values["z"]).all()


# ---- hidden states --------------------------------------------------------------------------------


def test_given_states_tell_their_transitions() -> None:
    """Found by a random network: a chain that is given hears nothing, and still tells its slots."""
    start, moves = (
        pg.Dirichlet("start", 1.0, over="k"),
        pg.Dirichlet("moves", 1.0, over="k", dims="old"),
    )
    probability = pg.Shift(moves @ pg.Self(k="old"), along="time", initial=start)
    z = pg.Categorical("z", probability, over="k", dims="time")
    rate = pg.Gamma("rate", 2.0, 1.5, dims="k")
    net = pg.Network(pg.Poisson("x", z @ rate, dims="time"), sizes={"k": 2, "old": 2})
    states = np.eye(2)[[0, 1, 1, 1, 1, 1, 0]]
    draws = net.sample({"x": [0, 2, 3, 1, 2, 4, 0]}, given={"z": states}, burn_in=5, draws=400,
                       progress=False)  # fmt: skip
    # moves from 1: four stay, one leaves; from 0: one leaves
    np.testing.assert_allclose(draws.mean("moves"), [[1 / 3, 2 / 3], [2 / 7, 5 / 7]], atol=0.05)
