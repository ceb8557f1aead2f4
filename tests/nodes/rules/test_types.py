"""What a rule reads is told by the parameters of its functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pgbn
from pgbn import Gamma, Poisson
from pgbn.nodes.base import Array
from pgbn.nodes.rules.types import EvidenceRule, LinkRule, names_read
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import geweke


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("value", ("value",)),
        (lambda count, shape: None, ("count", "shape")),
        (lambda stream, count: None, ("count",)),
        (lambda: None, ()),
        (1.0, ()),
        (None, ()),
    ],
)
def test_names_read(source: object, names: tuple[str, ...]) -> None:
    assert names_read(source) == names


def rule(count: Callable[..., Any] | str, exposure: Any = 1.0, drawn: Any = None) -> EvidenceRule:
    return EvidenceRule(Gamma, "shape", "collapsed", "poisson", count, exposure, drawn, False, False,
                        False, "", "", None)  # fmt: skip


@pytest.mark.parametrize(
    ("found", "random", "integer", "count_reads", "exposure_reads"),
    [
        (rule(lambda stream, count: 0), True, True, ("count",), ()),
        (rule(lambda count: 0, "rate"), False, False, ("count",), ("rate",)),
        (rule("count", lambda exposure, rate: 0), False, True, ("count",), ("exposure", "rate")),
        (rule("value"), False, False, ("value",), ()),
        (
            rule(lambda stream, count: 0, lambda rate: 0, lambda node: ()),
            True,
            True,
            ("count",),
            (),
        ),
    ],
    ids=["drawn", "computed", "handed on", "reals", "a random exposure"],
)
def test_evidence_rules(
    found: EvidenceRule,
    random: bool,
    integer: bool,
    count_reads: tuple[str, ...],
    exposure_reads: tuple[str, ...],
) -> None:
    assert found.is_random is random
    assert found.is_integer is integer
    assert found.count_reads == count_reads
    assert found.exposure_reads == exposure_reads


def test_rules_are_compared_by_identity() -> None:
    assert rule("count") != rule("count")
    assert LinkRule(Poisson, "rate", None, "", "") != LinkRule(Poisson, "rate", None, "", "")


def test_a_whole_count_that_is_computed_is_kept_and_shared_out() -> None:
    """integer=True: the counts of pairs, heard through a sum."""

    class Pairs(pgbn.Observed):
        rate: pgbn.Slot

        def generate(self, stream: Stream, **slots: Any) -> Array:
            return 2 * vectorised.poisson(stream, slots["rate"])

        def log_density(self, value: Array, **slots: Any) -> Array:
            return pgbn.Poisson("n", 1.0).log_density(value / 2, rate=slots["rate"])

    options = {"relation": "held", "exposure": 1.0}
    pgbn.evidence_rule(Pairs, "rate", integer=True, **options)(lambda value: value // 2)
    rate = pgbn.Gamma("a", 2, 1, dims="i") + pgbn.Gamma("b", 1, 1)
    net = pgbn.Network(Pairs("x", rate=rate, dims="i"))
    assert geweke(net, {"i": 2}, 1500, 5).worst < 4
    pgbn.evidence_rule(Pairs, "rate", integer=True, **options)(lambda value: value / 4)
    with pytest.raises(pgbn.DataError, match="a count that is drawn must be 0, 1, 2"):
        pgbn.Network(Pairs("x", rate=rate, dims="i")).chain({"x": [2, 6]}).sweep()
    pgbn.evidence_rule(Pairs, "rate", **options)(lambda value: value // 2)
    with pytest.raises(pgbn.MissingRuleError, match="is a sum"):
        pgbn.Network(Pairs("x", rate=rate, dims="i"))
