"""What is saved beside the arrays: noise and priors, the record of a training and its time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn import checkpoint, storage
from pgbn.training.growing import Progress
from pgbn.training.trained import Priors, TrainedNetwork


def test_noise_and_priors_are_saved(tmp_path: Path) -> None:
    priors = Priors(p=(2.0, 3.0), noise=(4.0, 5.0))
    phi = (np.full((2, 3), 1 / 3),)
    model = TrainedNetwork(phi, np.ones(2), np.ones(1), link="gamma", noise=2.5, priors=priors)
    pgbn.save(model, tmp_path / "model")
    loaded = pgbn.load(tmp_path / "model")
    assert (loaded.noise, loaded.priors) == (2.5, priors)


class Stopped(Exception):
    """Raised in the middle of a training."""


def test_the_record_and_the_time_survive_a_stop(tmp_path: Path) -> None:
    def stop(event: Progress) -> None:
        if event.done == 4:
            raise Stopped

    x = np.random.default_rng(0).poisson(1.0, (20, 8))
    with pytest.raises(Stopped):
        checkpoint.train(
            x, tmp_path, 4, 1, burn_in=4, collect=2, sweeps=1, minutes=None, share=9.0,
            record={"origin": "a test"}, callback=stop, progress=False, threads=1,
        )  # fmt: skip
    saved = checkpoint.read_checkpoint(tmp_path)
    context = saved.context | {"seconds": 1e6}  # as if the first part had been a long one
    checkpoint.Checkpoints(tmp_path, saved.arguments, context=context).save(saved.progress)
    pgbn.resume(tmp_path, progress=False, threads=1)
    record = storage.open_saved(tmp_path).record
    assert record["origin"] == "a test"
    assert record["seconds"] > 1e6
