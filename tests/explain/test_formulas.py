"""Formulas: calculated with by rules, made from names, and shown as plain text, MathML and lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pgbn.explain import formulas
from pgbn.explain.algebra import Formula, call, ratio
from pgbn.explain.formulas import CONTINUED, aligned_mathml, fold, inline_mathml, to_unicode
from pgbn.explain.names import clean_math, indices_of, symbols_of

# ---- algebra ------------------------------------------------------------------------------------


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
        # one over a whole number is a fraction, unless nobody could read the number
        (lambda a, b: ratio(1.0, a), "a"),
        (lambda a, b: ratio(0.25, a), "a / 4"),
        (lambda a, b: ratio(0.3, a), r"0.3\, a"),
        (lambda a, b: ratio(1e-200, a), r"10^{-200}\, a"),
        (lambda a, b: ratio(5e-324, a), "10^{-324}"),
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


# ---- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("theta2", r"\theta^{(2)}_{j}"),
        ("gamma0", r"\gamma_{0, j}"),
        ("phi_image", r"\phi^{(\mathrm{image})}_{j}"),
        ("θ", r"\theta_{j}"),
        ("noise", r"\mathrm{noise}_{j}"),
        ("50%", r"\mathrm{50\%}_{j}"),
    ],
)
def test_symbols(name: str, latex: str) -> None:
    assert symbols_of([name])[name].at(["j"]) == latex


def test_names_with_one_symbol_are_written_out() -> None:
    found = symbols_of(["theta", "θ"])
    assert [symbol.base for symbol in found.values()] == [r"\mathrm{theta}", r"\mathrm{\theta }"]


@pytest.mark.parametrize(
    ("renamed", "indices"),
    [
        ({"k": "topic1"}, {"doc": "j", "topic1": "k_1", "topic2": "k_2", "k": "k_1'"}),
        # a long word below an index is its first letter
        ({}, {"term_words": r"v_{\mathrm{words}}", "user_community": r"u_{\mathrm{c}}",
              "user_groups": r"u_{\mathrm{groups}}", "user_collection": r"u_{\mathrm{c}}'"}),
    ],
)  # fmt: skip
def test_indices_are_distinct(renamed: dict[str, str], indices: dict[str, str]) -> None:
    assert indices_of(list(indices), renamed) == indices


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        ("a − b", "a - b"),
        ("x ∼ Γ′", r"x \sim  \Gamma '"),
        ("a ≥ ∑ b", r"a \ge  \sum  b"),
        ("a ≠ b × c", r"a \ne  b \times  c"),
        ("ö中", r"\text{ö}U4E2D"),
        (r"\ell", r"\ell"),
    ],
)
def test_unicode_in_formulas_of_others(written: str, clean: str) -> None:
    assert clean_math(written) == clean


def test_every_sign_has_one_command() -> None:
    """Unicode that others write in an equation comes back as a command that is known."""
    large = {name: sign for name, (sign, _) in formulas.LARGE.items()}
    known = {**formulas.LETTERS, **formulas.OPERATORS, **large}
    assert all(known[name] == sign for sign, name in formulas.NAMES.items())


# ---- plain text and MathML ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"\theta^{(1)}_{k_1 j}", "θ⁽¹⁾[k₁ j]"),
        (r"\frac{a + b}{c}", "(a + b)/c"),
        (r"\frac 12", "1/2"),
        (r"\sum_{t > 1} \pi_{\cdot}", "Σ_(t > 1) π[·]"),
        (r"\mathrm{Pois}_{+}(\lambda)", "Pois₊(λ)"),
        (r"e^{-q \lambda}", "e^(-q λ)"),
        (r"x_12", "x₁2"),  # LaTeX takes one digit
        (r"\begin{cases} a & \text{if } b \\ c & \text{otherwise} \end{cases}",
         "{ a if b; c otherwise }"),
        (r"\begin{cases}a", "{ a }"),
        (r"\frac{a", "a/()"),
        (r"\mathrm{gr\text{ö}\text{ß}e}", "größe"),
        (r"\hat{q} \nosuch{x}", "q\u0302 nosuchx"),
        ("a } b", "a"),
        ("a\\", "a"),
        ("", ""),
    ],
)  # fmt: skip
def test_plain_text(latex: str, plain: str) -> None:
    assert to_unicode(latex) == plain


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("x", "<mi>x</mi>"),
        ("0.05", "<mn>0.05</mn>"),
        (r"\theta^{(1)}_{k j}", "<msubsup><mi>θ</mi><mrow><mrow><mi>k</mi><mi>j</mi></mrow></mrow>"
         '<mrow><mrow><mo stretchy="false">(</mo><mn>1</mn><mo stretchy="false">)</mo></mrow></mrow>'
         "</msubsup>"),
        (r"\frac{a}{2}", "<mfrac><mi>a</mi><mn>2</mn></mfrac>"),
        (r"\sum_k", "<munder><mo>∑</mo><mrow><mi>k</mi></mrow></munder>"),
        (r"\mathrm{Gam}", '<mi mathvariant="normal">Gam</mi>'),
        ("a < b", '<mrow><mi>a</mi><mo stretchy="false">&lt;</mo><mi>b</mi></mrow>'),
        (r"\nosuch", "<mtext>nosuch</mtext>"),
        ("q'", "<msup><mi>q</mi><mrow><mo>′</mo></mrow></msup>"),
        (r"\frac{", "<mfrac><mrow></mrow></mfrac>"),
        # words keep their blanks, and a name its accents
        (r"\text{if } a", '<mrow><mi mathvariant="normal">if\u00a0</mi><mi>a</mi></mrow>'),
        (r"\mathrm{gr\text{ö}\text{ß}e}_a",
         '<msub><mi mathvariant="normal">größe</mi><mrow><mi>a</mi></mrow></msub>'),
        (r"\mathrm{a\_\theta b}", '<mi mathvariant="normal">a_θb</mi>'),
        (r"\begin{cases} a & b \\ c \end{cases}",
         '<mrow><mo stretchy="true">{</mo><mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd>'
         "</mtr><mtr><mtd><mi>c</mi></mtd></mtr></mtable></mrow>"),
        # a word stands apart from what it is applied to, unless that is in brackets
        (r"\ln s", '<mrow><mi>ln</mi><mspace width="0.17em"></mspace><mi>s</mi></mrow>'),
        (r"\ln", "<mi>ln</mi>"),
        (r"\ln^2", "<msup><mi>ln</mi><mrow><mn>2</mn></mrow></msup>"),
        # brackets grow where that is asked for
        (r"\bigl(", "<mo>(</mo>"),
        ("_a", "<msub><mrow></mrow><mrow><mi>a</mi></mrow></msub>"),
    ],
)  # fmt: skip
def test_mathml(latex: str, expected: str) -> None:
    assert inline_mathml(latex) == f"<math>{expected}</math>"


def test_lines_are_aligned_at_their_first_mark() -> None:
    """An escaped ampersand is part of a name."""
    cells = (
        "<mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd>",
        "<mtd><mrow></mrow></mtd><mtd><mi>c</mi></mtd>",
        "<mtd><mtext>&amp;</mtext></mtd><mtd><mi>d</mi></mtd>",
    )
    rows = "".join(f"<mtr>{row}</mtr>" for row in cells)
    expected = f'<math display="block"><mtable>{rows}</mtable></math>'
    assert aligned_mathml(["a & b", "c", r"\& & d"]) == expected


# ---- long lines ---------------------------------------------------------------------------------

TERM = r"\sum_{v'' > v} \mathrm{between}_{c, c'}\, \phi_{c' v''}"


@pytest.mark.parametrize(("head", "tail"), [("q &= ", ""), (r"x &\sim \mathrm{Pois}(", ")")])
def test_lines_end_before_plus_signs(head: str, tail: str) -> None:
    """In as few brackets as possible: those of the family, if there is no other way."""
    line = head + " + ".join([TERM, rf"\ln(1 + {TERM})", TERM, TERM]) + tail
    first, *others = fold(line)
    assert first.startswith(head + TERM)
    assert all(piece.startswith(CONTINUED + " + ") for piece in others)
    assert len(others) == 3
    assert " ".join([first, *(piece.removeprefix(CONTINUED + " ") for piece in others)]) == line


INSIDE = " + ".join([TERM] * 5)
FACTOR = rf"p\bigl(x : {TERM}\bigr)"


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("a &= b + c", 1),
        (rf"q &= \left({INSIDE}\right)", 1),  # brackets that grow stay in one line
        (rf"q &= \frac{{{INSIDE}}}{{2}}", 1),
        (rf"q &= \left({INSIDE}\right) + \left({INSIDE}\right)", 2),
        (rf"w &\propto ({', '.join([TERM] * 4)})", 4),
        (r"p(z \mid -) &\propto " + r"\ \prod ".join([FACTOR] * 4), 4),
    ],
)
def test_where_lines_end(line: str, pieces: int) -> None:
    found = fold(line)
    assert len(found) == pieces
    if ", " in line and pieces == 4 and "propto (" in line:
        assert all(piece.endswith(",") for piece in found[:-1])
