"""Formulas that are calculated with: rules write their own equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pgbn.explain.algebra import Formula, call, ratio


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a, b: np.log1p(a / b), r"\ln(1 + a / b)"),
        (lambda a, b: -np.log1p(-a) * b, r"-\ln(1 - a)\, b"),
        (lambda a, b: (a + b) * a / (b - 1), r"(a + b)\, a / (b - 1)"),
        (lambda a, b: 1.0 * (a == b) + a**2, r"1(a = b) + a^{2}"),
        (lambda a, b: Formula(r"w^{(1)}_{k_{2}}") ** 2 + b, r"(w^{(1)}_{k_{2}})^{2} + b"),
        (lambda a, b: np.where(a > 0, b, 0.5), "cases"),
        (lambda a, b: 1.0 - np.exp(-a * b), r"1 - e^{-a\, b}"),
    ],
)
def test_rules_write_their_own_formulas(function: Any, expected: str) -> None:
    found = call(function, a=Formula("a"), b=Formula("b"))
    assert isinstance(found, Formula)
    assert expected in found.latex


@pytest.mark.parametrize(
    "function", [lambda a: a if a > 0 else 1, lambda a: np.linalg.norm(a), lambda a: np.asarray(a)]
)
def test_code_that_cannot_be_read_gives_nothing(function: Any) -> None:
    assert call(function, a=Formula("a")) is None


@pytest.mark.parametrize(
    ("coefficient", "expected"),
    [
        (1.0, "a"),
        (0.25, "a / 4"),
        (0.3, r"0.3\, a"),
        (1e-200, r"10^{-200}\, a"),
        (5e-324, "10^{-324}"),
    ],
)
def test_coefficients_of_formulas(coefficient: float, expected: str) -> None:
    """One over a whole number is a fraction, unless nobody could read the number."""
    assert expected in ratio(coefficient, Formula("a")).latex
