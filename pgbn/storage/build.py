"""Building a corpus in a folder, in bounded memory; a build that was killed goes on.

1. Texts without a given vocabulary are read once to choose the terms (`term_choice`).
2. The documents are read, counted, and written in blocks of rows.

Now and then what is done is committed: the manifest then names the files that are written, and how
many documents they hold. Who builds again with the same arguments goes on after these.
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

from pgbn.checks import (
    check_flag,
    check_integer,
    check_names,
    check_place,
    is_finite_number,
    is_integral,
)
from pgbn.errors import DataError, StorageError
from pgbn.storage.archive import Group, read_arrays, read_manifest
from pgbn.storage.blocks import BLOCK_ROWS, Corpus, FolderCorpus, name_arrays, read_names
from pgbn.storage.corpus import check_distinct
from pgbn.storage.folders import saying_where
from pgbn.storage.runner import Runner
from pgbn.storage.sources import Batch, DocumentSource, FileReading, source_of
from pgbn.storage.sparse import check_sum, row_arrays
from pgbn.storage.stop_words import TOKEN, with_stop_words

# ---- build settings -----------------------------------------------------------------------------
#
# What a build of a corpus was asked for, as JSON, to compare it when the build goes on.


def digest(names: Sequence[str]) -> str:
    """What tells one list of names from another."""
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()


def as_plain(settings: Mapping[str, Any]) -> Any:
    """Settings as they will be read again."""
    try:
        return json.loads(json.dumps(settings))
    except (TypeError, ValueError) as error:
        raise DataError(f"options: a corpus keeps its options as JSON ({error})") from None


def is_sound(found: Any, fresh: Mapping[str, Any]) -> bool:
    """Whether what a folder says of its build has the form of what a build begins with."""
    if not isinstance(found, dict) or found.keys() != fresh.keys():
        return False
    sizes = [found[key] for key in ("rows", "entries", "read", "block_rows")]
    sizes += found["runs"] if isinstance(found["runs"], list) else [None]
    sizes += [] if found["columns"] is None else [found["columns"]]
    return (
        all(is_integral(size) and 0 <= size < 2**62 for size in sizes)
        and isinstance(found["options"], dict)
        and all(isinstance(found[key], bool) for key in ("complete", "named"))
        and is_finite_number(found["total"])
    )


# ---- term choice --------------------------------------------------------------------------------
#
# Which terms a corpus has, counted in bounded memory: the first of two passes over texts.
#
# A term is kept if min_df ≤ df ≤ max_df, where df is the number of documents that have it, and,
# with ``max_features``, if it is among so many of the largest total count: as scikit-learn's
# CountVectorizer does it. Counts that grow too many are written down, sorted by term, and all that
# was written is merged at the end.


LIMITS = ("min_df", "max_df", "max_features")
MOST_TERMS = 2**20  # that are counted in memory, about
PART = 2**15  # terms of a file

Row = tuple[str, int, int]  # a term, its documents, its total count


def make_vectorizer(options: Mapping[str, Any], vocabulary: Sequence[str] | None = None) -> Any:
    """scikit-learn's CountVectorizer, which cuts texts into terms; limits are not for it."""
    try:
        from sklearn.feature_extraction.text import CountVectorizer
    except ImportError:
        raise DataError("texts need scikit-learn: pip install 'pgbn[cli]'") from None
    chosen = {name: value for name, value in options.items() if name not in LIMITS}
    if "ngram_range" in chosen:
        chosen["ngram_range"] = tuple(chosen["ngram_range"])
    chosen.setdefault("token_pattern", TOKEN)
    names = None if vocabulary is None else list(vocabulary)
    try:
        made = CountVectorizer(vocabulary=names, **with_stop_words(chosen))
        made.build_analyzer()("a sample")
        return made
    except Exception as error:  # an unknown option, a bad pattern: in its own words
        shown = ", ".join(f"{name}={value!r}" for name, value in chosen.items())
        raise DataError(f"no terms could be counted ({shown}): {error}") from None


