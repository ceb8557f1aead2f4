"""Features to a file: those of `infer`, block by block, and after a stop."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError, StorageError
from pgbn.training import streamed
from tests.helpers.saved import forge

RNG = np.random.default_rng(0)
X = RNG.poisson(0.5, (50, 12))
X[7] = 0
MODEL = pgbn.TrainedNetwork.of_topics(
    phi=(RNG.dirichlet(np.ones(12), 4), RNG.dirichlet(np.ones(4), 3)), r=np.ones(3), c=np.ones(2)
)
SWEEPS = {"burn_in": 3, "samples": 4, "seed": 5}


class Stopped(Exception):
    """A process that ends."""


@pytest.mark.parametrize("layer", [1, 2, None])
def test_features_are_those_of_infer(tmp_path, layer) -> None:
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=8)
    found = pgbn.transform_to(MODEL, corpus, tmp_path / "f.npy", layer=layer, dtype="float64",
                              **SWEEPS)  # fmt: skip
    with pytest.warns(pgbn.PgbnWarning, match="no known term"):
        whole = pgbn.infer(MODEL, X, layers=layer, **SWEEPS).features(layer)
    np.testing.assert_array_equal(found, whole)
    np.testing.assert_array_equal(np.load(tmp_path / "f.npy"), whole)
    assert isinstance(found, np.memmap)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "f.npy"]


def test_a_stopped_run_goes_on(tmp_path) -> None:
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=8)

    def stop(done: int, total: int) -> None:
        assert total == 50
        if done >= 24:
            raise Stopped

    with pytest.raises(Stopped):
        pgbn.transform_to(MODEL, corpus, tmp_path / "f.npy", progress=stop, **SWEEPS)
    assert not (tmp_path / "f.npy").exists()
    seen: list[int] = []
    found = pgbn.transform_to(MODEL, corpus, tmp_path / "f.npy",
                              progress=lambda done, total: seen.append(done), **SWEEPS)  # fmt: skip
    assert seen == [32, 40, 48, 50]
    at_once = pgbn.transform_to(MODEL, X, tmp_path / "g.npy", **SWEEPS)
    np.testing.assert_array_equal(found, at_once)


KILLED = """
import os, signal, sys
import pgbn
from tests.training.test_streamed import MODEL, SWEEPS
corpus, path = sys.argv[1:]
pgbn.transform_to(MODEL, pgbn.Corpus.open(corpus), path, **SWEEPS,
                  progress=lambda done, total: done == 24 and os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_killed_process_holds_no_lock_and_its_rows_are_continued(tmp_path) -> None:
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=8)
    path = tmp_path / "f.npy"
    command = [sys.executable, "-c", KILLED, str(tmp_path / "corpus"), str(path)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    seen: list[int] = []
    found = pgbn.transform_to(MODEL, corpus, path, **SWEEPS,
                              progress=lambda done, total: seen.append(done))  # fmt: skip
    assert seen == [32, 40, 48, 50]
    np.testing.assert_array_equal(found, pgbn.transform_to(MODEL, X, tmp_path / "g.npy", **SWEEPS))


def test_stopped_at_its_end_and_again_at_its_beginning(tmp_path, monkeypatch) -> None:
    """The note of the first call must not speak of rows that the second has only made room for."""
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=8)
    path = tmp_path / "f.npy"

    def stop(*ignored: object, **options: object) -> None:
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(streamed, "sync_folder", stop)
        with pytest.raises(Stopped):
            pgbn.transform_to(MODEL, corpus, path, **SWEEPS)
    assert [each.name for each in (tmp_path / ".f.npy.work").iterdir()] == ["model.json"]
    with monkeypatch.context() as patched:
        patched.setattr(streamed, "infer", stop)
        with pytest.raises(Stopped):
            pgbn.transform_to(MODEL, corpus, path, **SWEEPS)
    found = pgbn.transform_to(MODEL, corpus, path, **SWEEPS)
    np.testing.assert_array_equal(found, pgbn.transform_to(MODEL, X, tmp_path / "g.npy", **SWEEPS))


