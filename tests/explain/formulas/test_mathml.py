"""LaTeX as MathML."""

from __future__ import annotations

import pytest

from pgbn.explain.formulas import aligned_mathml, inline_mathml


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
    ],
)  # fmt: skip
def test_mathml(latex: str, expected: str) -> None:
    assert inline_mathml(latex) == f"<math>{expected}</math>"


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
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
def test_corners_of_mathml(latex: str, expected: str) -> None:
    assert inline_mathml(latex) == f"<math>{expected}</math>"


def test_lines_are_aligned_at_their_first_mark() -> None:
    cells = (
        "<mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd>",
        "<mtd><mrow></mrow></mtd><mtd><mi>c</mi></mtd>",
    )
    rows = "".join(f"<mtr>{row}</mtr>" for row in cells)
    expected = f'<math display="block"><mtable>{rows}</mtable></math>'
    assert aligned_mathml(["a & b", "c"]) == expected
