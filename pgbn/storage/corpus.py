"""Reading documents: folders of texts, tables with a text column, and matrices of counts.

    corpus = read_corpus("reviews.csv", column="review", min_df=5, stop_words="english")
    corpus.counts, corpus.vocabulary, corpus.labels

Texts are cut into terms by scikit-learn's CountVectorizer (the extra ``pgbn[cli]``).
"""

from __future__ import annotations

import codecs
import csv
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.errors import DataError, did_you_mean
from pgbn.storage.bounded import open_text
from pgbn.storage.count_files import MATRICES, read_matrix
from pgbn.storage.memory import check_bytes, memory
from pgbn.storage.stop_words import TOKEN, stop_words_of

__all__ = ["FORMATS", "Corpus", "count_terms", "read_corpus", "text_lines"]

FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "lines",
    ".mtx": "mtx", ".npz": "npz", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".svm": "svmlight",
}  # fmt: skip
ROW = 300  # bytes that a document takes beside its text


@dataclass(frozen=True)
class Corpus:
    """Documents × terms, the names of both, and the texts if there were any.

    ``options`` are those of CountVectorizer, to read other documents in the same way.
    """

    counts: sp.csr_array
    vocabulary: list[str] | None
    labels: list[str]
    texts: list[str] | None = None
    options: dict[str, Any] = field(default_factory=dict)


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

    "folder": a document a file. "lines": a document a line. "csv", "jsonl": the texts are in
    ``column``, their names in ``label``. "mtx", "npz", "svmlight": counts, documents × terms,
    whose terms are named by the lines of the file ``terms``. ``vocabulary`` fixes the terms of
    texts to those of a model. ``options`` are for CountVectorizer: min_df, max_df, max_features,
    stop_words, token_pattern, lowercase, ngram_range; see `count_terms`.
    """
    path = Path(path)
    try:
        codecs.lookup(encoding)
    except (LookupError, TypeError, ValueError) as error:
        raise DataError(f"encoding={encoding!r}: {error}") from None
    if not _exists(path):
        raise DataError(f"{path}: no such file or folder")
    kind = _format(path, format)
    _check_options(path, kind, column, label, terms)
    try:
        if kind in MATRICES:
            counts, inside = read_matrix(path, kind)
            names = list(text_lines(Path(terms), encoding)) if terms is not None else inside
            if names is not None and len(names) != counts.shape[1]:
                raise DataError(
                    f"{terms or path}: {len(names)} names of terms, but the matrix has "
                    f"{counts.shape[1]} columns"
                )
            if names is not None and len(set(names)) < len(names):
                twice = next(name for name, n in Counter(names).items() if n > 1)
                raise DataError(f"{terms or path}: two columns are called {twice!r}; rename one")
            labels = [str(row) for row in range(counts.shape[0])]
            return Corpus(counts, names, labels)
        named = _uniquely(list(_read_texts(path, kind, column, label, encoding)))
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: not {encoding} at byte {error.start}; give the encoding, e.g. latin-1"
        ) from None
    except (LookupError, UnicodeError) as error:
        raise DataError(f"{path}: encoding={encoding!r}: {error}") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    if not named:
        raise DataError(f"{path}: no documents in it")
    return count_terms(named, vocabulary=vocabulary, **options)


def _check_options(path: Path, kind: str, column: str, label: Any, terms: Any) -> None:
    """Refuse what would be ignored: the user expects it to do something."""
    fields = kind in ("csv", "jsonl")
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
    texts: Mapping[str, str], *, vocabulary: Sequence[str] | None = None, **options: Any
) -> Corpus:
    """Count the terms of named texts with CountVectorizer.

    ``stop_words`` is a list of words, "english", whose contractions ("don't", "we'll") are left out
    too, or another language, such as "german" (the extra ``pgbn[languages]``). The default of
    ``token_pattern`` keeps "don't" in one piece.
    """
    try:
        from sklearn.feature_extraction.text import CountVectorizer
    except ImportError:
        raise DataError("texts need scikit-learn: pip install 'pgbn[cli]'") from None
    chosen = {name: value for name, value in options.items() if value is not None}
    if "ngram_range" in chosen:
        chosen["ngram_range"] = tuple(chosen["ngram_range"])
    chosen.setdefault("token_pattern", TOKEN)
    words = chosen.get("stop_words")
    if isinstance(words, str):
        words = stop_words_of(words, chosen["token_pattern"])
        if chosen["stop_words"] != "english":  # what reads other documents needs no list
            chosen["stop_words"] = words
    settings = {**chosen, **({"stop_words": words} if words is not None else {})}
    try:
        if vocabulary is not None:
            fixed = {
                k: v for k, v in settings.items() if k not in ("min_df", "max_df", "max_features")
            }
            vectorizer = CountVectorizer(vocabulary=list(vocabulary), **fixed)
            counts = vectorizer.transform(texts.values())
        else:
            vectorizer = CountVectorizer(**settings)
            counts = vectorizer.fit_transform(texts.values())
    except Exception as error:  # a bad pattern or range, or no terms left: in its own words
        named = [name for name in chosen if name in str(error)]
        shown = ", ".join(f"{name}={chosen[name]!r}" for name in named or chosen)
        few = "min_df" in chosen or "max_df" in chosen
        hint = "; of few or short texts, keep all: min_df=1, max_df=1.0" if few else ""
        raise DataError(f"no terms could be counted ({shown}): {error}{hint}") from None
    names = [str(name) for name in vectorizer.get_feature_names_out()]
    matrix = sp.csr_array(counts, dtype=np.int64)
    return Corpus(matrix, names, list(texts), list(texts.values()), chosen)


def _format(path: Path, format: str | None) -> str:
    known = sorted({*FORMATS.values(), "folder"})
    if format is not None:
        if format not in known:
            raise DataError(f"format={format!r} is not known.{did_you_mean(format, known)}")
        return format
    if path.is_dir():
        return "folder"
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if not suffixes or suffixes[-1] not in FORMATS:
        raise DataError(f"{path}: unknown kind of file; name its format: {', '.join(known)}")
    return FORMATS[suffixes[-1]]


# ---- texts ----------------------------------------------------------------------------


def _read_texts(
    path: Path, kind: str, column: str, label: str | None, encoding: str
) -> Iterator[tuple[str, str]]:
    if path.is_dir() and kind != "folder":
        raise DataError(f"{path}: a folder, but format={kind!r} needs a file")
    rows: Iterator[tuple[str, str]]
    if kind == "folder":
        rows = _read_folder(path, encoding)
    elif kind == "lines":
        rows = ((str(n), line) for n, line in enumerate(text_lines(path, encoding), 1))
    elif kind == "csv":
        rows = _read_table(path, column, label, encoding)
    else:
        rows = _read_json(path, column, label, encoding)
    need = 0
    for name, text in rows:
        need += 4 * len(text) + ROW
        if need > memory():
            check_bytes(f"{path}: its documents", need, "give a part of them")
        yield name, text


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


def _read_folder(path: Path, encoding: str) -> Iterator[tuple[str, str]]:
    files = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
    texts = [p for p in files if p.suffix.lower() in (".txt", ".md", ".rst", ".text")] or files
    for file in texts:
        try:
            with open_text(file, _marked(encoding)) as opened:
                yield str(file.relative_to(path)), opened.read()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{file}: not {encoding} at byte {error.start}; give the encoding, e.g. latin-1"
            ) from None


def text_lines(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """The lines of a file that are not empty."""
    with open_text(path, _marked(encoding), newline="\n") as file:
        for line in file:
            if line.strip():
                yield line.rstrip("\r\n")


def _marked(encoding: str) -> str:
    """UTF-8 with or without a byte order mark."""
    return "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding


def _read_table(
    path: Path, column: str, label: str | None, encoding: str
) -> Iterator[tuple[str, str]]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    tabs = ".tsv" in [suffix.lower() for suffix in path.suffixes]
    with open_text(path, _marked(encoding)) as file:
        reader = csv.DictReader(file, delimiter="\t" if tabs else ",")
        known = [name for name in reader.fieldnames or [] if name]
        for wanted in (column, label):
            if wanted is not None and wanted not in known:
                raise DataError(f"{path}: no column {wanted!r}.{did_you_mean(wanted, known)}")
        for number, row in enumerate(reader, 1):
            yield str(row[label] if label else number), row[column] or ""


def _read_json(
    path: Path, column: str, label: str | None, encoding: str
) -> Iterator[tuple[str, str]]:
    with open_text(path, _marked(encoding)) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(f"{path}: line {number} is not JSON ({error})") from None
            if isinstance(row, dict) and column in row and not isinstance(row[column], str):
                kind = type(row[column]).__name__
                raise DataError(f"{path}: line {number} has no text {column!r}, but a {kind}")
            if not isinstance(row, dict) or column not in row:
                known = row if isinstance(row, dict) else ()
                raise DataError(
                    f"{path}: line {number} has no text {column!r}.{did_you_mean(column, known)}"
                )
            yield str(row.get(label, number)) if label else str(number), row[column]
