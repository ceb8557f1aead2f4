"""A corpus: documents × terms in blocks of rows, in memory or in a folder.

    corpus = pgbn.Corpus.build("reviews.jsonl", "reviews", min_df=5)   # in bounded memory
    corpus = pgbn.Corpus.open("reviews")
    corpus.shape, corpus.vocabulary, corpus.block(0)                   # 4096 rows of it

Block b holds the rows b·B to (b + 1)·B − 1, B = ``block_rows``, and the last block holds the rest.
In a folder a block is a file with a checksum, which is compared whenever the block is read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from pgbn.checks import is_integral
from pgbn.errors import DataError, StorageError
from pgbn.storage.archive import FolderArrays, Group, check_form, register_decoder
from pgbn.storage.folders import read_folder, saying_where
from pgbn.storage.read_limits import check_bytes
from pgbn.storage.sparse import MOST_COLUMNS, check_sum, compact, read_rows

BLOCK_ROWS = 4096
_BYTES = 24  # that a cell takes while all of them are read: twice 4 + 8

Size = Annotated[int, Field(ge=0, lt=2**62)]
CONTENT = {  # the content of the manifest of a corpus
    "complete": bool, "named": bool, "options": dict[str, Any], "rows": Size, "entries": Size,
    "block_rows": Annotated[Size, Field(ge=1)],
    "columns": Annotated[int, Field(ge=0, le=MOST_COLUMNS)] | None,
    "total": Annotated[int | float, Field(ge=0, le=sys.float_info.max)],
}  # fmt: skip


def name_arrays(names: Sequence[str]) -> Group:
    """A list of texts as two arrays: their UTF-8 bytes one after another, and where each ends. Lone
    surrogates, which UTF-8 does not allow, are kept too."""
    parts = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return {"text": np.frombuffer(b"".join(parts), np.uint8), "ends": compact(ends)}


def read_names(arrays: Group) -> list[str]:
    """Read the texts, checked."""
    text, ends = arrays["text"], arrays["ends"]
    if text.ndim != 1 or text.dtype != np.uint8 or ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise StorageError("the names are damaged: not the arrays of a list of texts")
    edges = np.concatenate(([0], ends)).astype(np.int64)
    if (np.diff(edges) < 0).any() or edges[-1] != text.size:
        raise StorageError("the names are damaged: their ends do not fit their text")
    every = text.tobytes()
    try:
        return [every[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(edges.tolist())]
    except UnicodeDecodeError as error:
        raise StorageError(f"the names are damaged: not UTF-8 ({error})") from None


@dataclass(frozen=True, eq=False)  # arrays cannot be compared by ==
class Corpus:
    """Documents × terms, the names of both, and the texts if there were any.

    ``options`` are those of CountVectorizer, to read other documents in the same way. This class is
    for memory; `Corpus.build` and `Corpus.open` return a `FolderCorpus`, whose documents are on the
    disk.
    """

    counts: sp.csr_array
    vocabulary: list[str] | None
    labels: list[str]
    texts: list[str] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        size = f"{self.shape[0]} documents, {self.shape[1]} terms, {self.total:.10g} counts"
        return f"{type(self).__name__}({size})"

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Documents and terms."""
        rows, columns = self.counts.shape
        return int(rows), int(columns)

    @cached_property
    def entries(self) -> int:
        """The number of cells above 0."""
        return int(self.counts.nnz)

    @cached_property
    def total(self) -> float:
        """The sum of all cells."""
        return float(self.counts.sum())

    @cached_property
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

        def read(body: Mapping[str, Any], files: FolderArrays) -> FolderCorpus:
            if body["kind"] != "corpus":
                raise StorageError(f"{folder}: a saved {body['kind']}, not a corpus")
            return _decode(body["content"]["object"], files)

        return read_folder(folder, read)


class FolderCorpus(Corpus):
    """A corpus in a folder; only its vocabulary is in memory.

    Invariant: the folder is a finished build, and its content never changes.
    """

    def __init__(self, content: Mapping[str, Any], files: FolderArrays) -> None:
        vars(self).update(
            shape=(content["rows"], content["columns"]), total=float(content["total"]),
            entries=content["entries"], block_rows=content["block_rows"], texts=None,
            options=dict(content["options"]), _named=content["named"], _files=files,
        )  # fmt: skip

    _named: bool
    _files: FolderArrays

    @cached_property
    def vocabulary(self) -> list[str] | None:
        if not self._named:
            return None
        with saying_where(self._files.folder), saying_where("the vocabulary"):
            names = read_names(self._files("vocabulary"))
            if not len(names) == len(set(names)) == self.shape[1]:
                raise StorageError(
                    f"damaged: {len(names)} names, {len(set(names))} of them different, for "
                    f"{self.shape[1]} columns; build the corpus anew"
                )
            return names

    @property
    def labels(self) -> list[str]:
        """The names of all documents, read block by block."""
        return [name for b in range(self.block_count) for name in self.block_labels(b)]

    @property
    def counts(self) -> sp.csr_array:
        """All documents in memory; rejected if they do not fit."""
        rows, columns = self.shape
        check_bytes(f"the corpus of {rows} documents with {self.entries} counts",
                    _BYTES * self.entries + 16 * rows, "read it block by block")  # fmt: skip
        if not rows:
            return sp.csr_array((0, columns), dtype=np.int64)
        return sp.csr_array(sp.vstack(list(self.blocks()), format="csr"))

    def block(self, number: int) -> sp.csr_array:
        with self._reading(number) as (arrays, rows):
            found, wanted = read_rows(arrays), (rows, self.shape[1])
            if found.shape != wanted:
                raise StorageError(f"damaged: it has the shape {found.shape}, not {wanted}")
            check_sum("damaged", found.data)
            return found

    def block_labels(self, number: int) -> list[str]:
        with self._reading(number) as (arrays, rows):
            names = read_names(arrays)
            if len(names) != rows:
                raise StorageError(f"damaged: {len(names)} names of {rows} documents")
            return names

    @contextmanager
    def _reading(self, number: int) -> Iterator[tuple[dict[str, NDArray[Any]], int]]:
        """The arrays and the number of rows of a block; errors name the block."""
        first = self._check_block(number) * self.block_rows
        last = min(first + self.block_rows, self.shape[0]) - 1
        place = f"block {int(number)} (documents {first} to {last})"
        with saying_where(self._files.folder), saying_where(place):
            yield self._files(f"block/{int(number)}"), last - first + 1

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"FolderCorpus({rows} documents, {columns} terms, {self.block_count} blocks)"


def counts_of(X: Any) -> Any:
    """The counts of a corpus, all in memory; any other argument is returned as it is."""
    return X.counts if isinstance(X, Corpus) else X


def _decode(content: Mapping[str, Any], files: FolderArrays, **_: Any) -> FolderCorpus:
    check_form(content, CONTENT)
    if not content["complete"]:
        raise StorageError(
            f"a corpus whose build has not ended, after {content['rows']} documents; build it "
            "again with the same arguments: it continues from there"
        )
    check_form(content, {"columns": int})
    return FolderCorpus(content, files)


register_decoder("corpus", _decode)
