"""Earlier rows of other nodes, and chains of rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import poisson

import pgbn as pg
from pgbn.engine.compile.program import View
from pgbn.testing import geweke

SIZES = {"time": 4, "k": 2, "term": 2}


def in_a_shape() -> pg.Network:
    z = pg.Gamma("z", pg.Gamma("a", 3, 2, dims="k"), pg.Gamma("c", 4, 3), dims=("time", "k"))
    shape = pg.Shift(z, along="time", initial=pg.Gamma("nu", 3, 2, dims="k"))
    theta = pg.Gamma("theta", shape, pg.Gamma("d", 4, 3), dims=("time", "k"))
    phi = pg.Dirichlet("phi", 1.0, over="term", dims="k")
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("time", "term")), sizes={"k": 2})


def in_a_rate() -> pg.Network:
    z, phi = (
        pg.Gamma("z", 3, 2, dims=("time", "k")),
        pg.Dirichlet("phi", 1.0, over="term", dims="k"),
    )
    late = pg.Shift(0.5 * (phi @ z), along="time", initial=0.3, lag=2)
    rate = phi @ z + late + pg.Gamma("b", 2, 2)
    return pg.Network(pg.Poisson("x", rate, dims=("time", "term")), sizes={"k": 2})


def beside_its_own() -> pg.Network:
    z = pg.Gamma("z", pg.Shift(pg.Self(), along="time", initial=2.0), 2.0, dims="time")
    step = pg.Self() + z * pg.Gamma("w", 3, 3)
    shape = pg.Shift(step, along="time", initial=1.5) + 0.2
    theta = pg.Gamma("theta", shape, pg.Gamma("d", 4, 3), dims="time")
    return pg.Network(pg.Poisson("x", theta, dims="time"), pg.Poisson("y", z, dims="time"))


def rates_in_turn() -> pg.Network:
    """θ_t ~ Gam(4, 3 c θ_{t−1}), a node for every row."""
    c, rows = pg.Gamma("c", 4.0, 3.0), [pg.Gamma("theta1", 4.0, 3.0)]
    for t in (2, 3):
        rows.append(pg.Gamma(f"theta{t}", 6.0, 3.0 * c * rows[-1]))
    return pg.Network(*(pg.Poisson(f"x{t}", row) for t, row in enumerate(rows, 1)))


NETWORKS = [in_a_shape, in_a_rate, beside_its_own, rates_in_turn]


def sizes_of(net: pg.Network) -> dict[str, int]:
    return {dim: size for dim, size in SIZES.items() if dim in net.dims}


def test_counts_that_go_to_the_row_itself_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def itself(self: View, received: Any) -> Any:
        return np.ascontiguousarray(received.transpose(self._back))

    monkeypatch.setattr(View, "counts", itself)
    net = in_a_shape()
    assert geweke(net, sizes_of(net), replicates=3_000, sweeps=5).worst > 6


def test_the_rate_is_that_of_the_rows_before() -> None:
    net = in_a_rate()
    x = np.array([[3, 0], [1, 2], [0, 4], [2, 2]])
    chain = net.chain({"x": x}, seed=1).sweep(2)
    values = chain.values
    mixed = values["z"] @ values["phi"]
    late = np.concatenate([np.full((2, 2), 0.3), 0.5 * mixed[:-2]])
    wanted = poisson.logpmf(x, mixed + late + values["b"]).sum()
    assert chain.log_likelihood() == pytest.approx(wanted)


def test_it_is_printed_and_saved() -> None:
    net = in_a_shape()
    text = str(net.explain())
    assert "z[k, t-1] · 1(t > 1) + νₖ · 1(t = 1)" in text
    assert "1(t+1 ≤ T)" in text


def test_what_cannot_be_shifted_is_said() -> None:
    constant = pg.Gamma("g", 1.0, 1.0)
    with pytest.raises(pg.NetworkError, match="no dim 'time'"):
        pg.Network(pg.Poisson("x", pg.Shift(constant, along="time"), dims="time"))
    z = pg.Gamma("z", 1.0, 1.0, dims="time")
    late = pg.Gamma("t", 1.0, pg.Shift(z, along="time"), dims="time")
    with pytest.raises(pg.NetworkError, match="can be 0, and a rate must be positive"):
        pg.Network(pg.Poisson("x", late, dims="time"))
    with pytest.raises(pg.NetworkError, match="stands twice in one product"):
        pg.Network(pg.Poisson("x", z * pg.Shift(z, along="time", initial=1.0), dims="time"))
    rate = pg.Shift(3.0 * pg.Self(), along="time", initial=1.0)
    with pytest.raises(pg.MissingRuleError, match=r"given the row before and the row after.*node"):
        pg.Network(pg.Poisson("x", pg.Gamma("t", 2.0, rate, dims="time"), dims="time"))


def test_data_that_no_row_explains_are_refused() -> None:
    z = pg.Gamma("z", 1.0, 1.0, dims="time")
    net = pg.Network(pg.Poisson("x", pg.Shift(z, along="time"), dims="time"))
    with pytest.raises(pg.DataError, match="probability 0"):
        net.chain({"x": [2, 1, 0]})
    assert np.isfinite(net.chain({"x": [0, 1, 2]}).sweep(2).values["z"]).all()
