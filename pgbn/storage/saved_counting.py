"""How the terms of texts were counted, as a saved model says it: checked before it is used.

The record of a model comes from whoever wrote the file. Only options that say which terms there
are may come from it, none that opens a file, runs code or takes any time it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pgbn.checks import is_finite_number, is_integral
from pgbn.errors import DataError, did_you_mean
from pgbn.storage.stop_words import is_language
from pgbn.storage.token_patterns import is_quick

__all__ = ["saved_counting"]

_PHRASES = 20  # words of the longest phrases


def _is_number(value: Any) -> bool:
    return value is None or is_finite_number(value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _are_stop_words(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(word, str) for word in value)
    return value is None or (isinstance(value, str) and is_language(value))


def _is_range(value: Any) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    return all(is_integral(n) for n in value) and 1 <= value[0] <= value[1] <= _PHRASES


_OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "min_df": (_is_number, "a number"),
    "max_df": (_is_number, "a number"),
    "max_features": (_is_number, "a number"),
    "stop_words": (_are_stop_words, "a list of words, or a language"),
    "token_pattern": (
        lambda value: value is None or is_quick(value),
        "a pattern that takes linear time for any text (one run of characters, and nothing after "
        "it that could fail)",
    ),
    "ngram_range": (_is_range, f"two numbers from 1 to {_PHRASES}"),
    "lowercase": (_is_flag, "true or false"),
    "binary": (_is_flag, "true or false"),
    "analyzer": (lambda value: value in ("word", "char", "char_wb"), "word, char or char_wb"),
    "strip_accents": (lambda value: value in (None, "ascii", "unicode"), "ascii or unicode"),
}


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
