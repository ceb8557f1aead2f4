"""Kinds of operands, factors and names."""

from __future__ import annotations

import pytest

import pgbn as pg
from pgbn.explain.notation import Notation
from pgbn.explain.operands import (
    in_first_row,
    in_later_rows,
    is_own_row_before,
    names_counts,
    operand_formula,
    takes_a_dot,
)
from pgbn.network.sumproduct import Operand
from pgbn.network.terms import FIRST, LATER
from tests.helpers.compositions import COMPOSITIONS


@pytest.fixture(scope="module")
def notation() -> Notation:
    return Notation(COMPOSITIONS["gamma_markov_chain"]())


AXES = ("time", "topic")
OPERANDS = {
    "value": Operand("node", "lambda", ("topic",), own_dims=("topic",)),
    "row before": Operand("previous", "theta", AXES, own_dims=AXES),
    "first row": Operand("first", "theta", ("time",)),
    "exposure": Operand("exposure", "theta", AXES, slot="shape"),
    "first exposure": Operand("rest", "theta", AXES, slot="shape", phase=FIRST),
    "later exposures": Operand("rest", "theta", AXES, slot="shape", phase=LATER),
    "count": Operand("count", "theta", AXES),
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
    assert in_first_row(notation, operand, dim) is first
    assert in_later_rows(notation, operand, dim) is later
    assert takes_a_dot(operand) is dot


def test_only_the_lagged_term_holds_the_row_before(notation: Notation) -> None:
    terms = notation.wiring.polynomials["theta", "shape"].terms
    found = {term.phase: any(map(is_own_row_before, term.factors)) for term in terms}
    assert found == {FIRST: False, LATER: True}


def test_names_of_counts_are_those_of_upward_steps() -> None:
    for step in pg.zoo.pgbn([3, 2]).schedule:
        assert names_counts(step.name) is step.upward
