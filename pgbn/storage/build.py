"""Build a corpus in a folder, in bounded memory; a build that was killed can be continued.

1. Texts without a given vocabulary are read once to choose the terms: min_df ≤ df ≤ max_df, where
df is the number of documents that have a term. With ``max_features``, that many terms of the
largest total count are kept, as in scikit-learn's CountVectorizer. When there are too many counts
for
   memory, they are written to files, sorted by term; all files are merged at the end.
2. The documents are read, counted, and written in blocks of rows.

Finished work is committed at intervals: the manifest then names the written files and the number of
their documents. Another build with the same arguments continues after these.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.checks import check_flag, check_integer, check_names, check_place, is_integral
from pgbn.errors import DataError, StorageError
from pgbn.storage.archive import Group, check_form, read_arrays, read_manifest
from pgbn.storage.corpus import (
    BLOCK_ROWS,
    CONTENT,
    Corpus,
    FolderCorpus,
    Size,
    name_arrays,
    read_names,
)
from pgbn.storage.folders import saying_where
from pgbn.storage.runner import Runner
from pgbn.storage.sources import Batch, DocumentSource, FileReading, check_distinct, source_of
from pgbn.storage.sparse import check_sum, row_arrays
from pgbn.storage.terms import LIMITS, counting, counting_options, make_vectorizer

MOST_TERMS = 2**20  # that are counted in memory, approximately
PART = 2**15  # terms of a file
COMMIT_BYTES, COMMIT_ROWS = 2**25, 2**18  # the most that a killed build repeats

Report = Callable[[str, int], None]  # the current work, and the finished documents
Row = tuple[str, int, int]  # a term, its documents, its total count


def build_corpus(
    source: Any,
    folder: str | Path,
    reading: FileReading,
    options: Mapping[str, Any],
    vocabulary: Sequence[str] | None = None,
    block_rows: int = BLOCK_ROWS,
    overwrite: bool = False,
    progress: Report | None = None,
) -> FolderCorpus:
    """The corpus of `Corpus.build`, which explains the arguments."""
    check_integer("block_rows", block_rows, 1)
    check_flag("overwrite", overwrite)
    chosen = {name: value for name, value in options.items() if value is not None}
    names = None if vocabulary is None else check_names("vocabulary", vocabulary)
    check_distinct("vocabulary", names or ())
    found, folder = source_of(source, reading, names), check_place("folder", folder)
    settings = {
        "source": found.description(),
        "reading": asdict(reading),
        "options": chosen,
        "block_rows": int(block_rows),
        "vocabulary": None if names is None else _digest(names),
    }
    with Runner(folder, "corpus", _as_plain(settings)) as runner:
        build = _Build(runner, overwrite, progress)
        if not build.content["complete"]:
            with found.prepared(runner.path):
                build.run(found, names, counting_options(chosen))
    return Corpus.open(folder)


def _digest(names: Sequence[str]) -> str:
    """A digest that identifies a list of names."""
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()


def _as_plain(settings: Any) -> Any:
    """Settings after a round trip through JSON."""
    try:
        return json.loads(json.dumps(settings))
    except (TypeError, ValueError) as error:
        raise DataError(f"options: a corpus keeps its options as JSON ({error})") from None


class _Build:
    """A folder while it is built.

    Invariant: the manifest names complete blocks of the first ``content["rows"]`` documents, and
    the counts of the first pass over the first ``content["read"]``.
    """

    def __init__(self, runner: Runner, overwrite: bool, progress: Report | None) -> None:
        self.runner, self.folder, self.settings = runner, runner.path, runner.settings or {}
        self.progress = progress or (lambda what, documents: None)
        self.pending: dict[str, Group] = {}
        self.vectorizer: Any = None  # of texts alone: counts need no scikit-learn
        self.content: dict[str, Any] = {
            "complete": False, "options": self.settings["options"], "named": False,
            "block_rows": self.settings["block_rows"], "rows": 0, "columns": None, "entries": 0,
            "total": 0, "read": 0, "runs": [],
        }  # fmt: skip
        if runner.body is not None and not overwrite:
            self._resume(runner.body)

    def _resume(self, body: Mapping[str, Any]) -> None:
        """Continue the work of an earlier build with the same settings."""
        if not self.runner.committed:
            raise StorageError(
                f"{self.folder}: holds a saved {body['kind']}; name another folder, or give "
                "overwrite=True"
            )
        old, new = body["content"].get("settings"), self.settings
        try:
            check_form(body["content"].get("object"), {**CONTENT, "read": Size, "runs": list[Size]})
            check_form(old, {"source": Any})
        except StorageError:
            raise StorageError(
                f"{self.folder}: damaged; give overwrite=True to build it anew"
            ) from None
        if (other := self.runner.other_setting()) is not None:
            raise DataError(
                f"{self.folder}: a corpus with another {other or 'setting'}: "
                f"{old.get(other)!r:.100}, not {new.get(other)!r:.100}; name another folder, or "
                "give overwrite=True"
            )
        self.content = self.runner.resume()

    def run(
        self, source: DocumentSource, names: list[str] | None, options: Mapping[str, Any]
    ) -> None:
        """Read the source, and write its documents."""
        given = names if source.terms is None else source.terms
        if self.content["named"]:  # a build that is continued
            with saying_where(self.folder):
                body = read_manifest(self.folder)
                given = read_names(read_arrays(self.folder, body, "vocabulary"))
        else:
            first = next(source.batches(), None) if given is None and source.repeats else None
            if first is not None and first.texts is not None:
                given = self._choose_terms(source, options)
            if given is not None:
                self.content.update(named=True, columns=len(given))
                self.pending["vocabulary"] = name_arrays(given)
                self._commit()
        self._write_blocks(source, given, options)

    # ---- the first pass: the counts of all terms, and those that are kept ---------------------

    def _choose_terms(self, source: DocumentSource, options: Mapping[str, Any]) -> list[str]:
        analyze, counts = _analyzer(make_vectorizer(options), options), _TermCounts()
        since = read = self.content["read"]
        for batch in source.batches(read):
            for text in batch.texts or ():
                counts.add(analyze(text))
            read += len(batch.names)
            self.progress("choosing terms", read)
            if len(counts.documents) >= MOST_TERMS or read - since >= COMMIT_ROWS:
                self._commit_terms(counts, read)
                since = read
        if read > since:
            self._commit_terms(counts, read)
        body = read_manifest(self.folder)
        runs = (self._run(body, run, parts) for run, parts in enumerate(self.content["runs"]))
        names = _chosen_terms(runs, read, options)
        self.content["runs"] = []
        kept = {n: file for n, file in self.runner.groups.items() if not n.startswith("runs/")}
        self.runner.groups = kept
        return names

    def _commit_terms(self, counts: _TermCounts, read: int) -> None:
        run, parts = len(self.content["runs"]), counts.take()
        self.pending |= {f"runs/{run}/{number}": part for number, part in enumerate(parts)}
        self.content.update(read=read, runs=[*self.content["runs"], len(parts)])
        self._commit()

    def _run(self, body: Mapping[str, Any], run: int, parts: int) -> Iterator[list[Row]]:
        """Read the output of `_TermCounts.take`, checked, part by part. The number of parts comes
        from the manifest, which is not trusted."""
        for number in range(parts):
            with saying_where(self.folder):
                part = read_arrays(self.folder, body, f"runs/{run}/{number}")
                names, size = read_names(part), part["ends"].shape
                counts = part["documents"], part["total"]
                if any(each.shape != size or each.dtype.kind not in "iu" for each in counts):
                    raise StorageError("damaged: not the counts of terms")
            yield list(zip(names, *(each.tolist() for each in counts), strict=True))

    # ---- the second pass: blocks of counts ----------------------------------------------------

    def _write_blocks(
        self, source: DocumentSource, terms: list[str] | None, options: Mapping[str, Any]
    ) -> None:
        length, content = self.content["block_rows"], self.content
        names: list[str] = []
        parts: list[sp.csr_array] = []
        for batch in source.batches(content["rows"]):
            parts.append(self._counts(batch, terms, options))
            names += batch.names
            if len(names) >= length:
                rows, at = sp.csr_array(sp.vstack(parts, format="csr")), 0
                while len(names) - at >= length:
                    self._add_block(names[at : at + length], rows[at : at + length])
                    at += length
                names, parts = names[at:], [sp.csr_array(rows[at:])]
            self.progress("counting terms", content["rows"] + len(names))
        if names:
            self._add_block(names, sp.csr_array(sp.vstack(parts, format="csr")))
        if not content["rows"]:
            raise DataError(f"{source.called}: no documents in it; give texts or counts")
        if _as_plain(source.description()) != self.settings["source"]:
            raise DataError(
                f"{source.called}: changed while it was read; give overwrite=True to build it anew"
            )
        content["complete"] = True
        self._commit()

    def _counts(
        self, batch: Batch, terms: list[str] | None, options: Mapping[str, Any]
    ) -> sp.csr_array:
        """The counts of a batch, with as many columns as all others."""
        counts, content = batch.counts, self.content
        if batch.texts is not None:
            if terms is None:
                raise DataError(
                    "source: an iterator of texts can be read once, and there is no vocabulary; "
                    "give vocabulary=, or a function that returns the iterator"
                )
            if self.vectorizer is None:
                self.vectorizer = make_vectorizer(options, terms)
                _analyzer(self.vectorizer, options)
            counts = sp.csr_array(self.vectorizer.transform(batch.texts), dtype=np.int64)
        if content["columns"] is None:
            content["columns"] = int(counts.shape[1])
        if counts.shape != (len(batch.names), content["columns"]):
            raise DataError(
                f"source: a batch with {counts.shape[1]} columns after document "
                f"{content['rows']}, but the corpus has {content['columns']} terms"
            )
        return counts

    def _add_block(self, names: list[str], rows: sp.csr_array) -> None:
        """Write one more block; new blocks are committed at intervals."""
        content, block = self.content, sp.csr_array(rows)
        block.sum_duplicates()
        block.eliminate_zeros()
        number = content["rows"] // content["block_rows"]
        self.pending[f"block/{number}"] = {
            **row_arrays(block.shape, block.indptr, block.indices, block.data),
            **name_arrays(names),
        }
        content["rows"] += block.shape[0]
        check_sum(f"source: up to document {content['rows']}", block.data, content["total"])
        content["entries"] += int(block.nnz)
        content["total"] += block.data.sum().item()
        waiting = sum(a.nbytes for arrays in self.pending.values() for a in arrays.values())
        if waiting >= COMMIT_BYTES or len(self.pending) * content["block_rows"] >= COMMIT_ROWS:
            self._commit()

    def _commit(self) -> None:
        """Commit: a build that is killed later continues from here."""
        self.runner.commit(self.content, self.pending)
        self.pending = {}


def _analyzer(vectorizer: Any, options: Mapping[str, Any]) -> Callable[[str], list[str]]:
    """The function that cuts a text into terms; bad options are an error at once."""
    with counting(options):
        analyze: Callable[[str], list[str]] = vectorizer.build_analyzer()
        analyze("a sample")
    return analyze


class _TermCounts:
    """The documents and the total count of each term since they were last taken."""

    def __init__(self) -> None:
        self.documents: Counter[str] = Counter()
        self.total: Counter[str] = Counter()

    def add(self, terms: list[str]) -> None:
        self.total.update(terms)
        self.documents.update(set(terms))

    def take(self) -> list[Group]:
        """The counts, sorted by term, as arrays of files of some terms each, so that many runs can
        be merged. Afterwards the counter is empty."""
        terms = sorted(self.documents)
        found = [
            {
                **name_arrays(part),
                "documents": np.array([self.documents[term] for term in part], np.int64),
                "total": np.array([self.total[term] for term in part], np.int64),
            }
            for part in (terms[at : at + PART] for at in range(0, len(terms), PART))
        ]
        self.documents, self.total = Counter(), Counter()
        return found


def _chosen_terms(
    runs: Iterable[Iterable[list[Row]]], rows: int, options: Mapping[str, Any]
) -> list[str]:
    """The terms that are kept, in order, of runs of counts over ``rows`` documents in all; the
    parts of a run are read when they are needed."""
    least = _number_of("min_df", options.get("min_df", 1), rows)
    most = _number_of("max_df", options.get("max_df", 1.0), rows)
    limit = options.get("max_features")
    if limit is not None and (not is_integral(limit) or limit < 1):
        raise DataError(f"max_features={limit!r}: give an integer of at least 1")
    kept: Iterator[Row] = (row for row in _merged(runs) if least <= row[1] <= most)
    if limit is not None:
        kept = iter(heapq.nlargest(int(limit), kept, key=lambda row: row[2]))
    names = sorted(row[0] for row in kept)
    if not names:
        shown = ", ".join(f"{name}={options[name]!r}" for name in LIMITS if name in options)
        raise DataError(f"no terms remain of {rows} documents ({shown or 'all are empty'})")
    return names


def _number_of(name: str, value: Any, rows: int) -> float:
    """A number of documents, from a number (an int) or a fraction of them (a float)."""
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
        _, documents, total = zip(*same, strict=True)
        yield term, sum(documents), sum(total)
