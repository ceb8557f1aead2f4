"""Nodes in time: counts backward, values forward."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import pgbn as pg
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
        tag: ClassVar[str] = "test_count_draws.chained"

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