class TermCounts:
    """The documents and the total count of each term since they were last taken."""

    def __init__(self, analyze: Callable[[str], list[str]]) -> None:
        self.analyze = analyze
        self.documents: Counter[str] = Counter()
        self.total: Counter[str] = Counter()

    def add(self, texts: Iterable[str]) -> None:
        for text in texts:
            terms = self.analyze(text)
            self.total.update(terms)
            self.documents.update(set(terms))

    @property
    def is_full(self) -> bool:
        return len(self.documents) >= MOST_TERMS

    def take(self) -> list[Group]:
        """The counts, sorted by term, as arrays of files of some terms each, so that many runs can
        be merged; afterwards there are none."""
        terms = sorted(self.documents)
        parts = [terms[at : at + PART] for at in range(0, len(terms), PART)]
        found = [
            {
                **name_arrays(part),
                "documents": np.array([self.documents[term] for term in part], np.int64),
                "total": np.array([self.total[term] for term in part], np.int64),
            }
            for part in parts
        ]
        self.documents, self.total = Counter(), Counter()
        return found


def chosen_terms(
    runs: Iterable[Iterable[list[Row]]], rows: int, options: Mapping[str, Any]
) -> list[str]:
    """The terms that are kept, in order, of runs of counts over ``rows`` documents in all; the
    parts of a run are read when they are needed."""
    least = _number_of("min_df", options.get("min_df", 1), rows)
    most = _number_of("max_df", options.get("max_df", 1.0), rows)
    limit = options.get("max_features")
    if limit is not None and (not is_integral(limit) or limit < 1):
        raise DataError(f"max_features={limit!r}: give a whole number from 1 on")
    kept: Iterator[Row] = (row for row in _merged(runs) if least <= row[1] <= most)
    if limit is not None:
        kept = iter(heapq.nlargest(int(limit), kept, key=lambda row: row[2]))
    names = sorted(row[0] for row in kept)
    if not names:
        shown = ", ".join(f"{name}={options[name]!r}" for name in LIMITS if name in options)
        raise DataError(f"no terms remain of {rows} documents ({shown or 'all are empty'})")
    return names


def _number_of(name: str, value: Any, rows: int) -> float:
    """A number of documents, given as one (an int) or as a part of them (a float)."""
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
        documents = total = 0
        for row in same:
            documents, total = documents + row[1], total + row[2]
        yield term, documents, total


def read_run(part: Group) -> list[Row]:
    """The rows of a part that `TermCounts.take` gave, checked."""
    names, counts = read_names(part["text"], part["ends"]), (part["documents"], part["total"])
    if any(each.shape != (len(names),) or each.dtype.kind not in "iu" for each in counts):
        raise StorageError("damaged: not the counts of terms")
    return list(zip(names, *(each.tolist() for each in counts), strict=True))


# ---- build --------------------------------------------------------------------------------------


KIND = "corpus"
COMMIT_BYTES, COMMIT_ROWS = 2**25, 2**18  # what a killed build may have to do again, at most

Report = Callable[[str, int], None]  # what is being done, and the documents that are done


