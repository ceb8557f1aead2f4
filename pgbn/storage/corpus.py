"""A corpus: documents × terms in blocks of rows, in memory or in a folder.

    corpus = pgbn.Corpus.read("reviews.csv", text_column="review", min_df=5)   # in memory
    corpus = pgbn.Corpus.build("reviews.jsonl", "reviews", min_df=5)           # in a folder
    corpus = pgbn.Corpus.open("reviews")
    corpus.shape, corpus.vocabulary, corpus.block(0)                           # its first 4096 rows

Block b holds the rows b·B to (b + 1)·B − 1, B = ``block_rows``, and the last block holds the rest.
In a folder a block is a file with a checksum, which is compared whenever the block is read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

from pgbn.checks import check_path, is_integral, listed
from pgbn.errors import DataError, StorageError
from pgbn.storage.archive import FolderArrays, Group, check_form, is_archive, register_decoder
from pgbn.storage.folders import check_content, read_folder, saying_where
from pgbn.storage.read_limits import check_bytes, within_memory
from pgbn.storage.sparse import MOST_COLUMNS, check_sum, compact, read_rows
from pgbn.storage.terms import (
    as_nfc,
    counting,
    counting_options,
    make_vectorizer,
    saved_counting,
    with_stop_words,
)

BLOCK_ROWS = 4096
_BYTES = 24  # that a cell takes while all of them are read: twice 4 + 8
_ROW = 300  # bytes that a document takes in memory, without its text
_NUMBERED = 120  # bytes that a row of a matrix takes, with its number as a name, without its counts

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

    `Corpus.read` and `Corpus.from_texts` return a corpus in memory. `Corpus.build` and
    `Corpus.open` return a `FolderCorpus`, whose documents are on the disk. Functions that take
    documents × terms, such as `pgbn.train_layerwise`, take a corpus too.

    Parameters
    ----------
    counts
        Documents × terms.
    vocabulary
        The names of the terms, or None if they have none.
    names
        The names of the documents.
    texts
        The texts of the documents, or None if there were only counts.
    options
        The options of CountVectorizer, to read other documents in the same way.

    Examples
    --------
    >>> import pgbn
    >>> corpus = pgbn.Corpus.from_texts(["cats and dogs", "dogs and cows"])
    >>> corpus
    Corpus(2 documents, 4 terms, 6 counts)
    >>> corpus.vocabulary
    ['and', 'cats', 'cows', 'dogs']
    >>> corpus.counts.toarray().tolist()
    [[1, 1, 0, 1], [1, 0, 1, 1]]
    """

    counts: sp.csr_array
    vocabulary: list[str] | None
    names: list[str]
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
        """Return the rows of one block.

        Parameters
        ----------
        number
            The number of the block, from 0.

        Returns
        -------
        scipy.sparse.csr_array
            Some documents × all terms.

        Examples
        --------
        >>> import pgbn
        >>> corpus = pgbn.Corpus.from_texts(["cats and dogs", "dogs and cows"])
        >>> corpus.block(0).shape
        (2, 4)
        """
        start = self._check_block(number) * self.block_rows
        return sp.csr_array(self.counts[start : start + self.block_rows])

    def block_names(self, number: int) -> list[str]:
        """Return the names of the documents of one block.

        Parameters
        ----------
        number
            The number of the block, from 0.

        Returns
        -------
        list of str
            The names, in the order of the rows.

        Examples
        --------
        >>> import pgbn
        >>> corpus = pgbn.Corpus.from_texts(["cats and dogs", "dogs and cows"])
        >>> corpus.block_names(0)
        ['0', '1']
        """
        start = self._check_block(number) * self.block_rows
        return self.names[start : start + self.block_rows]

    def blocks(self) -> Iterator[sp.csr_array]:
        """Return all blocks, one after another.

        Returns
        -------
        iterator of scipy.sparse.csr_array
            The blocks; one at a time is in memory.

        Examples
        --------
        >>> import pgbn
        >>> corpus = pgbn.Corpus.from_texts(["cats and dogs", "dogs and cows"])
        >>> [block.shape for block in corpus.blocks()]
        [(2, 4)]
        """
        return (self.block(number) for number in range(self.block_count))

    def _check_block(self, number: int) -> int:
        if not is_integral(number) or not 0 <= number < self.block_count:
            raise DataError(
                f"block {number!r}: this corpus has the blocks 0 to {self.block_count - 1}"
            )
        return int(number)

    @staticmethod
    def read(
        path: str | Path,
        *,
        format: str | None = None,
        text_column: str = "text",
        name_column: str | None = None,
        encoding: str = "utf-8",
        terms: str | Path | None = None,
        vocabulary: Sequence[str] | None = None,
        like: str | Path | None = None,
        **options: Any,
    ) -> Corpus:
        """Read a corpus from a file or folder into memory.

        Parameters
        ----------
        path
            A folder with a text in each file; a ``.txt`` file with a document on each line; a
            ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` table; or counts in a ``.mtx``, ``.npz``
            or ``.svmlight`` file. Files may be packed by gzip. The folder of `Corpus.build` is
            opened.
        format
            The kind of data if the name does not show it: "folder", "lines", "csv", "jsonl",
            "parquet", "mtx", "npz" or "svmlight".
        text_column
            The column of a table that has the texts.
        name_column
            The column of a table that names the documents. By default they are numbered.
        encoding
            The encoding of the texts.
        terms
            A file with the names of the columns of a matrix, one on each line.
        vocabulary
            The terms to count, such as those of a model. By default all terms are counted.
        like
            The folder of a model from ``pgbn fit``: the texts are counted as its texts were.
        **options
            Options of scikit-learn's CountVectorizer, see `Corpus.from_texts`.

        Returns
        -------
        Corpus
            The documents in memory, or a `FolderCorpus` if the folder is that of a corpus.

        Raises
        ------
        pgbn.DataError
            If the data cannot be read, or do not fit into memory.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import pgbn
        >>> path = pathlib.Path(tempfile.mkdtemp(), "reviews.csv")
        >>> _ = path.write_text("id,review\\na,good film\\nb,bad film\\n")
        >>> corpus = pgbn.Corpus.read(path, text_column="review", name_column="id")
        >>> corpus.vocabulary, corpus.names
        (['bad', 'film', 'good'], ['a', 'b'])
        """
        from pgbn.storage.sources import FileReading, read_documents

        path = check_path("path", path)
        reading = FileReading(format, text_column, name_column, encoding, terms)
        if format is None and is_archive(path):
            return Corpus.open(path)
        found = read_documents(path, reading)
        if isinstance(found, tuple):
            counts, columns = found
            rows = counts.shape[0]
            remedy = "give a part, or Corpus.build"
            check_bytes(f"{path}: its {rows} rows", _NUMBERED * rows, remedy)
            return Corpus(counts, columns, [str(row) for row in range(rows)])
        remedy = "give a part of them, or Corpus.build"
        kept = within_memory(
            f"{path}: its documents", found, lambda row: 4 * len(row[1]) + _ROW, remedy
        )
        named = _uniquely(list(kept))
        if not named:
            raise DataError(
                f"{path}: no documents in it; give a folder of .txt files, or a file with one "
                "document on each line"
            )
        return Corpus.from_texts(named, vocabulary=vocabulary, like=like, **options)

    @staticmethod
    def from_texts(
        texts: Mapping[str, str] | Iterable[str],
        *,
        vocabulary: Sequence[str] | None = None,
        like: str | Path | None = None,
        **options: Any,
    ) -> Corpus:
        """Count the terms of texts with scikit-learn's CountVectorizer.

        Texts are first converted to the Unicode form NFC, so that "é" is always one character.

        Parameters
        ----------
        texts
            A mapping from the names of documents to their texts, or a list of texts, which are
            numbered.
        vocabulary
            The terms to count, such as those of a model. By default all terms are counted.
        like
            The folder of a model from ``pgbn fit``: the texts are counted as its texts were, so
            that ``pgbn.load(folder).infer(corpus)`` takes them.
        **options
            Options of CountVectorizer: ``min_df``, ``max_df``, ``max_features``, ``stop_words``,
            ``token_pattern``, ``lowercase``, ``ngram_range`` and others. ``stop_words`` is a list
            of words, "english", which also removes contractions ("don't", "we'll"), or another
            language, such as "german" (``pip install 'pgbn[languages]'``). The default of
            ``token_pattern`` keeps "don't" as one term.

        Returns
        -------
        Corpus
            The counts, the vocabulary, and the texts.

        Raises
        ------
        pgbn.DataError
            If a text is not a string, an option is wrong, or no terms remain.

        Examples
        --------
        >>> import pgbn
        >>> texts = {"a": "the cat sat", "b": "a dog sat, and the cat ran"}
        >>> corpus = pgbn.Corpus.from_texts(texts, stop_words="english")
        >>> corpus.vocabulary
        ['cat', 'dog', 'ran', 'sat']
        >>> corpus.names
        ['a', 'b']
        """
        if like is not None:
            if vocabulary is not None or options:
                given = ", ".join([*(["vocabulary"] if vocabulary is not None else []), *options])
                raise DataError(f"like={str(like)!r:.60}: its terms are counted; omit {given}")
            vocabulary, options = _counted_in(like)
        named, chosen = _named(texts), counting_options(options)
        with counting(chosen):
            vectorizer = make_vectorizer(chosen, vocabulary)
            count = vectorizer.fit_transform if vocabulary is None else vectorizer.transform
            matrix = sp.csr_array(count(named.values()), dtype=np.int64)
        terms = vectorizer.get_feature_names_out() if vocabulary is None else vocabulary
        language = chosen.get("stop_words")
        if not isinstance(language, str) or language != "english":
            chosen = with_stop_words(chosen)  # reading other documents needs no package
        names, every = list(named), list(named.values())
        return Corpus(matrix, [str(term) for term in terms], names, every, chosen)

    @staticmethod
    def build(
        source: Any,
        folder: str | Path,
        *,
        format: str | None = None,
        text_column: str = "text",
        name_column: str | None = None,
        encoding: str = "utf-8",
        terms: str | Path | None = None,
        vocabulary: Sequence[str] | None = None,
        block_rows: int = BLOCK_ROWS,
        overwrite: bool = False,
        progress: Callable[[str, int], None] | None = None,
        **options: Any,
    ) -> FolderCorpus:
        """Build a corpus in a folder from documents that need not fit into memory.

        A build that was stopped or killed is continued by a call with the same arguments, and a
        finished one is opened. Texts are read twice, first to choose the terms.

        Parameters
        ----------
        source
            A path, as for `Corpus.read`; a list of ``pathlib.Path`` that are read one after
            another; a matrix; an iterable of texts, lists of texts or matrices; or a function that
            returns such an iterable. An iterator of texts can be read only once, so it needs a
            ``vocabulary``.
        folder
            The folder for the corpus.
        format, text_column, name_column, encoding, terms, vocabulary
            See `Corpus.read`.
        block_rows
            The number of documents of a block.
        overwrite
            Whether to build anew if the folder has a corpus.
        progress
            A function that is called at intervals, with the current work and the number of
            documents.
        **options
            Options of CountVectorizer, see `Corpus.from_texts`.

        Returns
        -------
        FolderCorpus
            The corpus; its documents are on the disk.

        Raises
        ------
        pgbn.DataError
            If the data cannot be read, or the folder has a corpus with other arguments.

        Examples
        --------
        >>> import tempfile
        >>> import pgbn
        >>> folder = tempfile.mkdtemp()
        >>> texts = ["cats and dogs", "dogs and cows", "cows"]
        >>> pgbn.Corpus.build(texts, folder, block_rows=2)
        FolderCorpus(3 documents, 4 terms, 2 blocks)
        """
        from pgbn.storage.build import build_corpus
        from pgbn.storage.sources import FileReading

        terms = None if terms is None else str(terms)
        reading = FileReading(format, text_column, name_column, encoding, terms)
        return build_corpus(
            source, folder, reading, options, vocabulary, block_rows, overwrite, progress
        )

    @staticmethod
    def open(folder: str | Path) -> FolderCorpus:
        """Open the corpus that `Corpus.build` wrote.

        Parameters
        ----------
        folder
            The folder of the corpus.

        Returns
        -------
        FolderCorpus
            The corpus; its documents are on the disk.

        Raises
        ------
        pgbn.StorageError
            If the folder has no corpus, an unfinished one, or a damaged one.

        Examples
        --------
        >>> import tempfile
        >>> import pgbn
        >>> folder = tempfile.mkdtemp()
        >>> _ = pgbn.Corpus.build(["cats and dogs", "dogs and cows"], folder)
        >>> pgbn.Corpus.open(folder).vocabulary
        ['and', 'cats', 'cows', 'dogs']
        """

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
    def names(self) -> list[str]:
        """The names of all documents, read block by block."""
        return [name for b in range(self.block_count) for name in self.block_names(b)]

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

    def block_names(self, number: int) -> list[str]:
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


