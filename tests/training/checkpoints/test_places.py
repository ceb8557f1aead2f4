"""Relative paths of verbs that write, with callbacks that change the working folder."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn import checkpoint, zoo
from tests.helpers.short_training import QUICK, X

Away = Callable[..., None]


def train(away: Away) -> None:
    checkpoint.train(X, "made", 6, 1, sweeps=2, share=1e9, callback=away, **QUICK)


def sample(away: Away) -> None:
    zoo.pfa(3).sample({"x": X}, burn_in=3, draws=3, chains=2, save="made", minutes=0,
                      callback=away, threads=1)  # fmt: skip


def minibatches(away: Away) -> None:
    pgbn.train_minibatch(X, [4], batch_size=20, steps=4, save="made", minutes=1e-9, callback=away,
                         threads=1, progress=False)  # fmt: skip


def transform(away: Away) -> None:
    model = pgbn.train_layerwise(X, 4, 1, **QUICK).deepest
    pgbn.transform_to(model, X, "made.npy", burn_in=1, samples=1, threads=1, progress=away)


def build(away: Away) -> None:
    texts = Path("texts.txt").absolute()
    texts.write_text("one two three\ntwo three four\n" * 20)
    pgbn.Corpus.build(texts, "made", min_df=1, block_rows=4, progress=away)


@pytest.mark.parametrize("verb", [train, sample, minibatches, transform, build])
def test_a_callback_that_goes_to_another_folder(
    verb: Callable[[Away], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is written to the folder that was named at the beginning."""
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pgbn.PgbnWarning)
        verb(lambda *event: os.chdir(other))
    assert list(other.iterdir()) == []
    made = next(tmp_path.glob("made*"))
    assert np.load(made).any() if made.suffix == ".npy" else pgbn.load(made) is not None


def test_the_folder_that_one_is_in_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(pgbn.PgbnError, match="'made': the folder that one is in is gone"):
        train(lambda *event: None)