def build_corpus(
    source: Any,
    folder: str | Path,
    *,
    format: str | None = None,
    column: str = "text",
    label: str | None = None,
    encoding: str = "utf-8",
    terms: str | Path | None = None,
    vocabulary: Sequence[str] | None = None,
    block_rows: int = BLOCK_ROWS,
    overwrite: bool = False,
    progress: Report | None = None,
    **options: Any,
) -> FolderCorpus:
    """A corpus in ``folder``, of documents that need not fit into memory.

    ``source`` is a path (a folder of texts; .txt, lines as documents; .csv, .jsonl, .parquet; .mtx,
    .npz, .svmlight; each may be packed by gzip), a list of ``pathlib.Path`` that are read one
    after another, a matrix, an iterable of texts, lists of texts or matrices, or a function that
    gives such an iterable. Texts are read twice, first to choose the terms; an iterator, which can
    be read once, needs a ``vocabulary``. The other arguments and ``options`` are those of
    `pgbn.corpus.read_corpus`; ``progress(what, documents)`` is called now and then.

    A build that was stopped or killed goes on when it is called again with the same arguments (of
    Python iterables only the arguments are compared); a finished one is opened. ``overwrite=True``
    builds anew whatever is there.
    """
    reading = FileReading(format, column, label, encoding, None if terms is None else str(terms))
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
        "vocabulary": None if names is None else digest(names),
    }
    with Runner(folder, KIND, as_plain(settings)) as runner:
        build = _Build(runner, overwrite, progress)
        if not build.content["complete"]:
            with found.prepared(runner.path):
                build.run(found, names, chosen)
    return Corpus.open(folder)


