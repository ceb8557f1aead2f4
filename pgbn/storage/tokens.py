"""Patterns of terms that find them in linear time, whatever the text.

A regular expression can take a year for a line of text (``(\\w+)+x``), and Python's cannot be
stopped. One that came with a file is used only if it has this form, which most patterns of terms
have, such as ``\b\\w\\w+\b``, ``[A-Za-z]{3,}``, ``\\w+(?:-\\w+)*`` and ``#(\\w+)``:

    characters, then one run of characters, then what may be missing

An alternative has at most one run (+, *, {2,}), and after it nothing that could fail, so that no
way is tried twice. A group may follow, or be repeated, if it begins with a character that no run
can take. A word boundary may follow a run if the alternative begins with one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pgbn.checks import is_finite_number, is_integral
from pgbn.errors import DataError, did_you_mean
from pgbn.storage.stop_words import TOKEN, is_language

_LONGEST, _ALTERNATIVES, _MOST, _OPTIONAL = 500, 20, 255, 3
_ONE = r"""\[\^?\]?(?:\\.|[^\\\]])*\]|\\[wWdDsS]|\\u[0-9a-fA-F]{4}|\\[^\w]|[^\\()\[\]{}?*+|^$]"""
_COUNT = r"(?P<count>[?*+]|\{\d{1,3}(?:,\d{0,3})?\})?(?![?*+{])"
_PIECE = re.compile(rf"(?P<boundary>\\b)|(?P<one>{_ONE}){_COUNT}|(?P<open>\((?:\?:)?)|(?P<bar>\|)")
_CLOSE = re.compile(rf"\){_COUNT}")
_FLAGS = re.compile(r"\(\?[aiu]+\)")
_EVERY = "".join(map(chr, range(0xD800)))


def is_quick(pattern: object) -> bool:
    """Whether a pattern is of a form that takes linear time for any text."""
    if pattern == TOKEN:
        return True
    if not isinstance(pattern, str) or len(pattern) > _LONGEST:
        return False
    try:
        if re.compile(pattern).groups > 1:
            return False
        flags = _FLAGS.match(pattern)
        alternatives = _parsed(pattern[flags.end() if flags else 0 :])
    except (re.error, OverflowError, RecursionError, _OtherFormError):
        return False
    return len(alternatives) <= _ALTERNATIVES and all(map(_runs_once, alternatives))


class _OtherFormError(ValueError):
    """A pattern that is not of the form above."""


@dataclass(frozen=True)
class _One:
    """A character of a set, from ``least`` to ``most`` times; a boundary has no set."""

    characters: str
    least: int = 1
    most: float = 1

    @property
    def is_run(self) -> bool:
        return self.most > 1 and self.least < self.most


@dataclass(frozen=True)
class _Group:
    """Characters that come together, or not at all; or, ``most`` = ∞, again and again."""

    inner: tuple[_One, ...]
    most: float


def _parsed(pattern: str) -> list[list[_One | _Group]]:
    """The alternatives of a pattern."""
    found: list[list[_One | _Group]] = [[]]
    group: list[_One] | None = None
    at = 0
    while at < len(pattern):
        close = _CLOSE.match(pattern, at)
        if close and group is not None:
            least, most = _counts(close["count"])
            if least == most == 1:
                found[-1] += group
            elif least == 0 and most in (1, math.inf):
                found[-1].append(_Group(tuple(group), most))
            else:
                raise _OtherFormError
            group, at = None, close.end()
            continue
        piece = _PIECE.match(pattern, at)
        if piece is None or (group is not None and (piece["open"] or piece["bar"])):
            raise _OtherFormError
        if piece["open"]:
            group = []
        elif piece["bar"]:
            found.append([])
        else:
            one = _One(piece["one"] or "", *_counts(piece["count"]))
            (found[-1] if group is None else group).append(one)
        at = piece.end()
    if group is not None:
        raise _OtherFormError
    return found


def _counts(count: str | None) -> tuple[int, float]:
    if not count:
        return 1, 1
    if count in "?*+":
        return int(count == "+"), 1 if count == "?" else math.inf
    least, comma, most = count[1:-1].partition(",")
    bounds = int(least or 0), float(most or ("inf" if comma else least))
    if bounds[0] > _MOST or (bounds[1] > _MOST and bounds[1] < math.inf):
        raise _OtherFormError
    return bounds


def _runs_once(pieces: list[_One | _Group]) -> bool:
    """Whether an alternative has one run, and after it nothing that could fail."""
    bounded = bool(pieces) and pieces[0] == _One("")
    run, optional, repeated = False, 0, 0
    for piece in pieces:
        if isinstance(piece, _Group):
            optional, repeated = optional + 1, repeated + (piece.most > 1)
            if any(each.least != each.most for each in piece.inner[:-1]) or not piece.inner:
                return False
        elif not piece.characters:
            if run and not bounded:
                return False
        elif piece.is_run:
            if run or repeated:
                return False
            run = True
        elif piece.least == piece.most:
            if run or repeated:
                return False
        else:
            optional += 1
    return optional <= _OPTIONAL and repeated <= 1 and _apart(pieces)


def _apart(pieces: list[_One | _Group]) -> bool:
    """Whether every group begins with a character that no run takes."""
    groups = [piece for piece in pieces if isinstance(piece, _Group)]
    ones = [*(p for p in pieces if isinstance(p, _One)), *(p for g in groups for p in g.inner)]
    runs = [one.characters for one in ones if one.is_run]
    for group in groups:
        first = group.inner[0]
        negative = first.characters.startswith("[^") or re.search(r"\\[a-zA-Z]", first.characters)
        if first != _One(first.characters) or max(first.characters) > _EVERY[-1] or negative:
            return False
        taken = "".join(re.findall(f"(?i){first.characters}", _EVERY))
        if not taken or any(re.search(f"(?i){run}", taken) for run in runs):
            return False
    return True


# ---- options that come with a saved model -------------------------------------------------
#
# The record of a model comes from whoever wrote the file. Only options that say which terms there
# are may come from it, none that opens a file, runs code or takes any time it likes.


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
