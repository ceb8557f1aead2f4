"""The bound of single precision: the page has its table, and it is small for every shape."""

from __future__ import annotations

import pytest

from tests.evidence.precision import SHAPES, bound, table
from tests.helpers.repository import DOCS


@pytest.mark.parametrize("shape", SHAPES)
def test_means_are_right_to_three_parts_in_ten_million(shape: float) -> None:
    found = bound(shape)
    assert found["rounding"] + found["steps"] < 2.4e-7  # and 6e-8 of the shape itself


def test_the_page_has_the_figures() -> None:
    assert table() in (DOCS / "correctness.md").read_text("utf-8")