def test_other_settings_begin_anew(tmp_path) -> None:
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=8)

    def stop(done: int, total: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        pgbn.transform_to(MODEL, corpus, tmp_path / "f.npy", progress=stop, **SWEEPS)
    seen: list[int] = []
    pgbn.transform_to(MODEL, corpus, tmp_path / "f.npy", burn_in=3, samples=5,
                      progress=lambda done, total: seen.append(done))  # fmt: skip
    assert seen[0] == 8


@pytest.mark.parametrize("other", ["rows", "columns", "blocks"])
def test_other_documents_begin_anew(tmp_path, other) -> None:
    """Documents in another order have the same shape, cells and tokens."""
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=8)

    def stop(done: int, total: int) -> None:
        if done >= 24:
            raise Stopped

    with pytest.raises(Stopped):
        pgbn.transform_to(MODEL, corpus, tmp_path / "f.npy", progress=stop, **SWEEPS)
    Y = {"rows": X[::-1], "columns": X[:, ::-1], "blocks": X}[other]
    again = pgbn.Corpus.build(Y, tmp_path / "other", block_rows=10 if other == "blocks" else 8)
    found = pgbn.transform_to(MODEL, again, tmp_path / "f.npy", **SWEEPS)
    np.testing.assert_array_equal(found, pgbn.transform_to(MODEL, Y, tmp_path / "g.npy", **SWEEPS))


def forged(**change: object) -> Callable[[Path], None]:
    """A commit that says something else, with a checksum that is right."""
    return lambda folder: forge(folder, lambda body: body["content"]["object"].update(change))


@pytest.mark.parametrize("damage", [
    lambda folder: (folder / "rows").write_bytes((folder / "rows").read_bytes()[:200]),
    lambda folder: (folder / "rows").write_bytes(b""),
    lambda folder: np.save((folder / "rows").open("wb"), np.zeros((3, 2))),
    lambda folder: (folder / "model.json").write_text("{}"),
    forged(blocks=float("inf")), forged(blocks=-2), forged(blocks=99), forged(documents=None),
])  # fmt: skip
def test_what_is_not_as_it_was_left_is_done_anew(tmp_path, damage) -> None:
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=8)

    def stop(done: int, total: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        pgbn.transform_to(MODEL, corpus, tmp_path / "f.npy", progress=stop, **SWEEPS)
    damage(tmp_path / ".f.npy.work")
    seen: list[int] = []
    found = pgbn.transform_to(MODEL, corpus, tmp_path / "f.npy", **SWEEPS,
                              progress=lambda done, total: seen.append(done))  # fmt: skip
    assert seen[0] == 8
    assert np.array_equal(found, pgbn.transform_to(MODEL, corpus, tmp_path / "g.npy", **SWEEPS))


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / ".f.npy.work").symlink_to(tmp_path / "mine")
    with pytest.raises(StorageError, match=r"f\.npy: could not be written"):
        pgbn.transform_to(MODEL, X, tmp_path / "f.npy", **SWEEPS)
    assert not list((tmp_path / "mine").iterdir())


def test_a_second_call_with_the_same_target_is_rejected(tmp_path) -> None:
    """From another thread, or from this one; the file of the first has its own rows alone."""
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=8)
    path, rejected = tmp_path / "f.npy", []

    def second() -> None:
        with pytest.raises(StorageError, match=r"/f\.npy: another .* is writing.*another folder"):
            pgbn.transform_to(MODEL, corpus, path, burn_in=1, samples=1, seed=6)
        rejected.append(1)

    def begin(done: int, total: int) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(second).result()
        second()

    found = pgbn.transform_to(MODEL, corpus, path, progress=begin, **SWEEPS)
    assert len(rejected) == 14
    np.testing.assert_array_equal(found, pgbn.transform_to(MODEL, X, tmp_path / "g.npy", **SWEEPS))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["corpus", "f.npy", "g.npy"]


def test_a_full_disk_is_an_error_before_any_work(tmp_path, monkeypatch) -> None:
    def full(*ignored: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StorageError, match=r"f\.npy: could not be written \(No space left"):
        pgbn.transform_to(MODEL, X, tmp_path / "f.npy", **SWEEPS)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"path": "f.csv"}, "must end in .npy"),
    ({"dtype": "int8"}, "dtype='int8'"),
    ({"layer": 3}, "layer"),
    ({"samples": 0}, "samples"),
    ({"progress": 3}, "progress=3: give a function"),
])  # fmt: skip
def test_wrong_arguments(tmp_path, arguments, words) -> None:
    given = {"path": "f.npy", **arguments}
    path = tmp_path / given.pop("path")
    with pytest.raises(DataError, match=words):
        pgbn.transform_to(MODEL, X, path, **given)
