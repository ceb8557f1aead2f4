"""Reading documents: folders of texts, tables with a text column, and matrices of counts.

    corpus = read_corpus("reviews.csv", column="review", min_df=5, stop_words="english")
    corpus.counts, corpus.vocabulary, corpus.labels

Texts are cut into terms by scikit-learn's CountVectorizer (the extra ``pgbn[cli]``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.checks import check_choice, check_path, listed
from pgbn.errors import DataError
from pgbn.storage.archive import is_archive
from pgbn.storage.blocks import Corpus
from pgbn.storage.count_files import MATRICES, read_matrix
from pgbn.storage.read_limits import check_bytes, check_source, memory
from pgbn.storage.stop_words import TOKEN, with_stop_words
from pgbn.storage.texts import TABLES, check_encoding, read_texts, readable, text_lines

FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "lines",
    ".mtx": "mtx", ".npz": "npz", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".svm": "svmlight", ".parquet": "parquet",
}  # fmt: skip
ROW = 300  # bytes that a document takes beside its text
NUMBERED = 120  # bytes that a row of a matrix takes, with its number as a name, beside its counts


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
    """The corpus in a file or folder; the format follows from its name unless it is given.

    "folder": every file is a document. "lines": every line is. "csv", "jsonl", "parquet": the texts
    are in ``column``, their names in ``label``. "mtx", "npz", "svmlight": counts, documents ×
    terms, whose terms are named by the lines of the file ``terms``. What `Corpus.build` wrote is
    opened as it is. ``vocabulary`` fixes the terms of texts to those of a model. ``options`` are
    for CountVectorizer: min_df, max_df, max_features, stop_words, token_pattern, lowercase,
    ngram_range; see `count_terms`.
    """
    path = check_path("path", path)
    check_encoding(encoding)
    if not _exists(path):
        raise DataError(f"{path}: no such file or folder")
    with readable(path, encoding):
        saved = format is None and is_archive(path)
    if saved:
        return Corpus.open(path)
    kind = file_format(path, format)
    check_reading(path, kind, column, label, terms)
    with readable(path, encoding):
        check_source(path, once=kind not in MATRICES and kind != "parquet")
        if kind in MATRICES:
            counts, inside = read_matrix(path, kind)
            need = NUMBERED * counts.shape[0]
            check_bytes(f"{path}: its {counts.shape[0]} rows", need, "give a part, or Corpus.build")
            names = column_names(path, counts.shape[1], terms, encoding, inside)
            return Corpus(counts, names, [str(row) for row in range(counts.shape[0])])
        named = _uniquely(list(_all_texts(path, kind, column, label, encoding)))
    if not named:
        raise DataError(f"{path}: no documents in it")
    return count_terms(named, vocabulary=vocabulary, **options)


def column_names(
    path: Path, columns: int, terms: Any, encoding: str, inside: list[str] | None = None
) -> list[str] | None:
    """The names of the columns of a matrix: the lines of a file, or those that are ``inside``."""
    names = inside
    if terms is not None:
        named = check_path("terms", terms)
        with readable(named, encoding):
            check_source(named)
            names = list(text_lines(named, encoding))
    if names is not None and len(names) != columns:
        raise DataError(
            f"{terms or path}: {len(names)} names of terms, but the matrix has {columns} columns"
        )
    check_distinct(terms or path, names or ())
    return names


def check_distinct(where: object, names: Sequence[str]) -> None:
    """Refuse a name that comes twice."""
    if len(set(names)) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise DataError(f"{where}: two columns are called {twice!r}; rename one")


def check_reading(path: Path, kind: str, column: str, label: Any, terms: Any) -> None:
    """Refuse what would be ignored: the user expects it to do something."""
    fields = kind in TABLES
    for argument, name in (("column", column), ("label", label)):
        if not isinstance(name, str) and (argument == "column" or name is not None):
            raise DataError(f"{argument}={name!r:.60}: give the name of a column")
    if label is not None and not fields:
        raise DataError(f"label={label!r}: {path} ({kind}) has no columns; leave it out")
    if column != "text" and not fields:
        raise DataError(f"column={column!r}: {path} ({kind}) has no columns; leave it out")
    if terms is not None and kind not in MATRICES:
        raise DataError(f"terms={str(terms)!r}: {path} ({kind}) has texts, which give the terms")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # what no file can be called
        return False


def count_terms(
    texts: Mapping[str, str] | Iterable[str],
    *,
    vocabulary: Sequence[str] | None = None,
    **options: Any,
) -> Corpus:
    """Count the terms of texts with CountVectorizer. A mapping names the documents; those of a list
    are called by their numbers.

    ``stop_words`` is a list of words, "english", whose contractions ("don't", "we'll") are left out
    too, or another language, such as "german" (the extra ``pgbn[languages]``). The default of
    ``token_pattern`` keeps "don't" in one piece.
    """
    try:
        from sklearn.feature_extraction.text import CountVectorizer
    except ImportError:
        raise DataError("texts need scikit-learn: pip install 'pgbn[cli]'") from None
    named = _named(texts)
    chosen = {name: value for name, value in options.items() if value is not None}
    if "ngram_range" in chosen:
        chosen["ngram_range"] = tuple(
            listed("ngram_range", chosen["ngram_range"], "give two numbers, such as (1, 2)")
        )
    chosen.setdefault("token_pattern", TOKEN)
    settings = with_stop_words(chosen)
    language = chosen.get("stop_words")
    if not isinstance(language, str) or language != "english":
        chosen = settings  # what reads other documents needs no package
    try:
        if vocabulary is not None:
            fixed = {
                k: v for k, v in settings.items() if k not in ("min_df", "max_df", "max_features")
            }
            vectorizer = CountVectorizer(vocabulary=list(vocabulary), **fixed)
            counts = vectorizer.transform(named.values())
        else:
            vectorizer = CountVectorizer(**settings)
            counts = vectorizer.fit_transform(named.values())
    except Exception as error:  # a bad pattern or range, or no terms left: in its own words
        meant = [name for name in chosen if name in str(error)]
        shown = ", ".join(f"{name}={chosen[name]!r}" for name in meant or chosen)
        few = "min_df" in chosen or "max_df" in chosen
        hint = "; with few or short texts, keep all: --min-df 1 --max-df 1.0 (min_df=1, max_df=1.0)"
        hint = hint if few else ""
        raise DataError(f"no terms could be counted ({shown}): {error}{hint}") from None
    names = [str(name) for name in vectorizer.get_feature_names_out()]
    matrix = sp.csr_array(counts, dtype=np.int64)
    return Corpus(matrix, names, list(named), list(named.values()), chosen)


def _named(texts: Mapping[str, str] | Iterable[str]) -> Mapping[str, str]:
    """Texts by name, every one of them a string."""
    if isinstance(texts, str):
        raise DataError(f"texts={texts[:40]!r} is one text; give a list of texts")
    if isinstance(texts, Mapping):
        named = texts
    else:
        every = listed("texts", texts, "give a list of texts")
        named = {str(n): text for n, text in enumerate(every)}
    for name, text in named.items():
        if not isinstance(text, str):
            raise DataError(f"texts: document {name!r} is {text!r}, which is not a string")
    return named


def file_format(path: Path, format: str | None) -> str:
    """What kind of file or folder it is, by its name unless it is given."""
    known = sorted({*FORMATS.values(), "folder"})
    if format is not None:
        return check_choice("format", format, known)
    if path.is_dir():
        return "folder"
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if not suffixes or suffixes[-1] not in FORMATS:
        raise DataError(f"{path}: unknown kind of file; name its format: {', '.join(known)}")
    return FORMATS[suffixes[-1]]


def _uniquely(rows: list[tuple[str, str]]) -> dict[str, str]:
    """Texts by name; the second "ann" becomes "ann (2)", or, where that is the name of another
    document, the next number that is free."""
    taken, last = {name for name, _ in rows}, dict.fromkeys((name for name, _ in rows), 1)
    named: dict[str, str] = {}
    for name, text in rows:
        own = name
        while own in named or (own != name and own in taken):
            last[name] += 1
            own = f"{name} ({last[name]})"
        named[own] = text
    return named


def _all_texts(
    path: Path, kind: str, column: str, label: str | None, encoding: str
) -> Iterator[tuple[str, str]]:
    """Texts that will all be in memory."""
    need = 0
    for name, text in read_texts(path, kind, column, label, encoding):
        need += 4 * len(text) + ROW
        if need > memory():
            check_bytes(f"{path}: its documents", need, "give a part of them, or Corpus.build")
        yield name, text
