"""Texts and numbers as the page shows them."""

from pgbn.report.text import grouped


def test_numbers_are_grouped_by_spaces_at_which_no_line_is_broken():
    assert grouped(1234567) == "1\u202f234\u202f567"
    assert grouped(999) == "999"
    assert grouped(-1000) == "\u22121\u202f000"
