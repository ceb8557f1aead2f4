"""Nodes in time: counts backward, values forward."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

import pgbn as pg
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Counts, Draw
from pgbn.engine.steps.time import time_counts, time_draw, time_prior
from pgbn.network.terms import PREVIOUS
from pgbn.samplers import vectorised


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

    @pg.evidence_rule(
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


# ---- laws -----------------------------------------------------------------------------------

N = 20_000


def recursion(counts: list[int], theta: list[float], shape: float = 0.5) -> Program:
    """θ_1 ~ Gam(0.5, 2), θ_2 ~ Gam(3 θ_1, 2), x ~ Pois(θ): N rows side by side."""
    before = pg.Shift(3.0 * pg.Self(), along="t", initial=shape)
    node = pg.Gamma("theta", before, 2.0, dims=("t", "n"))
    network = pg.Network(pg.Poisson("x", node, dims=("t", "n")))
    data = np.repeat(np.array(counts)[:, None], N, axis=1)
    values = np.repeat(np.array(theta)[:, None], N, axis=1)
    program = network.chain({"x": data}, init={"theta": values}).program
    program.counts["x", "theta"] = data[None].copy()
    return program


def test_tables_are_passed_to_the_row_before() -> None:
    """Row 2 hears 3 counts, seats them with the shape 3 · 0.5 and passes the tables back."""
    program = recursion([1, 3], [0.5, 1.0])
    run = time_counts(program, Counts(program.network["theta"]))
    assert run is not None
    run(4)
    passed = program.counts["theta", PREVIOUS].reshape(2, N)
    assert not passed[1].any()  # nothing comes after the last row
    mean = 1 + 1.5 / 2.5 + 1.5 / 3.5
    assert passed[0].mean() == pytest.approx(mean, abs=0.02)


def test_rows_are_drawn_forward() -> None:
    """The last row hears its own count; the first one also what the second passes back."""
    program = recursion([1, 3], [0.5, 1.0])
    program.counts["theta", PREVIOUS] = np.array([2, 0])[:, None] * np.ones((1, N), np.int64)
    program.counts["theta", PREVIOUS] = program.counts["theta", PREVIOUS].reshape(2, 1, 1, 1, N)
    run = time_draw(program, Draw(program.network["theta"]))
    assert run is not None
    run(4)
    first, second = program.values["theta"][0]
    zeta = np.log1p(1 / 2)  # the exposure that row 2 passes back, for each unit of its shape
    law = stats.gamma(0.5 + 1 + 2, scale=1 / (2 + 1 + 3 * zeta))
    assert stats.kstest(first, law.cdf).pvalue > 1e-4
    given = stats.gamma(3 * first + 3, scale=1 / (2 + 1)).cdf(second)
    assert stats.kstest(given, "uniform").pvalue > 1e-4


def test_the_prior_follows_the_recursion() -> None:
    program = recursion([0, 0], [1.0, 1.0], shape=2.0)
    kept = program.values["theta"]
    first, second = time_prior(program, program.network["theta"])(3)[0]
    assert stats.kstest(first, stats.gamma(2.0, scale=1 / 2).cdf).pvalue > 1e-4
    given = stats.gamma(3 * first, scale=1 / 2).cdf(second)
    assert stats.kstest(given, "uniform").pvalue > 1e-4
    assert program.values["theta"] is kept  # a draw of the prior is no state


def test_other_nodes_are_left_to_others() -> None:
    network = pg.Network(pg.Poisson("x", pg.Gamma("g", 1, 1)))
    program = network.chain({"x": 3}).program
    assert time_counts(program, Counts(network["x"])) is None
    assert time_draw(program, Draw(network["g"])) is None
