"""Trained networks in folders: noise and priors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn.training.trained import Priors, TrainedNetwork
from pgbn.training.training_result import LayerwiseTraining
from tests.helpers.saved import forge


def test_noise_and_priors_are_saved(tmp_path: Path) -> None:
    priors = Priors(p=(2.0, 3.0), noise=(4.0, 5.0))
    phi = (np.full((2, 3), 1 / 3),)
    model = TrainedNetwork(phi, np.ones(2), np.ones(1), link="gamma", noise=2.5, priors=priors)
    pgbn.save(model, tmp_path / "model")
    loaded = pgbn.load(tmp_path / "model")
    assert (loaded.noise, loaded.priors) == (2.5, priors)


def test_a_training_without_networks_is_refused(tmp_path: Path) -> None:
    model = TrainedNetwork((np.full((2, 3), 1 / 3),), np.ones(2), np.ones(1))
    pgbn.save(LayerwiseTraining((model,), "depth"), tmp_path)
    forge(tmp_path, lambda body: body["content"]["object"].update(networks=[]))
    with pytest.raises(pgbn.StorageError, match="one network or more"):
        pgbn.load(tmp_path)
