"""Every verb that takes a path says so when it gets none, before any work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.corpus import read_corpus

X = np.random.default_rng(0).poisson(0.5, (12, 6))
NET = zoo.pgbn([3])
MODEL = pgbn.TrainedNetwork.of_topics(phi=(np.full((2, 6), 1 / 6),), r=np.ones(2), c=np.ones(1))
VERBS: dict[str, Callable[[Any], Any]] = {
    "save": lambda path: pgbn.save(MODEL, path),
    "load": pgbn.load,
    "resume": pgbn.resume,
    "sample": lambda path: NET.sample({"x": X}, burn_in=1, draws=1, save=path),
    "train": lambda path: pgbn.checkpoint.train(X, path, 3, 1, burn_in=1, collect=1),
    "train_minibatch": lambda path: pgbn.train_minibatch(X, [3], batch_size=4, save=path),
    "transform_to": lambda path: pgbn.transform_to(MODEL, X, path),
    "build": lambda path: pgbn.Corpus.build(X, path),
    "open": pgbn.Corpus.open,
    "read": read_corpus,
    "report": lambda path: MODEL.report(path),
    "picture": lambda path: NET.plot().save(path),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("path", [3, b"x", "", "a\0b", "\ud800", "a" * 300, [], float("nan")])
def test_what_is_no_path_is_named(verb: str, path: Any) -> None:
    with pytest.raises(pgbn.PgbnError, match=r"(path|folder|save)=") as error:
        VERBS[verb](path)
    assert len(str(error.value)) < 200


def test_no_model_takes_the_place_of_a_corpus(tmp_path: Path) -> None:
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus")
    for verb in ("save", "sample", "train", "train_minibatch"):
        with pytest.raises(pgbn.PgbnError, match=r"holds a corpus|something saved|another corpus"):
            VERBS[verb](tmp_path / "corpus")
    assert (pgbn.Corpus.open(tmp_path / "corpus").counts != corpus.counts).nnz == 0
    with pytest.raises(pgbn.StorageError, match=r"nothing to resume: it holds a finished corpus"):
        pgbn.resume(tmp_path / "corpus")


def test_resume_of_minibatches_says_how_to_go_on(tmp_path: Path) -> None:
    def stop(event: Any) -> None:
        if event.step == 2:
            raise KeyError

    with pytest.raises(KeyError):
        pgbn.train_minibatch(X, [3], batch_size=4, steps=3, save=tmp_path / "m", minutes=1e-9,
                             callback=stop, progress=False)  # fmt: skip
    with pytest.raises(pgbn.StorageError, match=r"call pgbn\.train_minibatch again"):
        pgbn.resume(tmp_path / "m")
