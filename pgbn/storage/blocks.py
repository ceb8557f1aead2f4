"""A corpus: documents × terms in blocks of rows, in memory or in a folder.

    corpus = pgbn.Corpus.build("reviews.jsonl", "reviews", min_df=5)   # in bounded memory
    corpus = pgbn.Corpus.open("reviews")
    corpus.shape, corpus.vocabulary, corpus.block(0)                   # 4096 rows of it

Block b holds the rows b·B to (b + 1)·B − 1, B = ``block_rows``, and the last block what is left.
In a folder a block is a file with a checksum, which is compared whenever the block is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import is_finite_number, is_integral
from pgbn.errors import DataError, StorageError
from pgbn.storage.archive import Files, Group, register_decoder
from pgbn.storage.folders import read_folder, saying_where
from pgbn.storage.read_limits import check_bytes
from pgbn.storage.sparse import MOST_COLUMNS, check_sum, compact, read_rows

# ---- names --------------------------------------------------------------------------------------
#
# Names as arrays of a file: their UTF-8 bytes one after another, and where each of them ends.


def name_arrays(names: Sequence[str]) -> Group:
    """A list of texts as two arrays; half characters, which UTF-8 cannot have, are kept too."""
    parts = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return {"text": np.frombuffer(b"".join(parts), np.uint8), "ends": compact(ends)}


def read_names(text: Any, ends: Any) -> list[str]:
    """The texts again, checked."""
    if text.ndim != 1 or text.dtype != np.uint8 or ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise StorageError("the names are damaged: not the arrays of a list of texts")
    edges = np.concatenate(([0], ends)).astype(np.int64)
    if (np.diff(edges) < 0).any() or edges[-1] != text.size:
        raise StorageError("the names are damaged: their ends do not fit their text")
    whole = text.tobytes()
    try:
        return [
            whole[start:stop].decode("utf-8", "surrogatepass")
            for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        ]
    except UnicodeDecodeError as error:
        raise StorageError(f"the names are damaged: not UTF-8 ({error})") from None


# ---- blocks -------------------------------------------------------------------------------------


BLOCK_ROWS = 4096
_MOST = 2**62 - 1  # what a size can be
_BYTES = 24  # that a cell takes while all of them are read: twice 4 + 8


@dataclass(frozen=True)
class Corpus:
    """Documents × terms, the names of both, and the texts if there were any.

    ``options`` are those of CountVectorizer, to read other documents in the same way. This is the
    case in memory; `Corpus.build` and `Corpus.open` give one in a folder, a `FolderCorpus`.
    """

    counts: sp.csr_array
    vocabulary: list[str] | None
    labels: list[str]
    texts: list[str] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        size = f"{self.shape[0]} documents, {self.shape[1]} terms, {self.total:.10g} counts"
        return f"{type(self).__name__}({size})"

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and terms."""
        rows, columns = self.counts.shape
        return int(rows), int(columns)

    @property
    def entries(self) -> int:
        """The number of cells above 0."""
        return int(self.counts.nnz)

    @property
    def total(self) -> float:
        """The sum of all cells."""
        return float(self.counts.sum())

    @property
    def block_rows(self) -> int:
        """The number of rows of every block but the last."""
        return BLOCK_ROWS

    @property
    def block_count(self) -> int:
        return -(-self.shape[0] // self.block_rows)

    def block(self, number: int) -> sp.csr_array:
        """The rows of one block."""
        start = self._check_block(number) * self.block_rows
        return sp.csr_array(self.counts[start : start + self.block_rows])

    def block_labels(self, number: int) -> list[str]:
        """The names of the documents of one block."""
        start = self._check_block(number) * self.block_rows
        return self.labels[start : start + self.block_rows]

    def blocks(self) -> Iterator[sp.csr_array]:
        """All blocks, one after another."""
        return (self.block(number) for number in range(self.block_count))

    def _check_block(self, number: int) -> int:
        if not is_integral(number) or not 0 <= number < self.block_count:
            raise DataError(
                f"block {number!r}: this corpus has the blocks 0 to {self.block_count - 1}"
            )
        return int(number)

    @staticmethod
    def build(source: Any, folder: str | Path, **options: Any) -> FolderCorpus:
        """A corpus in a folder, built in bounded memory: see `pgbn.storage.build.build_corpus`."""
        from pgbn.storage.build import build_corpus

        return build_corpus(source, folder, **options)

    @staticmethod
    def open(folder: str | Path) -> FolderCorpus:
        """The corpus that `Corpus.build` wrote."""

        def read(body: Mapping[str, Any], files: Files) -> FolderCorpus:
            if body["kind"] != "corpus":
                raise StorageError(f"{folder}: a saved {body['kind']}, not a corpus")
            return _decode(body["content"]["object"], files)

        return read_folder(folder, read)


class FolderCorpus(Corpus):
    """A corpus in a folder, of which nothing is in memory but its vocabulary.

    Invariant: the folder is a finished build, and what it holds is never changed.
    """

    def __init__(self, content: Mapping[str, Any], files: Files) -> None:
        rows, columns = content["rows"], content["columns"]
        for key, least, most in (
            ("rows", 0, _MOST), ("columns", 0, MOST_COLUMNS), ("block_rows", 1, _MOST),
            ("entries", 0, _MOST),
        ):  # fmt: skip
            if not is_integral(content[key]) or not least <= content[key] <= most:
                raise StorageError(f"damaged: {key} is {content[key]!r:.60}, which is no such size")
        total, options = content["total"], content["options"]
        if not is_finite_number(total) or total < 0 or not isinstance(options, dict):
            raise StorageError("damaged: the total or the options of the corpus are senseless")
        object.__setattr__(self, "_size", (int(rows), int(columns)))
        object.__setattr__(self, "_content", content)
        object.__setattr__(self, "_files", files)

    _size: tuple[int, int]
    _content: Mapping[str, Any]
    _files: Files

    @property
    def shape(self) -> tuple[int, int]:
        return self._size

    @property
    def entries(self) -> int:
        return int(self._content["entries"])

    @property
    def total(self) -> float:
        return float(self._content["total"])

    @property
    def block_rows(self) -> int:
        return int(self._content["block_rows"])

    @property
    def options(self) -> dict[str, Any]:
        return dict(self._content["options"])

    @property
    def texts(self) -> None:
        """Texts are not kept."""

    @cached_property
    def vocabulary(self) -> list[str] | None:
        if not self._content["named"]:
            return None
        with saying_where(self._folder), saying_where("the vocabulary"):
            arrays = self._files("vocabulary")
            names = read_names(arrays["text"], arrays["ends"])
            if not len(names) == len(set(names)) == self._size[1]:
                raise StorageError(
                    f"damaged: {len(names)} names, {len(set(names))} of them different, for "
                    f"{self._size[1]} columns; build the corpus anew"
                )
            return names

    @property
    def labels(self) -> list[str]:
        """The names of all documents, read block by block."""
        return [name for b in range(self.block_count) for name in self.block_labels(b)]

    @property
    def counts(self) -> sp.csr_array:
        """All documents in memory; refused if they do not fit."""
        rows, columns = self._size
        check_bytes(f"the corpus of {rows} documents with {self.entries} counts",
                    _BYTES * self.entries + 16 * rows, "read it block by block")  # fmt: skip
        if not rows:
            return sp.csr_array((0, columns), dtype=np.int64)
        return sp.csr_array(sp.vstack(list(self.blocks()), format="csr"))

    def block(self, number: int) -> sp.csr_array:
        with self._reading(number) as (arrays, rows):
            found, wanted = read_rows(arrays), (rows, self._size[1])
            if found.shape != wanted:
                raise StorageError(f"damaged: it has the shape {found.shape}, not {wanted}")
            check_sum("damaged", found.data)
            return found

    def block_labels(self, number: int) -> list[str]:
        with self._reading(number) as (arrays, rows):
            names = read_names(arrays["text"], arrays["ends"])
            if len(names) != rows:
                raise StorageError(f"damaged: {len(names)} names of {rows} documents")
            return names

    @contextmanager
    def _reading(self, number: int) -> Iterator[tuple[dict[str, NDArray[Any]], int]]:
        """The arrays and the number of rows of a block; errors name the block."""
        first = self._check_block(number) * self.block_rows
        last = min(first + self.block_rows, self._size[0]) - 1
        place = f"block {int(number)} (documents {first} to {last})"
        with saying_where(self._folder), saying_where(place):
            yield self._files(f"block/{int(number)}"), last - first + 1

    @property
    def _folder(self) -> str:
        return str(getattr(self._files, "folder", "the corpus"))

    def __repr__(self) -> str:
        rows, columns = self._size
        return f"FolderCorpus({rows} documents, {columns} terms, {self.block_count} blocks)"

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def counts_of(X: Any) -> Any:
    """The counts of a corpus, all in memory; anything else as it is."""
    return X.counts if isinstance(X, Corpus) else X


# ---- as a folder that `pgbn.load` reads ---------------------------------------------------


def _decode(content: Mapping[str, Any], files: Files, **_: Any) -> FolderCorpus:
    for key in ("complete", "named"):
        if not isinstance(content[key], bool):
            raise StorageError(f"damaged: {key} is {content[key]!r:.60}, not true or false")
    if not content["complete"]:
        raise StorageError(
            f"a corpus whose build has not ended, after {content['rows']} documents; build it "
            "again with the same arguments: it goes on where it was"
        )
    return FolderCorpus(content, files)


register_decoder("corpus", _decode)