class _Build:
    """A folder while it is built.

    Invariant: the manifest names whole blocks of the first ``content["rows"]`` documents, and what
    the first pass counted in the first ``content["read"]``.
    """

    def __init__(self, runner: Runner, overwrite: bool, progress: Report | None) -> None:
        self.runner, self.folder, self.settings = runner, runner.path, runner.settings or {}
        self.progress = progress or (lambda what, documents: None)
        self.pending: dict[str, Group] = {}
        self.content: dict[str, Any] = {
            "complete": False, "options": self.settings["options"], "named": False,
            "block_rows": self.settings["block_rows"], "rows": 0, "columns": None, "entries": 0,
            "total": 0, "read": 0, "runs": [],
        }  # fmt: skip
        if runner.body is not None and not overwrite:
            self._go_on(runner.body)

    def _go_on(self, body: Mapping[str, Any]) -> None:
        """Take over what a build with the same settings has done."""
        if not self.runner.committed:
            raise StorageError(
                f"{self.folder}: holds a saved {body['kind']}; name another folder, or give "
                "overwrite=True"
            )
        old, new = body["content"].get("settings"), self.settings
        sound = is_sound(body["content"].get("object"), self.content)
        if not isinstance(old, dict) or not old or not sound:
            raise StorageError(f"{self.folder}: damaged; give overwrite=True to build it anew")
        if (other := self.runner.other_setting()) is not None:
            raise DataError(
                f"{self.folder}: a corpus with another {other or 'setting'}: "
                f"{old.get(other)!r:.100}, not {new.get(other)!r:.100}; name another folder, or "
                "give overwrite=True"
            )
        self.content = self.runner.resume()

    # ---- the two passes -----------------------------------------------------------------

    def run(
        self, source: DocumentSource, names: list[str] | None, options: Mapping[str, Any]
    ) -> None:
        """Read the source, and write what it holds."""
        if self.content["named"]:  # a build that goes on
            with saying_where(self.folder):
                arrays = read_arrays(self.folder, read_manifest(self.folder), "vocabulary")
                given: list[str] | None = read_names(arrays["text"], arrays["ends"])
        else:
            given = names if source.terms is None else source.terms
            if given is None and source.repeats and _has_texts(source):
                given = self._choose_terms(source, options)
            if given is not None:
                self.content.update(named=True, columns=len(given))
                self.pending["vocabulary"] = name_arrays(given)
                self._commit()
        self._write_blocks(source, _counting(given, options))

    def _choose_terms(self, source: DocumentSource, options: Mapping[str, Any]) -> list[str]:
        """The first pass: the counts of all terms, and those that are kept."""
        counts, read = TermCounts(make_vectorizer(options).build_analyzer()), self.content["read"]
        since = read
        for batch in source.batches(read):
            counts.add(batch.texts or [])
            read += len(batch.names)
            self.progress("choosing terms", read)
            if counts.is_full or read - since >= COMMIT_ROWS:
                self._commit_terms(counts, read)
                since = read
        if read > since:
            self._commit_terms(counts, read)
        names = chosen_terms(self._runs(), read, options)
        self.content["runs"] = []
        kept = {n: file for n, file in self.runner.groups.items() if not n.startswith("runs/")}
        self.runner.groups = kept
        return names

    def _commit_terms(self, counts: TermCounts, read: int) -> None:
        run = len(self.content["runs"])
        parts = counts.take()
        self.pending |= {f"runs/{run}/{number}": part for number, part in enumerate(parts)}
        self.content.update(read=read, runs=[*self.content["runs"], len(parts)])
        self._commit()

    def _runs(self) -> Iterator[Iterator[list[Row]]]:
        body = read_manifest(self.folder)
        return (self._run(body, run, parts) for run, parts in enumerate(self.content["runs"]))

    def _run(self, body: Mapping[str, Any], run: int, parts: int) -> Iterator[list[Row]]:
        for number in range(parts):  # as many as the manifest says: it may say anything
            with saying_where(self.folder):
                rows = read_run(read_arrays(self.folder, body, f"runs/{run}/{number}"))
            yield rows

    def _write_blocks(self, source: DocumentSource, count: Count) -> None:
        """The second pass: blocks of counts."""
        length, content = self.content["block_rows"], self.content
        names: list[str] = []
        parts: list[sp.csr_array] = []
        for batch in source.batches(content["rows"]):
            parts.append(self._checked(count(batch), len(batch.names)))
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
            raise DataError(f"{source.called}: no documents in it")
        if as_plain({"source": source.description()})["source"] != self.settings["source"]:
            raise DataError(
                f"{source.called}: changed while it was read; give overwrite=True to build it anew"
            )
        content["complete"] = True
        self._commit()

    def _checked(self, counts: sp.csr_array, rows: int) -> sp.csr_array:
        """Counts with as many columns as all others."""
        if self.content["columns"] is None:
            self.content["columns"] = int(counts.shape[1])
        if counts.shape != (rows, self.content["columns"]):
            raise DataError(
                f"source: a batch with {counts.shape[1]} columns after document "
                f"{self.content['rows']}, but the corpus has {self.content['columns']} terms"
            )
        return counts

    def _add_block(self, names: list[str], rows: sp.csr_array) -> None:
        """One more block; now and then all that are new are committed."""
        content, block = self.content, sp.csr_array(rows)
        block.sum_duplicates()
        block.eliminate_zeros()
        number = content["rows"] // content["block_rows"]
        self.pending[f"block/{number}"] = {
            **row_arrays(block.shape, block.indptr, block.indices, block.data),
            **name_arrays(names),
        }
        check_sum(f"source: up to document {content['rows'] + block.shape[0]}", block.data,
                    content["total"])  # fmt: skip
        content["rows"] += block.shape[0]
        content["entries"] += int(block.nnz)
        content["total"] += block.data.sum().item()
        waiting = sum(a.nbytes for arrays in self.pending.values() for a in arrays.values())
        if waiting >= COMMIT_BYTES or len(self.pending) * content["block_rows"] >= COMMIT_ROWS:
            self._commit()

    def _commit(self) -> None:
        """From here on, a build that is killed goes on after what is done now."""
        self.runner.commit(self.content, self.pending)
        self.pending = {}


Count = Callable[[Batch], sp.csr_array]


def _has_texts(source: DocumentSource) -> bool:
    first = next(iter(source.batches()), None)
    return first is not None and first.texts is not None


def _counting(vocabulary: list[str] | None, options: Mapping[str, Any]) -> Count:
    """How the counts of a batch are found."""
    vectorizer = None if vocabulary is None else make_vectorizer(options, vocabulary)

    def count(batch: Batch) -> sp.csr_array:
        if batch.texts is None:
            return batch.counts
        if vectorizer is None:
            raise DataError(
                "source: an iterator of texts can be read once, and the terms are not known; give "
                "vocabulary=, or a function that returns the iterator"
            )
        return sp.csr_array(vectorizer.transform(batch.texts), dtype=np.int64)

    return count
