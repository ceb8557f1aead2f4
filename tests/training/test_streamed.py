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
from typing import Any

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
SWEEPS: dict[str, Any] = {"burn_in": 3, "draws": 4, "seed": 5}


class Stopped(Exception):
    """A process that ends."""


@pytest.fixture
def corpus(tmp_path: Path) -> pgbn.Corpus:
    return pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=8)


def stop(path: Path, corpus: pgbn.Corpus, at: int = 24) -> None:
    """Leave a call after some rows."""

    def progress(done: int, total: int) -> None:
        assert total == 50
        if done >= at:
            raise Stopped

    with pytest.raises(Stopped):
        MODEL.transform(corpus, path, callback=progress, **SWEEPS)
    assert not path.exists()


def finish(path: Path, documents: Any, **settings: Any) -> list[int]:
    """The rows that were done after each block of a call to the end, which gives the features of
    all documents at one go."""
    seen: list[int] = []
    found = MODEL.transform(documents, path, **SWEEPS | settings,
                              callback=lambda done, total: seen.append(done))  # fmt: skip
    other = path.with_name("at_once.npy")
    whole = MODEL.transform(documents, other, **SWEEPS | settings)
    np.testing.assert_array_equal(found, whole)
    return seen


@pytest.mark.parametrize("layer", [1, 2, None])
def test_features_are_those_of_infer(tmp_path, corpus, layer) -> None:
    found = MODEL.transform(corpus, tmp_path / "f.npy", layer=layer, dtype="float64",
                              **SWEEPS)  # fmt: skip
    with pytest.warns(pgbn.PgbnWarning, match="no known term"):
        whole = MODEL.infer(X, layers=layer, **SWEEPS).features(layer)
    np.testing.assert_array_equal(found, whole)
    np.testing.assert_array_equal(np.load(tmp_path / "f.npy"), whole)
    assert isinstance(found, np.memmap)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "f.npy"]


KILLED = """
import os, signal, sys
import pgbn
from tests.training.test_streamed import MODEL, SWEEPS
corpus, path = sys.argv[1:]
MODEL.transform(pgbn.Corpus.open(corpus), path, **SWEEPS,
                  callback=lambda done, total: done == 24 and os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.mark.parametrize("killed", [False, True])
def test_a_stopped_or_killed_run_goes_on(tmp_path, corpus, killed) -> None:
    path = tmp_path / "f.npy"
    if killed:
        command = [sys.executable, "-c", KILLED, str(tmp_path / "corpus"), str(path)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    else:
        stop(path, corpus)
    assert finish(path, corpus) == [32, 40, 48, 50]


def test_stopped_at_its_end_and_again_at_its_beginning(tmp_path, corpus, monkeypatch) -> None:
    """The note of the first call must not speak of rows that the second has only made room for."""

    def end(*ignored: object, **options: object) -> None:
        raise Stopped

    for name in ("sync_folder", "infer"):
        with monkeypatch.context() as patched:
            patched.setattr(streamed, name, end)
            with pytest.raises(Stopped):
                MODEL.transform(corpus, tmp_path / "f.npy", **SWEEPS)
        if name == "sync_folder":
            assert [f.name for f in (tmp_path / ".f.npy.work").iterdir()] == ["model.json"]
    finish(tmp_path / "f.npy", corpus)


@pytest.mark.parametrize("other", ["settings", "rows", "columns", "blocks"])
def test_other_settings_and_documents_begin_anew(tmp_path, corpus, other) -> None:
    """Documents in another order have the same shape, cells and tokens."""
    stop(tmp_path / "f.npy", corpus)
    Y = {"rows": X[::-1], "columns": X[:, ::-1]}.get(other, X)
    rows = 10 if other == "blocks" else 8
    again = pgbn.Corpus.build(Y, tmp_path / "other", block_rows=rows)
    more = {"draws": 5} if other == "settings" else {}
    assert finish(tmp_path / "f.npy", again, **more)[0] == rows


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
def test_what_is_not_as_it_was_left_is_done_anew(tmp_path, corpus, damage) -> None:
    stop(tmp_path / "f.npy", corpus)
    damage(tmp_path / ".f.npy.work")
    assert finish(tmp_path / "f.npy", corpus)[0] == 8


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / ".f.npy.work").symlink_to(tmp_path / "mine")
    with pytest.raises(StorageError, match=r"f\.npy: could not be written"):
        MODEL.transform(X, tmp_path / "f.npy", **SWEEPS)
    assert not list((tmp_path / "mine").iterdir())


def test_a_second_call_with_the_same_target_is_rejected(tmp_path, corpus) -> None:
    """From another thread, or from this one; the file of the first has its own rows alone."""
    path, rejected = tmp_path / "f.npy", []

    def second() -> None:
        with pytest.raises(StorageError, match=r"/f\.npy: another .* is writing.*another folder"):
            MODEL.transform(corpus, path, burn_in=1, draws=1, seed=6)
        rejected.append(1)

    def begin(done: int, total: int) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(second).result()
        second()

    found = MODEL.transform(corpus, path, callback=begin, **SWEEPS)
    assert len(rejected) == 14
    np.testing.assert_array_equal(found, MODEL.transform(X, tmp_path / "g.npy", **SWEEPS))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["corpus", "f.npy", "g.npy"]


def test_a_full_disk_is_an_error_before_any_work(tmp_path, monkeypatch) -> None:
    def full(*ignored: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StorageError, match=r"f\.npy: could not be written \(No space left"):
        MODEL.transform(X, tmp_path / "f.npy", **SWEEPS)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"out": "f.csv"}, "must end in .npy"),
    ({"dtype": "int8"}, "dtype='int8'"),
    ({"layer": 3}, "layer"),
    ({"draws": 0}, "draws"),
    ({"callback": 3}, "callback=3: give a function"),
    ({"progress": "yes"}, "progress='yes'"),
])  # fmt: skip
def test_wrong_arguments(tmp_path, arguments, words) -> None:
    given = {"out": "f.npy", **arguments}
    path = tmp_path / given.pop("out")
    with pytest.raises(DataError, match=words):
        MODEL.transform(X, path, **given)
