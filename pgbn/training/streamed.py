"""Features of a corpus that is larger than memory, to a file, block by block.

    features = pgbn.transform_to(model, corpus, "features.npy")     # an array that is on the disk

Rows are written beside the target and take its name when all are there. What is done is noted after
each block: a run that is stopped or killed goes on when it is called again, with the same bits,
since a document's features depend on its counts and the seed alone. The rows have a fixed name, so
that they are found again, and a lock, so that one call at a time writes them.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from pgbn.checks import check_choice, check_integer, check_place, check_seed
from pgbn.errors import DataError, PgbnWarning, StorageError
from pgbn.samplers.disk import reserve
from pgbn.samplers.executor import Executor
from pgbn.storage.atomic_files import locked_file, new_file, sync_folder
from pgbn.training.minibatch.train import as_corpus
from pgbn.training.new_rows import infer
from pgbn.training.trained import TrainedNetwork, check_layer, trained_network

TYPES = ("float32", "float64")


def transform_to(
    model: TrainedNetwork,
    X: Any,
    path: str | Path,
    *,
    layer: int | None = 1,
    burn_in: int = 100,
    samples: int = 100,
    seed: int = 0,
    dtype: str = "float32",
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[Any]:
    """Write the mean topic proportions of the documents ``X``, a `pgbn.Corpus` or documents ×
    terms, to the .npy file ``path``, one row for each; returns the array, on the disk.

    ``layer`` is one layer, or None for all side by side. Columns are matched by name where both the
    corpus and the model have names. Memory holds one block of documents. ``progress(done, total)``
    is called after each block. The same call goes on after a stop.
    """
    trained, target = trained_network(model), check_place("path", path)
    chosen = None if layer is None else check_layer(trained, layer, "layer")
    check_integer("burn_in", burn_in, 0)
    check_integer("samples", samples, 1)
    check_choice("dtype", dtype, TYPES)
    if target.suffix != ".npy":
        raise DataError(f"path={str(path)!r}: the name must end in .npy")
    if progress is not None and not callable(progress):
        raise DataError(f"progress={progress!r}: give a function of two numbers, done and total")
    corpus = as_corpus(X, trained.link)
    widths = trained.widths if chosen is None else (trained.widths[chosen - 1],)
    terms = corpus.vocabulary if trained.vocabulary is not None else None
    settings = [_of_model(trained), *corpus.shape, _of(repr(terms).encode()), layer, burn_in,
                samples, check_seed(seed), dtype]  # fmt: skip

    def features(documents: Any) -> NDArray[np.float64]:
        with warnings.catch_warnings():  # empty documents get the prior; one note a block is noise
            warnings.filterwarnings("ignore", message=".*no known term", category=PgbnWarning)
            found = infer(trained, documents, layers=chosen, burn_in=burn_in,
                          samples=samples, seed=seed, threads=threads, executor=executor,
                          terms=terms, units=False)  # fmt: skip
        return found.features(chosen)

    part = target.with_name(f".{target.name}.rows")
    with locked_file(part, target):
        file = _Rows(target, part, (corpus.shape[0], sum(widths)), dtype, settings, corpus)
        for number in range(file.blocks, corpus.block_count):
            documents = corpus.block(number)
            file.write(documents, number * corpus.block_rows, features(documents))
            if progress is not None:
                progress(min((number + 1) * corpus.block_rows, corpus.shape[0]), corpus.shape[0])
        return file.finish()


def _of(*parts: bytes) -> str:
    """A digest of bytes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _of_model(model: TrainedNetwork) -> str:
    """What tells other models."""
    arrays = (*model.phi, model.r, *model.draws.values())
    known = repr((model.link, model.noise, model.priors)).encode()
    return _of(known, *(np.ascontiguousarray(array).tobytes() for array in arrays))


def _of_documents(before: str, block: Any) -> str:
    """What tells other documents, or the same ones in another order, from those of a block and of
    the blocks ``before``."""
    arrays = (block.indptr.astype(np.int64), block.indices.astype(np.int64), block.data)
    return _of(before.encode(), *(array.tobytes() for array in arrays))


class _Rows:
    """A file of rows that grows, ``part``, whose lock the caller has.

    Invariant: the rows of the first ``blocks`` blocks are on the disk, and the note beside them
    says so, with the digest of their ``documents``: those of others are written anew.
    """

    def __init__(
        self,
        target: Path,
        part: Path,
        shape: tuple[int, int],
        dtype: str,
        settings: Sequence[Any],
        corpus: Any,
    ) -> None:
        self.target, self.part, self.settings = target, part, json.loads(json.dumps(list(settings)))
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.note = target.with_name(f".{target.name}.json")
        with self._written():
            self.blocks, self.documents = self._done(corpus)
            if not self.blocks:
                # the note goes first: an old one would take the empty rows for written ones
                self.note.unlink(missing_ok=True)
                open_memmap(self.part, "w+", self.dtype, shape)
            self.rows = open_memmap(self.part, "r+")
            with self.part.open("r+b") as file:
                reserve(file.fileno(), self.part.stat().st_size)

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Failures of the disk in words."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise StorageError(f"{self.target}: could not be written ({reason})") from error

    def _done(self, corpus: Any) -> tuple[int, str]:
        """The blocks that an earlier call has written, with the same settings and documents."""
        try:
            note = json.loads(self.note.read_text("utf-8"))
            rows = open_memmap(self.part, "r")
            same = note["settings"] == self.settings
            same = same and (rows.shape, rows.dtype) == (self.shape, self.dtype)
            blocks = check_integer("blocks", note["blocks"], 0) if same else 0
            documents = ""
            for number in range(min(blocks, corpus.block_count)):
                documents = _of_documents(documents, corpus.block(number))
            same = documents == note["documents"] and blocks <= corpus.block_count
            return (blocks, documents) if same else (0, "")
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return 0, ""

    def write(self, documents: Any, start: int, features: NDArray[np.float64]) -> None:
        """The rows of one block; when they are on the disk, the note says so."""
        self.blocks, self.documents = self.blocks + 1, _of_documents(self.documents, documents)
        note = {"settings": self.settings, "blocks": self.blocks, "documents": self.documents}
        with self._written():
            self.rows[start : start + len(features)] = features
            self.rows.flush()
            with new_file(self.note) as file:
                file.write(json.dumps(note).encode())

    def finish(self) -> NDArray[Any]:
        """The file takes its name."""
        del self.rows
        with self._written():
            os.replace(self.part, self.target)
            self.note.unlink(missing_ok=True)
            sync_folder(self.target.parent)
            return np.asanyarray(np.load(self.target, mmap_mode="r", allow_pickle=False))
