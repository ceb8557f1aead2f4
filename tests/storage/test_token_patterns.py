"""Patterns of terms that come with a file: linear in the length of the text, or refused."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgbn.storage.stop_words import TOKEN
from pgbn.storage.tokens import is_quick

QUICK = [
    TOKEN, r"(?u)\b\w\w+\b", r"[A-Za-z]{3,}", r"\S+", r"(?i)[a-z]+", r"[^\W\d_]+", r"\w+(?:-\w+)*",
    r"#(\w+)", r"[\u4e00-\u9fff]", r"\b[a-z]{3,20}\b", r"[a-zA-Z][a-zA-Z'-]+", r"\w+|[^\w\s]",
    r"[a-z]+(?:'[a-z]+)?", r"\w+(?:[-'’]\w+)*", r"\b[^\W\d_]\w+(?:[-']\w+)*\b", r"\d{4}", ".",
]  # fmt: skip
SLOW = [
    r"(\w+)+x", r"(a|a)*b", r"(a*)*b", r"\w+\w+x", r"\w+x", r"(?:a?){50}a{50}", "a?" * 30 + "a" * 30,
    r"(.+)\1", r"(?:\w+-?)*", r"(?:-?\w+)*x", r"\w+(?:w\w+)*", r"[a-z]+\b", r"\w{1000}",
    r"(?:a{1,9}){1,9}b", r"\w+?x", r"(?=\w+x)a", r"(?:a|b)+", r"(?:-\w+)*\w+x", r"(?:.\w+)*",
    r"\w+(?:-\w+)*(?:-\w+)*x", r"(?:[^a]\w+)*",
]  # fmt: skip
NONE = ["(", "[", "((a)", "(?x) a b", "(a)(b)", 7, None, "a" * 600, r"\w+(?:)*"]


@pytest.mark.parametrize("pattern", QUICK)
def test_patterns_that_are_taken(pattern: str) -> None:
    assert is_quick(pattern)


@pytest.mark.parametrize("pattern", [*SLOW, *NONE])
def test_patterns_that_are_not(pattern: object) -> None:
    assert not is_quick(pattern)


TEXTS = ["a" * 3000 + "!", "ab" * 1500, "a-" * 1500 + "!", "a1" * 1500 + " ", "'a" * 1500,
         "b" * 3000 + "a", " " * 3000]  # fmt: skip
PIECES = ["a", "b", "-", r"\w", "[ab]", "[^a]", ".", r"\s", r"\S", r"\b", "(?:", "(", ")", "|", "?",
          "*", "+", "{2}", "{1,3}", "{2,}", "'", "^"]  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join))
def test_what_is_taken_is_quick(pattern: str) -> None:
    """A pattern with a second run would need 3000² steps or more, half a second."""
    if is_quick(pattern):
        found = re.compile(pattern)
        before = time.process_time()
        for text in TEXTS:
            found.findall(text)
        assert time.process_time() - before < 0.3