# ---- texts and their names ----------------------------------------------------------------


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


def _named(texts: Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    """Texts by name, every one of them a string in NFC."""
    if isinstance(texts, str):
        raise DataError(f"texts={texts[:40]!r} is one text; give a list of texts")
    if getattr(texts, "ndim", 1) != 1:  # a data frame is not a list of its columns
        kind = type(texts).__name__
        raise DataError(f"texts: a table ({kind}), not a list; give the column of the texts")
    if not isinstance(texts, Mapping):
        every = listed("texts", texts, "give a list of texts")
        texts = {str(n): text for n, text in enumerate(every)}
    for name, text in texts.items():
        if not isinstance(text, str):
            joined = '; join its terms: " ".join(terms)' if isinstance(text, list | tuple) else ""
            raise DataError(
                f"texts: document {name!r} is {text!r:.60}, which is not a string{joined}"
            )
    return {name: as_nfc(text) for name, text in texts.items()}


def _counted_in(folder: str | Path) -> tuple[list[str], dict[str, Any]]:
    """The terms of a model and the options with which they were counted."""

    def read(body: Mapping[str, Any], files: FolderArrays) -> tuple[list[str], dict[str, Any]]:
        content = check_content(body["content"])
        names = content.get("vocabulary")
        if names is None:
            raise StorageError("it has no names of terms; give vocabulary=")
        return names, saved_counting(content.get("record", {}), folder)

    return read_folder(folder, read)


# ---- for the functions that take documents × terms ----------------------------------------


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
