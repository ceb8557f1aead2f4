"""Work that an earlier commit had to stop is continued from its folder, with the same result."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from tests.helpers.saved_kinds import DATA, MINIBATCH

OLDER = Path(__file__).parent / "older"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLDER, tmp_path / "older"))


def counter(seen: list[Any]) -> Any:
    return lambda *event: seen.append(event)


def test_a_run(older: Path) -> None:
    assert pgbn.load(older / "run").interrupted
    seen: list[Any] = []
    found = pgbn.resume(older / "run", progress=False, callback=counter(seen))
    whole = pgbn.zoo.pgbn([3, 2]).sample({"x": DATA}, burn_in=2, draws=3, chains=2, seed=3,
                                         keep=["r", "phi1"], progress=False)  # fmt: skip
    assert len(seen) == 4  # of ten sweeps
    for name in ("r", "phi1"):
        np.testing.assert_array_equal(found[name], whole[name])


def test_minibatches(older: Path) -> None:
    seen: list[Any] = []
    found = pgbn.train_minibatch(DATA, [3, 2], **MINIBATCH, save=older / "minibatch",
                                 callback=counter(seen))  # fmt: skip
    whole = pgbn.train_minibatch(DATA, [3, 2], **MINIBATCH)
    assert len(seen) == 2  # of six steps
    np.testing.assert_array_equal(found.phi[0], whole.phi[0])


def test_a_corpus(older: Path) -> None:
    seen: list[Any] = []
    found = pgbn.Corpus.build(lambda: iter([DATA[:4], DATA[4:8], DATA[8:]]), older / "corpus",
                              block_rows=2, vocabulary=list("abcdefghi"),
                              progress=lambda *event: seen.append(event))  # fmt: skip
    assert len(seen) == 1  # of three batches
    np.testing.assert_array_equal(found.counts.toarray(), DATA)


def test_features(older: Path, tmp_path: Path) -> None:
    model = pgbn.load(Path(__file__).parent / "files" / "trained")
    corpus = pgbn.Corpus.build(np.vstack([DATA] * 5), tmp_path / "corpus", block_rows=16)
    few: dict[str, Any] = {"burn_in": 2, "draws": 2, "threads": 1}
    seen: list[Any] = []
    target = older / "features" / "f.npy"
    found = model.transform(corpus, target, callback=counter(seen), **few)
    whole = model.transform(corpus, tmp_path / "g.npy", **few)
    assert len(seen) == 2  # of four blocks
    np.testing.assert_array_equal(found, whole)
    assert [path.name for path in target.parent.iterdir()] == ["f.npy"]
