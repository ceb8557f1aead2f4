"""Write features of a corpus that is larger than memory to a file, block by block.

    features = model.transform(corpus, "features.npy")     # an array that is on the disk

Rows are written in a hidden folder next to the target and take its name when they are complete.
Each finished block is committed: a run that is stopped or killed continues with the next call. The
result is bit-identical, since a document's features depend only on its counts and the seed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from pgbn.checks import check_choice, check_flag, check_integer, check_place, check_seed
from pgbn.errors import DataError, PgbnWarning, StorageError, tell
from pgbn.samplers.disk import reserve
from pgbn.samplers.executor import Executor
from pgbn.storage.archive import MANIFEST, is_archive, read_manifest
from pgbn.storage.atomic_files import sync_folder
from pgbn.storage.corpus import counts_of
from pgbn.storage.old_folders import old_features
from pgbn.storage.runner import Runner
from pgbn.training.minibatch.train import as_corpus
from pgbn.training.new_rows import infer
from pgbn.training.trained import TrainedNetwork, check_layer, trained_network

KIND = "features"
TYPES = ("float32", "float64")
_SECONDS = 5.0  # between two lines of progress


def transform(
    model: Any,
    X: Any,
    out: str | Path | None,
    *,
    layer: int | None,
    burn_in: int,
    draws: int,
    seed: int,
    dtype: str | None,
    threads: int | None,
    executor: Executor | None,
    progress: bool,
    callback: Callable[[int, int], None] | None,
) -> NDArray[Any]:
    """See `pgbn.TrainedNetwork.transform`."""
    trained = trained_network(model)
    chosen = None if layer is None else check_layer(trained, layer, "layer")
    check_integer("burn_in", burn_in, 0)
    check_integer("draws", draws, 1)
    if dtype is not None:
        check_choice("dtype", dtype, TYPES)
    check_flag("progress", progress)
    if callback is not None and not callable(callback):
        raise DataError(f"callback={callback!r}: give a function of two numbers, done and total")
    sampling: dict[str, Any] = {
        "layers": chosen, "burn_in": burn_in, "draws": draws, "seed": seed, "threads": threads,
        "executor": executor, "units": False,
    }  # fmt: skip
    if out is None:
        found = infer(trained, counts_of(X), **sampling).features(chosen)
        return found.astype(dtype or np.float64, copy=False)
    target = check_place("out", out)
    if target.suffix != ".npy":
        raise DataError(f"out={str(out)!r}: the name must end in .npy")
    corpus = as_corpus(X, trained.link)
    total, dtype = corpus.shape[0], dtype or "float32"
    widths = trained.widths if chosen is None else (trained.widths[chosen - 1],)
    terms = corpus.vocabulary if trained.vocabulary is not None else None
    settings = {
        "model": _of_model(trained), "rows": total, "columns": corpus.shape[1],
        "terms": _of(repr(terms).encode()), "layer": layer, "burn_in": burn_in, "draws": draws,
        "seed": check_seed(seed), "dtype": dtype,
    }  # fmt: skip
    listeners = [each for each in (_Notes() if progress else None, callback) if each is not None]

    def features(documents: Any) -> NDArray[np.float64]:
        with warnings.catch_warnings():  # empty documents get the prior; one note a block is noise
            warnings.filterwarnings("ignore", message=".*no known term", category=PgbnWarning)
            return infer(trained, documents, terms=terms, **sampling).features(chosen)

    file = _Rows(target, (total, sum(widths)), dtype, settings)
    with file.opened(corpus):
        for number in range(file.blocks, corpus.block_count):
            documents = corpus.block(number)
            file.write(documents, number * corpus.block_rows, features(documents))
            for listener in listeners:
                listener(min((number + 1) * corpus.block_rows, total), total)
        return file.finish()


class _Notes:
    """Prints how many documents are done, every few seconds and at the end."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() - self.last >= _SECONDS or done == total:
            self.last = time.monotonic()
            tell(f"{done} of {total} documents")


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
