"""A corpus: documents × terms in blocks of rows, in memory or in a folder.

    corpus = pgbn.Corpus.build("reviews.jsonl", "reviews", min_df=5)   # in bounded memory
    corpus = pgbn.Corpus.open("reviews")
    corpus.shape, corpus.vocabulary, corpus.block(0)                   # 4096 rows of it

Block b holds the rows b·B to (b + 1)·B − 1, B = ``block_rows``, and the last block what is left.
In a folder a block is a file with a checksum, which is compared whenever the block is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import is_finite_number, is_integral
from pgbn.errors import DataError, StorageError
from pgbn.storage.codecs import Files, register_decoder
from pgbn.storage.folders import read_folder
from pgbn.storage.memory import check_bytes
from pgbn.storage.names import read_names
from pgbn.storage.sparse import read_rows

__all__ = ["BLOCK_ROWS", "Corpus", "FolderCorpus", "counts_of"]

BLOCK_ROWS = 4096
_MOST = 2**62  # what a size can be
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
        for key, least in (("rows", 0), ("columns", 0), ("block_rows", 1), ("entries", 0)):
            if not is_integral(content[key]) or not least <= content[key] < _MOST:
                raise StorageError(f"damaged: {key} is {content[key]!r:.60}, which is no such size")
        if not is_finite_number(content["total"]) or not isinstance(content["options"], dict):
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
        arrays = self._files("vocabulary")
        return read_names(arrays["text"], arrays["ends"])

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
        found = read_rows(self._arrays(number))
        wanted = min(self.block_rows, self._size[0] - number * self.block_rows), self._size[1]
        if found.shape != wanted:
            raise StorageError(f"damaged: block {number} has the shape {found.shape}, not {wanted}")
        return found

    def block_labels(self, number: int) -> list[str]:
        arrays = self._arrays(number)
        return read_names(arrays["text"], arrays["ends"])

    def _arrays(self, number: int) -> dict[str, NDArray[Any]]:
        first = self._check_block(number) * self.block_rows
        try:
            return self._files(f"block/{number}")
        except StorageError as error:
            last = min(first + self.block_rows, self._size[0]) - 1
            raise StorageError(f"block {number} (documents {first} to {last}): {error}") from error

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
    if not content["complete"]:
        raise StorageError(
            f"a corpus whose build has not ended, after {content['rows']} documents; build it "
            "again with the same arguments: it goes on where it was"
        )
    return FolderCorpus(content, files)


register_decoder("corpus", _decode)
