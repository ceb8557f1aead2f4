"""LaTeX as unicode for a terminal."""

from __future__ import annotations

import pytest

from pgbn.explain.formulas import to_unicode


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"\theta^{(1)}_{k_1 j}", "θ⁽¹⁾[k₁ j]"),
        (r"\frac{a + b}{c}", "(a + b)/c"),
        (r"\sum_{t > 1} \pi_{\cdot}", "Σ_(t > 1) π[·]"),
        (r"\mathrm{Pois}_{+}(\lambda)", "Pois₊(λ)"),
        (r"e^{-q \lambda}", "e^(-q λ)"),
    ],
)
def test_plain_text_of_formulas(latex: str, plain: str) -> None:
    assert to_unicode(latex) == plain


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"x_12", "x₁2"),  # LaTeX takes one digit
        (r"\begin{cases} a & \text{if } b \\ c & \text{otherwise} \end{cases}",
         "{ a if b; c otherwise }"),
        (r"\frac{a", "a/()"),
        (r"\mathrm{gr\text{ö}\text{ß}e}", "größe"),
        (r"\hat{q} \nosuch{x}", "q\u0302 nosuchx"),
        ("a } b", "a"),
        ("a\\", "a"),
    ],
)  # fmt: skip
def test_corners_of_formulas(latex: str, plain: str) -> None:
    assert to_unicode(latex) == plain
