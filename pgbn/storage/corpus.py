"""Reading documents: folders of texts, tables with a text column, and matrices of counts.

    corpus = read_corpus("reviews.csv", column="review", min_df=5, stop_words="english")
    corpus.counts, corpus.vocabulary, corpus.labels

Texts are cut into terms by scikit-learn's CountVectorizer (the extra ``pgbn[cli]``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.checks import check_path, listed
from pgbn.errors import DataError
from pgbn.storage.archive import is_archive
from pgbn.storage.blocks import Corpus
from pgbn.storage.count_files import MATRICES
from pgbn.storage.read_limits import check_bytes, within_memory
from pgbn.storage.sources import FileReading, kind_of, read_counts
from pgbn.storage.stop_words import TOKEN, as_nfc, with_stop_words
from pgbn.storage.texts import read_texts, readable

LIMITS = ("min_df", "max_df", "max_features")  # which terms are kept
ROW = 300  # bytes that a document takes in memory, without its text
NUMBERED = 120  # bytes that a row of a matrix takes, with its number as a name, without its counts


def read_corpus(
    path: str | Path,
    *,
    format: str | None = None,
    column: str = "text",
    label: str | None = None,
    encoding: str = "utf-8",
    terms: str | Path | None = None,
    vocabulary: Sequence[str] | None = None,
    **options: Any,
) -> Corpus:
    """The corpus in a file or folder; the format is inferred from its name by default.

    "folder": every file is a document. "lines": every line is. "csv", "jsonl", "parquet": the texts
    are in ``column``, their names in ``label``. "mtx", "npz", "svmlight": counts, documents ×
    terms, whose terms are named by the lines of the file ``terms``. A folder that `Corpus.build`
    wrote is opened directly. ``vocabulary`` fixes the terms of texts to those of a model.
    ``options`` are for CountVectorizer: min_df, max_df, max_features, stop_words, token_pattern,
    lowercase, ngram_range; see `count_terms`.
    """
    path, reading = check_path("path", path), FileReading(format, column, label, encoding, terms)
    with readable(path):
        saved = format is None and is_archive(path)
    if saved:
        return Corpus.open(path)
    kind = kind_of(path, reading, once=True)
    if kind in MATRICES:
        counts, names = read_counts(path, kind, reading)
        rows = counts.shape[0]
        check_bytes(f"{path}: its {rows} rows", NUMBERED * rows, "give a part, or Corpus.build")
        return Corpus(counts, names, [str(row) for row in range(rows)])
    with readable(path, encoding):
        texts = within_memory(
            f"{path}: its documents", read_texts(path, kind, column, label, encoding),
            lambda row: 4 * len(row[1]) + ROW, "give a part of them, or Corpus.build",
        )  # fmt: skip
        named = _uniquely(list(texts))
    if not named:
        raise DataError(f"{path}: no documents in it")
    return count_terms(named, vocabulary=vocabulary, **options)


def _uniquely(rows: list[tuple[str, str]]) -> dict[str, str]:
    """Texts by name; the second "ann" becomes "ann (2)", or gets the next free number if another
    document has that name."""
    taken, last = {name for name, _ in rows}, dict.fromkeys((name for name, _ in rows), 1)
    named: dict[str, str] = {}
    for name, text in rows:
        own = name
        while own in named or (own != name and own in taken):
            last[name] += 1
            own = f"{name} ({last[name]})"
        named[own] = text
    return named


def count_terms(
    texts: Mapping[str, str] | Iterable[str],
    *,
    vocabulary: Sequence[str] | None = None,
    **options: Any,
) -> Corpus:
    """Count the terms of texts with CountVectorizer. A mapping names the documents; the names of a
    list are its numbers. Texts are first converted to the Unicode form NFC, so that "é" is always
    one character.

    ``stop_words`` is a list of words, "english", which also removes contractions ("don't",
    "we'll"), or another language, such as "german" (the extra ``pgbn[languages]``). The default of
    ``token_pattern`` keeps "don't" as one term.
    """
    named = _named(texts)
    chosen = counting_options(options)
    with counting(chosen):
        vectorizer = make_vectorizer(chosen, vocabulary)
        count = vectorizer.fit_transform if vocabulary is None else vectorizer.transform
        matrix = sp.csr_array(count(named.values()), dtype=np.int64)
    names = vectorizer.get_feature_names_out() if vocabulary is None else vocabulary
    language = chosen.get("stop_words")
    if not isinstance(language, str) or language != "english":
        chosen = with_stop_words(chosen)  # reading other documents needs no package
    labels, every = list(named), list(named.values())
    return Corpus(matrix, [str(name) for name in names], labels, every, chosen)


def _named(texts: Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    """Texts by name, every one of them a string in NFC."""
    if isinstance(texts, str):
        raise DataError(f"texts={texts[:40]!r} is one text; give a list of texts")
    if not isinstance(texts, Mapping):
        every = listed("texts", texts, "give a list of texts")
        texts = {str(n): text for n, text in enumerate(every)}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise DataError(f"texts: document {name!r} is {text!r}, which is not a string")
    return {name: as_nfc(text) for name, text in texts.items()}


# ---- scikit-learn's CountVectorizer -------------------------------------------------------


def counting_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options that are given, and the token pattern."""
    chosen = {name: value for name, value in options.items() if value is not None}
    if "ngram_range" in chosen:
        remedy = "give two numbers, such as (1, 2)"
        chosen["ngram_range"] = tuple(listed("ngram_range", chosen["ngram_range"], remedy))
    return {"token_pattern": TOKEN, **chosen}


def make_vectorizer(options: Mapping[str, Any], vocabulary: Sequence[str] | None = None) -> Any:
    """The CountVectorizer that cuts texts into terms and counts them: all terms within the limits
    of ``options``, or those of a ``vocabulary``."""
    try:
        from sklearn.feature_extraction.text import CountVectorizer
    except ImportError:
        raise DataError("texts need scikit-learn: pip install 'pgbn[cli]'") from None
    settings = with_stop_words(options)
    if vocabulary is not None:
        settings = {name: value for name, value in settings.items() if name not in LIMITS}
        settings["vocabulary"] = _in_texts(list(vocabulary))
    return CountVectorizer(**settings)


def _in_texts(vocabulary: list[str]) -> list[str]:
    """The terms of a vocabulary in the form NFC, as texts have them. A term in another form, from
    elsewhere or an earlier version, keeps it only if its NFC form is a term too."""
    known, found = set(vocabulary), []
    for term in vocabulary:
        form = as_nfc(term)
        found.append(term if form in known else form)
        known.add(form)
    return found


@contextmanager
def counting(options: Mapping[str, Any]) -> Iterator[None]:
    """Report a bad pattern or range, an unknown option, or no remaining terms, in scikit-learn's
    words."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        meant = [name for name in options if name in str(error)]
        shown = ", ".join(f"{name}={options[name]!r}" for name in meant or options)
        hint = "; with few or short texts, keep all: --min-df 1 --max-df 1.0 (min_df=1, max_df=1.0)"
        hint = hint if "min_df" in options or "max_df" in options else ""
        raise DataError(f"no terms could be counted ({shown}): {error}{hint}") from None
