"""Long formulas in several lines."""

from __future__ import annotations

import pytest

from pgbn.explain.formulas import CONTINUED, fold

TERM = r"\sum_{v'' > v} \mathrm{between}_{c, c'}\, \phi_{c' v''}"


def test_a_short_line_stays() -> None:
    assert fold("a &= b + c") == ["a &= b + c"]


@pytest.mark.parametrize(("head", "tail"), [("q &= ", ""), (r"x &\sim \mathrm{Pois}(", ")")])
def test_lines_end_before_plus_signs(head: str, tail: str) -> None:
    """In as few brackets as possible: those of the family, if there is no other way."""
    whole = head + " + ".join([TERM, rf"\ln(1 + {TERM})", TERM, TERM]) + tail
    first, *others = fold(whole)
    assert first.startswith(head + TERM)
    assert all(piece.startswith(CONTINUED + " + ") for piece in others)
    assert len(others) == 3
    assert " ".join([first, *(piece.removeprefix(CONTINUED + " ") for piece in others)]) == whole


def test_growing_brackets_and_braces_stay_whole() -> None:
    inside = " + ".join([TERM] * 5)
    assert len(fold(rf"q &= \left({inside}\right)")) == 1
    assert len(fold(rf"q &= \frac{{{inside}}}{{2}}")) == 1
    assert len(fold(rf"q &= \left({inside}\right) + \left({inside}\right)")) == 2


def test_lines_end_behind_commas_and_before_products() -> None:
    weights = ", ".join([TERM] * 4)
    assert [piece.endswith(",") for piece in fold(rf"w &\propto ({weights})")] == [True] * 3 + [
        False
    ]
    factor = rf"p\bigl(x : {TERM}\bigr)"
    assert len(fold(r"p(z \mid -) &\propto " + r"\ \prod ".join([factor] * 4))) == 4
