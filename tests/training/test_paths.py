"""Paths of all that writes and reads: what is no path is named, and a callback may go elsewhere."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.training.checkpoints import train_with_checkpoints

X = np.random.default_rng(0).poisson(0.5, (12, 6))
NET = zoo.pgbn([3])
MODEL = pgbn.TrainedNetwork.of_topics(phi=(np.full((2, 6), 1 / 6),), r=np.ones(2), c=np.ones(1))
FEW: dict[str, Any] = {"burn_in": 1, "threads": 1}
WRITERS: dict[str, Callable[..., Any]] = {
    "sample": lambda path, away=None: NET.sample(
        {"x": X}, draws=3, chains=2, save=path, minutes=0, callback=away, **FEW
    ),
    "train": lambda path, away=None: train_with_checkpoints(
        X, path, 3, 1, sweeps=3, every=2, share=1e9, callback=away, **FEW
    ),
    "train_minibatch": lambda path, away=None: pgbn.train_minibatch(
        X, [3], batch_size=4, steps=4, save=path, minutes=1e-9, callback=away, progress=False
    ),
    "transform": lambda path, away=None: MODEL.transform(X, path, draws=1, callback=away, **FEW),
    "build": lambda path, away=None: pgbn.Corpus.build(X, path, block_rows=4, progress=away),
}
METHODS = WRITERS | {
    "save": lambda path: pgbn.save(MODEL, path),
    "load": pgbn.load,
    "resume": pgbn.resume,
    "open": pgbn.Corpus.open,
    "read": pgbn.Corpus.read,
    "report": lambda path: MODEL.report(path),
    "picture": lambda path: NET.plot().save(path),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("path", [3, b"x", "", "a\0b", "\ud800", "a" * 300, [], float("nan")])
def test_what_is_no_path_is_named(name: str, path: Any) -> None:
    with pytest.raises(pgbn.PgbnError, match=r"(path|folder|save|out)=") as error:
        METHODS[name](path)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("name", WRITERS)
def test_a_callback_that_goes_to_another_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is written to the folder that was named at the beginning."""
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pgbn.PgbnWarning)
        made = "made.npy" if name == "transform" else "made"
        WRITERS[name](made, lambda *event: os.chdir(other))
    assert list(other.iterdir()) == []
    target = tmp_path / made
    assert np.load(target).any() if name == "transform" else pgbn.load(target) is not None


def test_the_folder_that_one_is_in_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(pgbn.PgbnError, match="'made': the working folder does not exist"):
        WRITERS["train"]("made")


def test_no_model_takes_the_place_of_a_corpus(tmp_path: Path) -> None:
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus")
    for name in ("save", "sample", "train", "train_minibatch"):
        with pytest.raises(pgbn.PgbnError, match=r"holds a corpus|something saved|another corpus"):
            METHODS[name](tmp_path / "corpus")
    assert (pgbn.Corpus.open(tmp_path / "corpus").counts != corpus.counts).nnz == 0
    with pytest.raises(pgbn.StorageError, match=r"nothing to resume: it holds a finished corpus"):
        pgbn.resume(tmp_path / "corpus")


def test_resume_of_minibatches_says_how_to_go_on(tmp_path: Path) -> None:
    def stop(event: Any) -> None:
        if event.step == 2:
            raise KeyError

    with pytest.raises(KeyError):
        WRITERS["train_minibatch"](tmp_path / "m", stop)
    with pytest.raises(pgbn.StorageError, match=r"call pgbn\.train_minibatch again"):
        pgbn.resume(tmp_path / "m")
