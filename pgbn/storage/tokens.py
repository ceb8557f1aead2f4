"""Patterns of terms that take linear time for any text.

A regular expression can take a year for a line of text (``(\\w+)+x``), and Python's cannot be
stopped. A pattern from a file is used only if it has the following form. Most patterns of terms
have it, such as ``\b\\w\\w+\b``, ``[A-Za-z]{3,}``, ``\\w+(?:-\\w+)*`` and ``#(\\w+)``:

    characters, then one run of characters, then optional parts

An alternative has at most one run (+, *, {2,}), and nothing after it can fail, so that no match is
tried twice. A group may follow, or be repeated, if it begins with a character that no run can take.
A word boundary may follow a run if the alternative begins with one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pgbn.checks import is_finite_number, is_integral
from pgbn.errors import DataError, did_you_mean
from pgbn.storage.stop_words import TOKEN, is_language

_LONGEST, _ALTERNATIVES, _OPTIONAL = 500, 20, 3
_EVERY = "".join(map(chr, range(0xD800)))
_FLAGS = re.compile(r"\A\(\?[aiu]+\)")
# A character of a set; how often it comes: so many times, at most once, or a run of them; and a
# group. Then an alternative, a group that comes exactly once, and the pieces of an alternative.
_ONE = (
    r"""(?:\[\^?\]?(?:\\.|[^\\\]])*\]|\\[wWdDsS]|\\u[0-9a-fA-F]{4}|\\[^\w]|[^\\()\[\]{}?*+|^$])"""
)
_TIMES = r"(?:\{[12]?\d{1,2}\})"
_SPAN = r"(?:[*+]|\{[12]?\d{1,2},(?:[12]?\d{1,2})?\})"
_END = r"(?![?*+{])"
_FIXED, _MAYBE, _RUN = (rf"(?:{_ONE}{n}{_END})" for n in (f"{_TIMES}?", r"\?", _SPAN))
_GROUP = rf"(?:\((?:\?:)?{_ONE}{_END}{_FIXED}*{_RUN}?\))"
_ALTERNATIVE = re.compile(
    rf"(?:\\b|{_FIXED}|{_MAYBE}|{_GROUP}\?{_END})*{_RUN}?"
    rf"(?P<rest>(?:\\b|{_MAYBE}|{_GROUP}[?*]{_END})*)"
)
_ONCE = re.compile(rf"({_ONE})|\((?:\?:)?((?:\\b|{_FIXED}|{_MAYBE}|{_RUN})*)\){_END}")
_PIECE = re.compile(
    rf"\((?:\?:)?(?P<first>{_ONE})|\)(?P<star>\*)?|\\b|"
    rf"(?P<one>{_ONE})(?:{_TIMES}|(?P<span>{_SPAN}|\?))?"
)


def is_quick(pattern: object) -> bool:
    """Whether a pattern has the form that takes linear time for any text."""
    if pattern == TOKEN:
        return True
    if not isinstance(pattern, str) or len(pattern) > _LONGEST:
        return False
    try:
        if re.compile(pattern).groups > 1:
            return False
    except (re.error, OverflowError, RecursionError):
        return False
    text, at = _ONCE.sub(lambda found: found[1] or found[2] or "", _FLAGS.sub("", pattern)), 0
    for _ in range(_ALTERNATIVES):
        found = _ALTERNATIVE.match(text, at)
        if found is None or not _runs_once(found):
            return False
        if found.end() == len(text):
            return True
        if text[found.end()] != "|":
            return False
        at = found.end() + 1
    return False


def _runs_once(alternative: re.Match[str]) -> bool:
    """Whether little may be missing, and every group begins with a character that no run takes."""
    pieces = list(_PIECE.finditer(alternative[0]))
    firsts = [piece["first"] for piece in pieces if piece["first"]]
    runs = [piece["one"] for piece in pieces if piece["span"] not in (None, "?")]
    missing = len(firsts) + sum(piece["span"] == "?" for piece in pieces)
    again = sum(piece["star"] is not None for piece in pieces)
    bounded = alternative[0].startswith(r"\b") or r"\b" not in alternative["rest"]
    few = missing <= _OPTIONAL and again <= 1
    return few and bounded and all(_is_apart(first, runs) for first in firsts)


def _is_apart(first: str, runs: list[str]) -> bool:
    """Whether no run takes a character of the set ``first``."""
    if max(first) > _EVERY[-1] or first.startswith("[^") or re.search(r"\\[a-zA-Z]", first):
        return False
    taken = "".join(re.findall(f"(?i){first}", _EVERY))
    return bool(taken) and not any(re.search(f"(?i){run}", taken) for run in runs)


# ---- options that come with a saved model -------------------------------------------------
#
# The record of a model comes from an untrusted file. Only options that select terms are taken from
# it, none that opens a file, runs code or takes unbounded time.


_PHRASES = 20  # words of the longest phrases


def _is_number(value: Any) -> bool:
    return value is None or is_finite_number(value)


def _are_stop_words(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(word, str) for word in value)
    return value is None or (isinstance(value, str) and is_language(value))


def _is_range(value: Any) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    return all(is_integral(n) for n in value) and 1 <= value[0] <= value[1] <= _PHRASES


_NUMBER = _is_number, "a number"
_FLAG = (lambda value: isinstance(value, bool)), "true or false"
_OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "min_df": _NUMBER, "max_df": _NUMBER, "max_features": _NUMBER,
    "stop_words": (_are_stop_words, "a list of words, or a language"),
    "token_pattern": (
        lambda value: value is None or is_quick(value),
        "a pattern that takes linear time for any text (one run of characters, and nothing after "
        "it that could fail)",
    ),
    "ngram_range": (_is_range, f"two numbers from 1 to {_PHRASES}"),
    "lowercase": _FLAG, "binary": _FLAG,
    "analyzer": (lambda value: value in ("word", "char", "char_wb"), "word, char or char_wb"),
    "strip_accents": (lambda value: value in (None, "ascii", "unicode"), "ascii or unicode"),
}  # fmt: skip


def saved_counting(record: Mapping[str, Any], where: object) -> dict[str, Any]:
    """The options of CountVectorizer in the record of a model, or an error that names ``where``."""
    options = dict(record.get("vectorizer", {}))
    for name, value in options.items():
        if name not in _OPTIONS:
            raise DataError(
                f"{where}: its record says that terms were counted with {name}={value!r:.60}, "
                f"which is not taken from a file.{did_you_mean(name, _OPTIONS)}"
            )
        is_good, wanted = _OPTIONS[name]
        if not is_good(value):
            raise DataError(
                f"{where}: its record says that terms were counted with {name}={value!r:.60}; from "
                f"a file, only {wanted} is taken. If you trust it, count yourself: "
                "pgbn.corpus.read_corpus(data, vocabulary=…, …), and give the counts"
            )
    return options
