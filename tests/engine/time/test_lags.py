"""Lags above 1, several lags in one slot, and earlier rows of other nodes beside a Shift."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pgbn as pg
from pgbn.testing import geweke

SIZES = {"time": 5, "term": 3}


def observed(shape: pg.Expression, rate: float = 1.5) -> pg.Network:
    theta = pg.Gamma("theta", shape, rate, dims=("time", "topic"))
    phi = pg.Dirichlet("phi", 0.7, over="term", dims="topic")
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("time", "term")), sizes={"topic": 2})


def season(lag: int = 2) -> pg.Network:
    """θ_t ~ Gam(Π θ_{t−2}, c), and ν in the first two rows."""
    pi = pg.Dirichlet("pi", 1.0, over="topic", dims="before")
    nu = pg.Gamma("nu", 4, 2, dims="topic")
    lagged = pg.Shift(pi @ pg.Self(topic="before"), along="time", initial=nu, lag=lag)
    return observed(lagged)


def two_lags() -> pg.Network:
    """θ_t ~ Gam(Π θ_{t−1} + θ_{t−3} / 2 + 0.2, c)."""
    pi = pg.Dirichlet("pi", 1.0, over="topic", dims="before")
    shape = pg.Shift(pi @ pg.Self(topic="before"), along="time", initial=pg.Gamma("nu", 4, 2))
    return observed(shape + pg.Shift(0.5 * pg.Self(), along="time", initial=0.5, lag=3) + 0.2)


def proportions() -> pg.Network:
    """φ_t ~ Dir(c φ_{t−2}), the even and the odd rows each by themselves."""
    lagged = pg.Shift(pg.Gamma("c", 8, 2) * pg.Self(), along="time", initial=1.0, lag=2)
    phi = pg.Dirichlet("phi", lagged, over="term", dims=("time", "topic"))
    theta = pg.Gamma("theta", 2.0, 1.0, dims=("time", "topic"))
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("time", "term")), sizes={"topic": 2})


def another() -> pg.Network:
    """θ_t ~ Gam(z_{t−2} + θ_{t−1} / 2, 1): the earlier row of another node, looked up."""
    z = pg.Gamma("z", pg.Shift(pg.Self(), along="time", initial=2.0), 2.0, dims="time")
    before = pg.Categories("before", dims="time", of="past", values=[0, 0, 0, 1, 2])
    own = pg.Shift(0.5 * pg.Self(), along="time", initial=0.3)
    theta = pg.Gamma("theta", z.rename(time="past")[before] + own, 1.0, dims="time")
    return pg.Network(pg.Poisson("x", theta, dims="time"), pg.Poisson("y", z, dims="time"))


NETWORKS: dict[str, Callable[[], pg.Network]] = {
    "season": season, "two lags": two_lags, "proportions": proportions, "another": another,
}  # fmt: skip


def test_counts_at_a_wrong_lag_are_seen() -> None:
    """Tables that go to the row before, where the row before that should hear of them."""

    def broken(chain: pg.Chain) -> None:
        at = [turn.step.name for turn in chain._turns].index("counts(theta)")
        turn = chain._turns[at]

        def run(key: int) -> None:
            turn.run(key)
            passed = chain.program.counts["theta", "self"]
            passed[1:] = passed[:-1].copy()
            passed[0] = 0

        chain._turns[at] = type(turn)(turn.step, turn.base, run)

    result = geweke(season(), SIZES, 2000, 8, seed=2, broken=broken)
    assert result.worst > 6, result


def test_a_wrong_order_is_refused() -> None:
    network = season()
    counts = [step.name for step in network.schedule if step.upward]
    with pytest.raises(pg.StaleReadError, match="theta"):
        network.with_order([*counts, "phi", "theta", "pi", "nu"])


def test_json_knows_the_lag_and_old_files_are_as_they_were() -> None:
    network = season(3)
    again = pg.Network.from_json(network.to_json())
    assert '"lag": 3' in network.to_json()
    assert again.to_json() == network.to_json()
    assert '"lag"' not in season(1).to_json()


def test_the_future_goes_on_from_the_last_rows() -> None:
    """With a rate that is large, θ_{T+h} is θ_{T+h−2}, whatever the row before is."""
    lagged = pg.Shift(1e8 * pg.Self(), along="time", initial=1e8, lag=2)
    network = observed(lagged, 1e8)
    theta = np.arange(1.0, 9.0).reshape(1, 4, 2)
    draws = {"theta": theta, "phi": np.full((1, 2, 3), 1 / 3)}
    future = network.forecast(draws, 3).values["theta"]
    np.testing.assert_allclose(future[0, 0], [[5, 6], [7, 8], [5, 6]], rtol=1e-2)
    # a past of one row: the next row is one of the first two
    short = network.forecast({**draws, "theta": theta[:, :1]}, 3).values["theta"]
    np.testing.assert_allclose(short[0, 0], [[1, 1], [1, 2], [1, 1]], rtol=1e-2)


def test_the_derivation_says_which_rows() -> None:
    text = str(season().explain())
    for part in ("θ[k', t-2]", "t ≤ 2", "t > 2", "ζ^(θ)[t+2]", "Σ[t ≤ 2] ζ^(θ)ₜ", "row t - 2"):
        assert part in text, part
    text = str(two_lags().explain())
    assert "1 < t ≤ 3" in text
    assert "rows t - 1, t - 3" in text


@pytest.mark.parametrize("lag", [0, -1, 1.5, "2", True])
def test_what_is_no_lag(lag: object) -> None:
    with pytest.raises(pg.NetworkError, match="lag"):
        pg.Shift(pg.Self(), along="time", initial=1.0, lag=lag)


def test_hidden_states_have_one_lag() -> None:
    move = pg.Dirichlet("move", 1.0, over="state", dims="previous")
    chain = pg.Shift(move @ pg.Self(state="previous"), along="time",
                     initial=pg.Dirichlet("first", 1.0, over="state"), lag=2)  # fmt: skip
    z = pg.Categorical("z", chain, over="state", dims="time")
    rate = pg.Gamma("rate", 2.0, 1.0, dims="state")
    with pytest.raises(pg.MissingRuleError, match=r"2 rows before.*pairs of states"):
        pg.Network(pg.Poisson("x", z @ rate, dims="time"), sizes={"state": 2, "previous": 2})


def test_a_lag_beyond_the_data() -> None:
    """All rows are first rows then."""
    chain = season(9).chain({"x": np.ones((3, 3), int)}, seed=0).sweep(2)
    assert np.isfinite(chain.values["theta"]).all()
