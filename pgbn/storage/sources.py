"""The documents of a corpus from any source, a batch at a time, starting at any document.

    source = source_of("reviews.jsonl", FileReading(column="review"))
    for batch in source.batches(skip=10_000):
        batch.names, batch.texts or batch.counts

Sources are files, several files in order, matrices of counts, and Python iterables of texts, lists
of texts or matrices.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.checks import check_choice, check_path, first_difference, in_order, labels_of_columns
from pgbn.errors import DataError
from pgbn.storage.archive import is_archive
from pgbn.storage.count_files import (
    GENERAL,
    MATRICES,
    Entries,
    as_counts,
    market_entries,
    open_market,
    read_matrix,
)
from pgbn.storage.read_limits import check_source
from pgbn.storage.sparse import check_shape
from pgbn.storage.terms import as_nfc
from pgbn.storage.texts import TABLES, read_texts, readable, text_lines

FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "lines",
    ".mtx": "mtx", ".npz": "npz", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".svm": "svmlight", ".parquet": "parquet",
}  # fmt: skip
DOCUMENTS = ("doc", "term")  # the names of the dims of a matrix, if it has any
# Limits of a batch: documents, characters of texts (one longer text is a batch), cells of counts.
ROWS, CHARACTERS, CELLS = 2**16, 2**24, 2**20
SORTED = ".rows-"  # begins the name of a folder of entries that are being sorted
ENTRIES = 2**22  # of a range of rows that is sorted, approximately
_CELL = np.dtype([("row", np.int64), ("column", np.int64), ("value", np.float64)])


@dataclass(frozen=True)
class FileReading:
    """How files are read: the arguments of `pgbn.Corpus.read`."""

    format: str | None = None
    text_column: str = "text"
    name_column: str | None = None
    encoding: str = "utf-8"
    terms: str | Path | None = None


def file_format(path: Path, format: str | None) -> str:
    """The kind of a file or folder, by its name unless it is given."""
    known = sorted({*FORMATS.values(), "folder"})
    if format is not None:
        return check_choice("format", format, known)
    if path.is_dir():
        return "folder"
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if not suffixes or suffixes[-1] not in FORMATS:
        raise DataError(f"{path}: unknown kind of file; name its format: {', '.join(known)}")
    return FORMATS[suffixes[-1]]


def kind_of(path: Path, reading: FileReading, once: bool = False) -> str:
    """The format of documents, after a check that they can be read. Texts that are read only
    ``once`` may come from a pipe."""
    try:
        codecs.lookup(reading.encoding)
    except (LookupError, TypeError, ValueError) as error:
        raise DataError(f"encoding={reading.encoding!r:.60}: {error}") from None
    with readable(path, reading.encoding):
        if not path.exists():
            raise DataError(f"{path}: no such file or folder")
        if reading.format is None and is_archive(path):
            raise DataError(
                f"{path}: a folder that pgbn wrote, not documents; pgbn info says what it is"
            )
        kind = file_format(path, reading.format)
        check_source(path, once=once and kind not in (*MATRICES, "parquet"))
    for argument in ("text_column", "name_column"):  # arguments without an effect are rejected
        name, default = getattr(reading, argument), getattr(FileReading, argument)
        if not isinstance(name, str) and name is not default:
            raise DataError(f"{argument}={name!r:.60}: give the name of a column")
        if name != default and kind not in TABLES:
            raise DataError(f"{argument}={name!r}: {path} ({kind}) has no columns; omit it")
    if reading.terms is not None and kind not in MATRICES:
        raise DataError(
            f"terms={str(reading.terms)!r}: {path} ({kind}) has texts, which give the terms"
        )
    return kind


def check_distinct(where: object, names: Sequence[str]) -> None:
    """Reject a name that occurs twice."""
    if len(set(names)) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise DataError(f"{where}: two columns are called {twice!r}; rename one")


@dataclass(frozen=True)
class Batch:
    """Some documents: their names, and either their texts or their counts."""

    names: list[str]
    texts: list[str] | None = None
    counts: Any = None


@dataclass
class DocumentSource:
    """Documents that can be read again from the start, from files or from Python.

    ``documents(skip)`` are those after the first ``skip``, in batches of any size. ``terms`` are
    the names of the columns of counts, if they have names. ``prepared(folder)`` is entered before
    it is read; the folder is for temporary files.
    """

    documents: Callable[[int], Iterator[Batch]]
    paths: Sequence[Path] = ()
    terms: list[str] | None = None
    repeats: bool = True  # whether it can be read twice
    prepared: Callable[[Path], AbstractContextManager[Any]] = nullcontext

    @property
    def called(self) -> str:
        """How an error names the source."""
        return f"{self.paths[0]}{', …' * (len(self.paths) > 1)}" if self.paths else "source"

    def description(self) -> Any:
        """JSON that identifies a source; Python iterables cannot be compared."""
        return [_stamp(path) for path in self.paths] or "given"

    def batches(self, skip: int = 0) -> Iterator[Batch]:
        """The documents after the first ``skip``, in batches that fit into memory; texts in NFC."""
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
                texts.append(as_nfc(text))
                length += len(text)
        if texts:
            yield Batch(names, texts)


def _stamp(path: Path) -> list[Any]:
    """Properties that change when a file does."""
    with readable(path):
        found = path.stat()
    return [path.name, *([] if path.is_dir() else [found.st_size, found.st_mtime_ns])]


# ---- files --------------------------------------------------------------------------------


def _texts_in(
    paths: Sequence[Path], kinds: Sequence[str], how: FileReading, skip: int
) -> Iterator[Batch]:
    """Texts in files or a folder."""
    for path, kind in zip(paths, kinds, strict=True):
        for name, text in _named_texts(path, kind, how):
            skip -= 1
            if skip < 0:
                yield Batch([f"{path.name}:{name}" if len(paths) > 1 else name], [text])


def read_documents(
    path: Path, reading: FileReading
) -> tuple[sp.csr_array, list[str] | None] | Iterator[tuple[str, str]]:
    """The documents of a file or folder that is read once: counts and the names of their columns,
    or the names and texts of documents."""
    kind = kind_of(path, reading, once=True)
    if kind in MATRICES:
        return read_counts(path, kind, reading)
    return _named_texts(path, kind, reading)


def _named_texts(path: Path, kind: str, how: FileReading) -> Iterator[tuple[str, str]]:
    with readable(path, how.encoding):
        yield from read_texts(path, kind, how.text_column, how.name_column, how.encoding)


def read_counts(
    path: Path, kind: str, reading: FileReading
) -> tuple[sp.csr_array, list[str] | None]:
    """Counts in a file that is read at once, and the names of their columns."""
    with readable(path, reading.encoding):
        counts, inside = read_matrix(path, kind)
    return counts, _column_names(path, counts.shape[1], reading, inside)


class _MarketRows:
    """Counts in a Matrix Market file, with entries in any order, in bounded memory.

    Its entries are read once and added to a file for each range of rows, on the disk; then each of
    these files is small enough to be a matrix.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with readable(path), open_market(path) as (head, _):
            if head.dense or head.symmetric:
                form = "symmetric" if head.symmetric else "dense"
                raise head.wrong(
                    f"a {form} matrix cannot be read in parts; write it as 'coordinate' and "
                    f"'general': {GENERAL}"
                )
        self.shape = rows, _ = head.shape
        check_shape(path, *head.shape, head.entries)
        ranges = max(1, -(-head.entries // ENTRIES))
        self.length = min(max(1, -(-rows // ranges)), ENTRIES)  # of a range of rows

    @contextmanager
    def prepared(self, folder: Path) -> Iterator[None]:
        """Split the entries by range, in a temporary folder. It is removed afterwards, with
        anything that a killed process left there."""
        for old in folder.glob(f"{SORTED}*"):
            rmtree(old, ignore_errors=True)
        self.folder = Path(mkdtemp(prefix=SORTED, dir=folder))
        try:
            with readable(self.path), open_market(self.path) as (_, blocks):
                for cells in blocks:
                    self._sort(market_entries(cells))
            yield
        finally:
            rmtree(self.folder, ignore_errors=True)

    def _sort(self, entries: Entries) -> None:
        """Write some entries to the files of their ranges."""
        rows, _, values = entries
        if values.dtype.kind == "i" and values.size and values.max() >= 2**53:
            raise DataError(f"{self.path}: a count of {values.max()}; give counts below 2^53")
        cells = np.empty(rows.size, _CELL)
        cells["row"], cells["column"], cells["value"] = entries
        place = rows // self.length
        order = np.argsort(place, kind="stable")
        cells, place = cells[order], place[order]
        for number in np.unique(place):
            start, stop = np.searchsorted(place, [number, number + 1])
            with (self.folder / str(number)).open("ab") as file:
                file.write(cells[start:stop].tobytes())

    def documents(self, skip: int) -> Iterator[Batch]:
        """Read range by range; ranges whose rows are all among the first ``skip`` are omitted."""
        for first in range(0, self.shape[0], self.length):
            rows = min(self.length, self.shape[0] - first)
            if first + rows <= skip:
                continue
            file = self.folder / str(first // self.length)
            cells = np.fromfile(file, _CELL) if file.exists() else np.empty(0, _CELL)
            place = (cells["row"] - first, cells["column"])
            matrix = sp.coo_array((cells["value"], place), shape=(rows, self.shape[1]))
            yield from _by_rows(as_counts(self.path, matrix), max(skip - first, 0), first)


# ---- Python code --------------------------------------------------------------------------


def _given(
    given: Callable[[], Iterable[Any]] | Iterable[Any], vocabulary: Sequence[str] | None, skip: int
) -> Iterator[Batch]:
    """Texts, lists of texts or matrices, from an iterable or a function that returns one. Named
    dims (of xarray) are matched by their names, doc and term; names of columns must be those of the
    ``vocabulary``, or of the first matrix, in the same order."""
    done, given = 0, given() if callable(given) else given
    if not isinstance(given, Iterable):
        raise DataError(f"source: {given!r:.60} is not an iterable of texts or matrices")
    for item in given:
        texts = [item] if isinstance(item, str) else item
        if isinstance(texts, list | tuple) and all(isinstance(each, str) for each in texts):
            new = list(texts[max(skip - done, 0) :])
            first = done + len(texts) - len(new)
            yield Batch([str(first + n) for n in range(len(new))], new)
            done += len(texts)
            continue
        what, names = f"the batch from document {done} on", labels_of_columns(item)
        vocabulary = names if vocabulary is None else vocabulary
        if names is not None and names != list(vocabulary or ()):
            raise DataError(
                f"{what}: its columns are not those of the others, or of the vocabulary: "
                f"{first_difference(names, vocabulary or ())}; bring them into one order"
            )
        rows = as_counts(what, in_order(what, DOCUMENTS, item))
        yield from _by_rows(rows, max(skip - done, 0), done)
        done += rows.shape[0]


def _column_names(
    path: Path, columns: int, reading: FileReading, inside: list[str] | None = None
) -> list[str] | None:
    """The names of the columns of a matrix: the lines of a file, or the names ``inside`` the
    matrix."""
    names, where = inside, path if reading.terms is None else reading.terms
    if reading.terms is not None:
        file = check_path("terms", reading.terms)
        with readable(file, reading.encoding):
            check_source(file)
            names = list(text_lines(file, reading.encoding))
    if names is not None and len(names) != columns:
        raise DataError(
            f"{where}: {len(names)} names of terms, but the matrix has {columns} columns"
        )
    check_distinct(where, names or ())
    return names


def _by_rows(counts: sp.csr_array, skip: int, first: int) -> Iterator[Batch]:
    """The rows of a matrix from ``skip`` on, some at a time; its row 0 is document ``first``."""
    rows, at = counts.shape[0], skip
    while at < rows:
        stop = int(np.searchsorted(counts.indptr, counts.indptr[at] + CELLS, side="right")) - 1
        stop = min(max(stop, at + 1), rows, at + ROWS)
        names = [str(first + row) for row in range(at, stop)]
        yield Batch(names, counts=sp.csr_array(counts[at:stop]))
        at = stop


def source_of(
    source: Any, reading: FileReading, vocabulary: Sequence[str] | None = None
) -> DocumentSource:
    """The source that an argument stands for: a path, a list of paths, a matrix, an iterable, or a
    function that returns an iterable. Names of columns must equal ``vocabulary``."""
    if isinstance(source, str | Path):
        path = check_path("source", source)
        kind = kind_of(path, reading)
        if kind == "mtx":
            market = _MarketRows(path)
            terms = _column_names(path, market.shape[1], reading)
            return DocumentSource(market.documents, [path], terms, prepared=market.prepared)
        if kind in MATRICES:
            counts, terms = read_counts(path, kind, reading)
            return DocumentSource(lambda skip: _by_rows(counts, skip, 0), [path], terms)
        return DocumentSource(partial(_texts_in, [path], [kind], reading), [path])
    paths = list(source) if isinstance(source, list | tuple) else []
    if paths and all(isinstance(path, Path) for path in paths):
        kinds = [kind_of(path, reading) for path in paths]
        if set(kinds) & set(MATRICES):
            raise DataError(f"{paths[0]}, …: one matrix at a time, or texts in several files")
        return DocumentSource(partial(_texts_in, paths, kinds, reading), paths)
    if reading != FileReading(encoding=reading.encoding):
        raise DataError("format, text_column, name_column, terms: only for files; omit them")
    matrix = sp.issparse(source) or isinstance(source, np.ndarray) or hasattr(source, "data_vars")
    if matrix or len(getattr(source, "shape", ())) > 1:  # arrays, sparse or with names too
        source = [source]
    if not callable(source) and not isinstance(source, Iterable):
        raise DataError(
            f"source={source!r:.60}: give a path, a list of pathlib.Path, a matrix, an iterable of "
            "texts or matrices, or a function that returns such an iterable"
        )
    once = isinstance(source, Iterator)
    return DocumentSource(partial(_given, source, vocabulary), repeats=not once)
