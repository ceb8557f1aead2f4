"""Where the documents of a corpus come from, a batch at a time, from any document on.

    source = source_of("reviews.jsonl", FileReading(column="review"))
    for batch in source.batches(skip=10_000):
        batch.names, batch.texts or batch.counts

Files, several files one after another, matrices of counts, and whatever Python code gives: texts,
lists of texts, matrices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.checks import check_path, first_difference, in_order, labels_of_columns
from pgbn.errors import DataError
from pgbn.storage.archive import is_archive
from pgbn.storage.corpus import check_reading, column_names, file_format
from pgbn.storage.count_files import MATRICES, MarketRows, as_counts, read_matrix
from pgbn.storage.read_limits import check_source
from pgbn.storage.texts import check_encoding, read_texts, readable

DOCUMENTS = ("doc", "term")  # what the dims of a matrix are called, where they have names
# Of a batch, at most: documents, characters of texts (one longer text is a batch), cells of counts.
ROWS, CHARACTERS, CELLS = 2**16, 2**24, 2**20


@dataclass(frozen=True)
class FileReading:
    """How files are read: the arguments of `pgbn.corpus.read_corpus`."""

    format: str | None = None
    column: str = "text"
    label: str | None = None
    encoding: str = "utf-8"
    terms: str | None = None


@dataclass(frozen=True)
class Batch:
    """Some documents: their names, and either their texts or their counts."""

    names: list[str]
    texts: list[str] | None = None
    counts: Any = None


class DocumentSource(ABC):
    """Documents that can be read again from the beginning. ``terms`` are the names of the columns
    of counts, if they are known; ``called`` is how an error names the source."""

    called = "source"
    terms: list[str] | None = None
    columns: int | None = None
    repeats = True  # whether it can be read twice

    @abstractmethod
    def description(self) -> Any:
        """JSON that tells one source from another."""

    @abstractmethod
    def documents(self, skip: int) -> Iterator[Batch]:
        """The documents after the first ``skip``, in batches of any size."""

    @contextmanager
    def prepared(self, folder: Path) -> Iterator[None]:
        """What must be done before it is read; ``folder`` is for files that it needs meanwhile."""
        yield

    def batches(self, skip: int = 0) -> Iterator[Batch]:
        """The documents after the first ``skip``, in batches that fit into memory."""
        names: list[str] = []
        texts: list[str] = []
        length = 0
        for batch in self.documents(skip):
            if batch.texts is None:
                yield batch
                continue
            for name, text in zip(batch.names, batch.texts, strict=True):
                if texts and (len(texts) == ROWS or length + len(text) > CHARACTERS):
                    yield Batch(names, texts)
                    names, texts, length = [], [], 0
                names.append(name)
                texts.append(text)
                length += len(text)
        if texts:
            yield Batch(names, texts)


class _TextFiles(DocumentSource):
    """Texts in files or a folder."""

    def __init__(self, paths: Sequence[Path], reading: FileReading) -> None:
        self.paths, self.reading = paths, reading
        self.kinds = [_kind(path, reading) for path in paths]
        self.called = f"{paths[0]}{', …' if len(paths) > 1 else ''}"

    def description(self) -> Any:
        return [_stamp(path) for path in self.paths]

    def documents(self, skip: int) -> Iterator[Batch]:
        several, how = len(self.paths) > 1, self.reading
        for path, kind in zip(self.paths, self.kinds, strict=True):
            with readable(path, how.encoding):
                for name, text in read_texts(
                    path, kind, how.column, how.label, how.encoding, kept=False
                ):
                    skip -= 1
                    if skip < 0:
                        yield Batch([f"{path.name}:{name}" if several else name], [text])


class _MatrixFile(DocumentSource):
    """Counts in a file that is read at once (.npz, svmlight)."""

    def __init__(self, path: Path, kind: str, reading: FileReading) -> None:
        self.path, self.called = path, str(path)
        with readable(path, reading.encoding):
            self.counts, inside = read_matrix(path, kind)
        self.columns = self.counts.shape[1]
        self.terms = column_names(path, self.columns, reading.terms, reading.encoding, inside)

    def description(self) -> Any:
        return [_stamp(self.path)]

    def documents(self, skip: int) -> Iterator[Batch]:
        yield from _by_rows(self.counts, skip, 0)


class _MarketFile(DocumentSource):
    """Counts in a Matrix Market file, sorted into blocks of rows on the disk first."""

    def __init__(self, path: Path, reading: FileReading) -> None:
        self.path, self.called, self.market = path, str(path), MarketRows(path)
        self.columns = self.market.shape[1]
        self.terms = column_names(path, self.columns, reading.terms, reading.encoding)

    def description(self) -> Any:
        return [_stamp(self.path)]

    @contextmanager
    def prepared(self, folder: Path) -> Iterator[None]:
        with self.market.sorted_in(folder):
            yield

    def documents(self, skip: int) -> Iterator[Batch]:
        for first, rows in self.market.blocks(skip):
            yield from _by_rows(rows, max(skip - first, 0), first)


class _Given(DocumentSource):
    """Texts, lists of texts or matrices from Python code: a function that gives an iterable, or an
    iterable. An iterator can be read only once. Named dims (of xarray) go by their names, doc and
    term; names of columns must be those of the ``vocabulary``, or of the first matrix, in the same
    order."""

    def __init__(
        self, given: Callable[[], Iterable[Any]] | Iterable[Any], vocabulary: Sequence[str] | None
    ) -> None:
        self.given, self.repeats = given, not isinstance(given, Iterator)
        self.vocabulary = vocabulary

    def description(self) -> Any:
        return "given"  # what Python code gives cannot be compared

    def documents(self, skip: int) -> Iterator[Batch]:
        done = 0
        given = self.given() if callable(self.given) else self.given
        if not isinstance(given, Iterable):
            raise DataError(f"source: {given!r:.60} is no iterable of texts or of matrices")
        for item in given:
            if isinstance(item, str) or _is_texts(item):
                texts = [item] if isinstance(item, str) else list(item)
                new = texts[max(skip - done, 0) :]
                first = done + len(texts) - len(new)
                yield Batch([str(first + n) for n in range(len(new))], new)
                done += len(texts)
            else:
                what = f"the batch from document {done} on"
                self._check_columns(what, item)
                rows = as_counts(what, in_order(what, DOCUMENTS, item))
                yield from _by_rows(rows, max(skip - done, 0), done)
                done += rows.shape[0]

    def _check_columns(self, what: str, item: Any) -> None:
        names = labels_of_columns(item)
        if names is None:
            return
        self.vocabulary = names if self.vocabulary is None else self.vocabulary
        if names != list(self.vocabulary):
            raise DataError(
                f"{what}: its columns are not those of the others, or of the vocabulary: "
                f"{first_difference(names, self.vocabulary)}; bring them into one order"
            )


def _is_texts(item: Any) -> bool:
    return isinstance(item, list | tuple) and all(isinstance(each, str) for each in item)


def _is_matrix(source: Any) -> bool:
    """Whether it is one matrix, and no iterable of them: arrays, sparse or with names too."""
    if sp.issparse(source) or isinstance(source, np.ndarray) or hasattr(source, "data_vars"):
        return True
    return len(getattr(source, "shape", ())) > 1


def _by_rows(counts: sp.csr_array, skip: int, first: int) -> Iterator[Batch]:
    """The rows of a matrix from ``skip`` on, some at a time; its row 0 is document ``first``."""
    rows, at = counts.shape[0], skip
    while at < rows:
        stop = int(np.searchsorted(counts.indptr, counts.indptr[at] + CELLS, side="right")) - 1
        stop = min(max(stop, at + 1), rows, at + ROWS)
        names = [str(first + row) for row in range(at, stop)]
        yield Batch(names, counts=sp.csr_array(counts[at:stop]))
        at = stop


def _kind(path: Path, reading: FileReading) -> str:
    with readable(path, reading.encoding):
        if not path.exists():
            raise DataError(f"{path}: no such file or folder")
        check_source(path, once=False)
        if reading.format is None and is_archive(path):
            raise DataError(
                f"{path}: a folder that pgbn wrote, not documents; pgbn info says what it is"
            )
        kind = file_format(path, reading.format)
    check_reading(path, kind, reading.column, reading.label, reading.terms)
    return kind


def _stamp(path: Path) -> list[Any]:
    """What changes when a file does."""
    with readable(path):
        found = path.stat()
    return [path.name, *([] if path.is_dir() else [found.st_size, found.st_mtime_ns])]


def source_of(
    source: Any, reading: FileReading, vocabulary: Sequence[str] | None = None
) -> DocumentSource:
    """The source that an argument stands for: a path, a list of paths, a matrix, an iterable, or a
    function that gives an iterable; ``vocabulary`` is what names of columns must be."""
    check_encoding(reading.encoding)
    if isinstance(source, str | Path):
        path = check_path("source", source)
        kind = _kind(path, reading)
        if kind not in MATRICES:
            return _TextFiles([path], reading)
        return _MarketFile(path, reading) if kind == "mtx" else _MatrixFile(path, kind, reading)
    paths = list(source) if isinstance(source, list | tuple) else []
    if paths and all(isinstance(path, Path) for path in paths):
        found = _TextFiles(paths, reading)
        if set(found.kinds) & set(MATRICES):
            raise DataError(f"{paths[0]}, …: one matrix at a time, or texts in several files")
        return found
    if reading != FileReading(encoding=reading.encoding):
        raise DataError("format, column, label, terms: only for files; leave them out")
    if _is_matrix(source):
        return _Given([source], vocabulary)
    if callable(source) or isinstance(source, Iterable):
        return _Given(source, vocabulary)
    raise DataError(
        f"source={source!r:.60}: give a path, a list of pathlib.Path, a matrix, an iterable of "
        "texts or matrices, or a function that returns such an iterable"
    )
