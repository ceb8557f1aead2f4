"""Which terms a corpus has, counted in bounded memory: the first of two passes over texts.

A term is kept if min_df ≤ df ≤ max_df, where df is the number of documents that have it, and, with
``max_features``, if it is among so many of the largest total count: as scikit-learn's
CountVectorizer does it. Counts that grow too many are written down, sorted by term, and all that
was written is merged at the end.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np

from pgbn.checks import is_integral
from pgbn.errors import DataError, StorageError
from pgbn.storage.codecs import Group
from pgbn.storage.names import name_arrays, read_names
from pgbn.storage.stop_words import TOKEN, with_stop_words

__all__ = ["LIMITS", "Row", "TermCounts", "chosen_terms", "make_vectorizer", "read_run"]

LIMITS = ("min_df", "max_df", "max_features")
MOST_TERMS = 2**20  # that are counted in memory, about
PART = 2**15  # terms of a file

Row = tuple[str, int, int]  # a term, its documents, its total count


def make_vectorizer(options: Mapping[str, Any], vocabulary: Sequence[str] | None = None) -> Any:
    """scikit-learn's CountVectorizer, which cuts texts into terms; limits are not for it."""
    try:
        from sklearn.feature_extraction.text import CountVectorizer
    except ImportError:
        raise DataError("texts need scikit-learn: pip install 'pgbn[cli]'") from None
    chosen = {name: value for name, value in options.items() if name not in LIMITS}
    if "ngram_range" in chosen:
        chosen["ngram_range"] = tuple(chosen["ngram_range"])
    chosen.setdefault("token_pattern", TOKEN)
    names = None if vocabulary is None else list(vocabulary)
    try:
        made = CountVectorizer(vocabulary=names, **with_stop_words(chosen))
        made.build_analyzer()("a sample")
        return made
    except Exception as error:  # an unknown option, a bad pattern: in its own words
        shown = ", ".join(f"{name}={value!r}" for name, value in chosen.items())
        raise DataError(f"no terms could be counted ({shown}): {error}") from None


class TermCounts:
    """The documents and the total count of each term since they were last taken."""

    def __init__(self, analyze: Callable[[str], list[str]]) -> None:
        self.analyze = analyze
        self.documents: Counter[str] = Counter()
        self.total: Counter[str] = Counter()

    def add(self, texts: Iterable[str]) -> None:
        for text in texts:
            terms = self.analyze(text)
            self.total.update(terms)
            self.documents.update(set(terms))

    @property
    def is_full(self) -> bool:
        return len(self.documents) >= MOST_TERMS

    def take(self) -> list[Group]:
        """The counts, sorted by term, as arrays of files of some terms each, so that many runs can
        be merged; afterwards there are none."""
        terms = sorted(self.documents)
        parts = [terms[at : at + PART] for at in range(0, len(terms), PART)]
        found = [
            {
                **name_arrays(part),
                "documents": np.array([self.documents[term] for term in part], np.int64),
                "total": np.array([self.total[term] for term in part], np.int64),
            }
            for part in parts
        ]
        self.documents, self.total = Counter(), Counter()
        return found


def chosen_terms(
    runs: Iterable[Iterable[list[Row]]], rows: int, options: Mapping[str, Any]
) -> list[str]:
    """The terms that are kept, in order, of runs of counts over ``rows`` documents in all; the
    parts of a run are read when they are needed."""
    least = _number_of("min_df", options.get("min_df", 1), rows)
    most = _number_of("max_df", options.get("max_df", 1.0), rows)
    limit = options.get("max_features")
    if limit is not None and (not is_integral(limit) or limit < 1):
        raise DataError(f"max_features={limit!r}: give a whole number from 1 on")
    kept: Iterator[Row] = (row for row in _merged(runs) if least <= row[1] <= most)
    if limit is not None:
        kept = iter(heapq.nlargest(int(limit), kept, key=lambda row: row[2]))
    names = sorted(row[0] for row in kept)
    if not names:
        shown = ", ".join(f"{name}={options[name]!r}" for name in LIMITS if name in options)
        raise DataError(f"no terms remain of {rows} documents ({shown or 'all are empty'})")
    return names


def _number_of(name: str, value: Any, rows: int) -> float:
    """A number of documents, given as one (an int) or as a part of them (a float)."""
    part = isinstance(value, float | np.floating)  # 1.0 is all of them, 1 is one
    if is_integral(value) and not part and value >= 0:
        return int(value)
    if part and 0 <= value <= 1:
        return float(value) * rows
    raise DataError(
        f"{name}={value!r}: give a number of documents, or a part of them from 0.0 to 1.0"
    )


def _merged(runs: Iterable[Iterable[list[Row]]]) -> Iterator[Row]:
    """All terms in order, each once."""
    rows = heapq.merge(*(chain.from_iterable(run) for run in runs))
    for term, same in groupby(rows, key=lambda row: row[0]):
        documents = total = 0
        for row in same:
            documents, total = documents + row[1], total + row[2]
        yield term, documents, total


def read_run(part: Group) -> list[Row]:
    """The rows of a part that `TermCounts.take` gave, checked."""
    names, counts = read_names(part["text"], part["ends"]), (part["documents"], part["total"])
    if any(each.shape != (len(names),) or each.dtype.kind not in "iu" for each in counts):
        raise StorageError("damaged: not the counts of terms")
    return list(zip(names, *(each.tolist() for each in counts), strict=True))
