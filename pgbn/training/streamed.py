"""Write features of a corpus that is larger than memory to a file, block by block.

    features = pgbn.transform_to(model, corpus, "features.npy")     # an array that is on the disk

Rows are written in a hidden folder next to the target and take its name when they are complete.
Each finished block is committed: a run that is stopped or killed continues with the next call. The
result is bit-identical, since a document's features depend only on its counts and the seed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from pgbn.checks import check_choice, check_integer, check_place, check_seed
from pgbn.errors import DataError, PgbnWarning, StorageError
from pgbn.samplers.disk import reserve
from pgbn.samplers.executor import Executor
from pgbn.storage.archive import MANIFEST, is_archive, read_manifest
from pgbn.storage.atomic_files import sync_folder
from pgbn.storage.old_folders import old_features
from pgbn.storage.runner import Runner
from pgbn.training.minibatch.train import as_corpus
from pgbn.training.new_rows import infer
from pgbn.training.trained import TrainedNetwork, check_layer, trained_network

KIND = "features"
TYPES = ("float32", "float64")


def transform_to(
    model: TrainedNetwork,
    X: Any,
    path: str | Path,
    *,
    layer: int | None = 1,
    burn_in: int = 100,
    draws: int = 100,
    seed: int = 0,
    dtype: str = "float32",
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[Any]:
    """Write the mean topic proportions of the documents ``X``, a `pgbn.Corpus` or documents ×
    terms, to the .npy file ``path``, one row for each; returns the array, on the disk.

    ``layer`` is one layer, or None for all layers next to each other. Columns are matched by name
    if both the corpus and the model have names. Memory holds one block of documents.
    ``progress(done, total)`` is called after each block. The same call continues after a stop.
    """
    trained, target = trained_network(model), check_place("path", path)
    chosen = None if layer is None else check_layer(trained, layer, "layer")
    check_integer("burn_in", burn_in, 0)
    check_integer("draws", draws, 1)
    check_choice("dtype", dtype, TYPES)
    if target.suffix != ".npy":
        raise DataError(f"path={str(path)!r}: the name must end in .npy")
    if progress is not None and not callable(progress):
        raise DataError(f"progress={progress!r}: give a function of two numbers, done and total")
    corpus = as_corpus(X, trained.link)
    widths = trained.widths if chosen is None else (trained.widths[chosen - 1],)
    terms = corpus.vocabulary if trained.vocabulary is not None else None
    settings = {
        "model": _of_model(trained), "rows": corpus.shape[0], "columns": corpus.shape[1],
        "terms": _of(repr(terms).encode()), "layer": layer, "burn_in": burn_in, "draws": draws,
        "seed": check_seed(seed), "dtype": dtype,
    }  # fmt: skip

    def features(documents: Any) -> NDArray[np.float64]:
        with warnings.catch_warnings():  # empty documents get the prior; one note a block is noise
            warnings.filterwarnings("ignore", message=".*no known term", category=PgbnWarning)
            found = infer(trained, documents, layers=chosen, burn_in=burn_in,
                          draws=draws, seed=seed, threads=threads, executor=executor,
                          terms=terms, units=False)  # fmt: skip
        return found.features(chosen)

    file = _Rows(target, (corpus.shape[0], sum(widths)), dtype, settings)
    with file.opened(corpus):
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
    """A digest that identifies the model."""
    arrays = (*model.phi, model.r, *model.draws.values())
    known = repr((model.link, model.noise, model.priors)).encode()
    return _of(known, *(np.ascontiguousarray(array).tobytes() for array in arrays))


def _of_documents(before: str, block: Any) -> str:
    """A digest that identifies the documents of a block and of the blocks ``before``, and their
    order."""
    arrays = (block.indptr.astype(np.int64), block.indices.astype(np.int64), block.data)
    return _of(before.encode(), *(array.tobytes() for array in arrays))


class _Rows:
    """Rows of features in a hidden folder next to the target.

    Invariant: those of the first ``blocks`` blocks are on the disk, and the last commit records
    them, with the digest of their ``documents``. Rows of other documents are written anew.
    """

    def __init__(
        self, target: Path, shape: tuple[int, int], dtype: str, settings: Mapping[str, Any]
    ) -> None:
        self.target, self.shape, self.dtype = target, shape, np.dtype(dtype)
        self.runner = Runner(target.with_name(f".{target.name}.work"), KIND, settings)
        self.file = self.runner.path / "rows"

    @contextmanager
    def opened(self, corpus: Any) -> Iterator[None]:
        """Open the rows for writing, after the existing ones."""
        with ExitStack() as stack:
            with self._written():
                self._check_place()
                self._begin(stack.enter_context(self.runner), corpus)
            yield

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Turn failures of the disk into errors that name the target."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise StorageError(f"{self.target}: could not be written ({reason})") from error
        except StorageError as error:
            words = str(error).replace(str(self.runner.path), str(self.target))
            raise StorageError(words) from error

    def _check_place(self) -> None:
        folder = self.runner.path
        if folder.is_symlink() or not self.target.parent.is_dir():
            reason = errno.ELOOP if folder.is_symlink() else errno.ENOENT
            raise OSError(reason, os.strerror(reason))
        if is_archive(folder):
            try:
                read_manifest(folder)
            except StorageError:  # damaged rows are computed anew
                (folder / MANIFEST).unlink(missing_ok=True)

    def _begin(self, runner: Runner, corpus: Any) -> None:
        if runner.body is None:
            runner.body = old_features(self.target, self.file)
        self.blocks, self.documents = self._done(corpus)
        if not self.blocks:
            self._commit()  # first: an old commit would count the empty rows as written
            self.file.unlink(missing_ok=True)
            open_memmap(self.file, "w+", self.dtype, self.shape)
        self.rows = open_memmap(self.file, "r+")
        with self.file.open("r+b") as file:
            reserve(file.fileno(), self.file.stat().st_size)

    def _done(self, corpus: Any) -> tuple[int, str]:
        """The number of blocks that an earlier call wrote, with the same settings and documents."""
        if not self.runner.committed or self.runner.other_setting() is not None:
            return 0, ""
        try:
            place, rows = self.runner.resume(), open_memmap(self.file, "r")
            same = (rows.shape, rows.dtype) == (self.shape, self.dtype)
            blocks = check_integer("blocks", place["blocks"], 0) if same else 0
            documents = ""
            for number in range(min(blocks, corpus.block_count)):
                documents = _of_documents(documents, corpus.block(number))
            same = documents == place["documents"] and blocks <= corpus.block_count
            return (blocks, documents) if same else (0, "")
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return 0, ""

    def _commit(self) -> None:
        self.runner.commit({"blocks": self.blocks, "documents": self.documents}, {})

    def write(self, documents: Any, start: int, features: NDArray[np.float64]) -> None:
        """Write the rows of one block; the commit follows when they are on the disk."""
        self.blocks, self.documents = self.blocks + 1, _of_documents(self.documents, documents)
        with self._written():
            self.rows[start : start + len(features)] = features
            self.rows.flush()
            self._commit()

    def finish(self) -> NDArray[Any]:
        """Give the file its name, and remove the folder."""
        del self.rows
        with self._written():
            os.replace(self.file, self.target)
            sync_folder(self.target.parent)
            (self.runner.path / MANIFEST).unlink()
            self.runner.path.rmdir()
            return np.asanyarray(np.load(self.target, mmap_mode="r", allow_pickle=False))
