"""Prose and lines before they are rendered."""

from __future__ import annotations

from pgbn.explain.document import align_parts, code, prose_pieces, unaligned


def test_pieces_of_prose() -> None:
    text = f"a $b_1$ and {code('c')}"
    pieces = [("prose", "a "), ("math", "b_1"), ("prose", " and "), ("code", "c")]
    assert list(prose_pieces(text)) == pieces
    assert list(prose_pieces("")) == []


def test_a_name_cannot_end_itself() -> None:
    assert list(prose_pieces(code("a`b$c$"))) == [("code", "a'b$c$")]


def test_lines_are_split_at_the_first_mark_that_is_not_part_of_a_name() -> None:
    assert align_parts(r"a\&b &= c & d") == (r"a\&b ", "= c & d")
    assert align_parts("a") == ("", "a")
    assert unaligned(r"a\&b &= c") == r"a\&b = c"
