"""Trained networks in folders: noise and priors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import pgbn
from pgbn.training.trained import Priors, TrainedNetwork


def test_noise_and_priors_are_saved(tmp_path: Path) -> None:
    priors = Priors(p=(2.0, 3.0), noise=(4.0, 5.0))
    phi = (np.full((2, 3), 1 / 3),)
    model = TrainedNetwork(phi, np.ones(2), np.ones(1), link="gamma", noise=2.5, priors=priors)
    pgbn.save(model, tmp_path / "model")
    loaded = pgbn.load(tmp_path / "model")
    assert (loaded.noise, loaded.priors) == (2.5, priors)
