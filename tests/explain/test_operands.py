"""Kinds of operands, factors and names."""

from __future__ import annotations

import pytest

from pgbn.explain.notation import (
    Notation,
    in_first_rows,
    in_later_rows,
    operand_formula,
    takes_a_dot,
)
from pgbn.network.sumproduct import (
    FirstRow,
    HeardCount,
    NodeValue,
    PreviousRow,
    RuleExposure,
    TimeExposure,
)
from pgbn.network.terms import FIRST, LATER
from tests.helpers.compositions import COMPOSITIONS


@pytest.fixture(scope="module")
def notation() -> Notation:
    return Notation(COMPOSITIONS["gamma_markov_chain"]())


AXES = ("time", "topic")
OPERANDS = {
    "value": NodeValue(name="lambda", dims=("topic",), own_dims=("topic",)),
    "row before": PreviousRow(name="theta", dims=AXES, own_dims=AXES),
    "first row": FirstRow(name="theta", dims=("time",)),
    "exposure": RuleExposure(name="theta", dims=AXES, slot="shape"),
    "first exposure": TimeExposure(name="theta", dims=AXES, slot="shape", phase=FIRST),
    "later exposures": TimeExposure(name="theta", dims=AXES, slot="shape", phase=LATER),
    "count": HeardCount(name="theta", dims=AXES),
}


@pytest.mark.parametrize(
    ("name", "latex", "first", "later", "dot"),
    [
        ("value", r"\lambda_{k}", False, False, True),
        ("row before", r"\theta_{k, t-1}", False, True, True),
        ("first row", "1(t = 1)", True, False, True),
        ("exposure", r"\zeta^{(\theta)}_{k t}", False, False, False),
        ("first exposure", r"\zeta^{(\theta)}_{k t}", True, False, True),
        ("later exposures", r"\zeta^{(\theta)}_{k t}", False, True, True),
        ("count", r"m^{(\theta)}_{k t}", False, False, True),
    ],
)
def test_operands(
    notation: Notation, name: str, latex: str, first: bool, later: bool, dot: bool
) -> None:
    operand = OPERANDS[name]
    dim = "time" if "time" in operand.dims else "topic"
    assert operand_formula(notation, operand, notation.index).latex == latex
    assert bool(in_first_rows(notation, operand, dim)) is first
    assert bool(in_later_rows(notation, operand, dim)) is later
    assert takes_a_dot(operand) is dot


def test_only_the_lagged_term_holds_the_row_before(notation: Notation) -> None:
    terms = notation.wiring.polynomials["theta", "shape"].terms
    found = {term.phase: any(factor.previous for factor in term.factors) for term in terms}
    assert found == {FIRST: False, LATER: True}
