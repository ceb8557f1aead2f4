"""Counts that are computed, and kept as those that are drawn."""

from __future__ import annotations

from typing import Any

import pytest

import pgbn
from pgbn.nodes.base import Array
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import geweke


def test_a_whole_count_that_is_computed_is_kept_and_shared_out() -> None:
    """integer=True: the counts of pairs, heard through a sum."""

    class Pairs(pgbn.extend.Observed):
        rate: pgbn.extend.Slot

        def generate(self, stream: Stream, **slots: Any) -> Array:
            return 2 * vectorised.poisson(stream, slots["rate"])

        def log_density(self, value: Array, **slots: Any) -> Array:
            return pgbn.Poisson("n", 1.0).log_density(value / 2, rate=slots["rate"])

    options = {"relation": "given", "exposure": 1.0}
    pgbn.extend.evidence_rule(Pairs, "rate", integer=True, **options)(lambda value: value // 2)
    rate = pgbn.Gamma("a", 2, 1, dims="i") + pgbn.Gamma("b", 1, 1)
    net = pgbn.Network(Pairs("x", rate=rate, dims="i"))
    assert geweke(net, {"i": 2}, 1500, 5).worst < 4
    pgbn.extend.evidence_rule(Pairs, "rate", integer=True, **options)(lambda value: value / 4)
    with pytest.raises(pgbn.DataError, match="a count that is drawn must be 0, 1, 2"):
        pgbn.Network(Pairs("x", rate=rate, dims="i")).chain({"x": [2, 6]}).sweep()
    pgbn.extend.evidence_rule(Pairs, "rate", **options)(lambda value: value // 2)
    with pytest.raises(pgbn.MissingRuleError, match="is a sum"):
        pgbn.Network(Pairs("x", rate=rate, dims="i"))
