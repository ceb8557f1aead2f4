"""What Ctrl-C leaves of an estimator."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.storage.stopping import Interrupted


def counts() -> Any:
    return np.random.default_rng(0).poisson(1.0, (12, 9))


def test_an_estimator_keeps_what_was_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    estimators = pytest.importorskip("pgbn.estimators.pgbn")
    seen = []

    def report(self: Any, progress: Any) -> None:
        seen.append(progress.done)
        if progress.done == 26:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(estimators.Reporter, "__call__", report)
    model = pgbn.PGBN(5, 2, burn_in=10, collect=10, random_state=0, warm_start=True)
    with pytest.raises(Interrupted, match=r"sweep 26 of 40; the estimator keeps"):
        model.fit(counts())
    assert seen[-1] == 26
    assert len(model.widths_) == 2
    assert model.n_iter_ == 26
    assert np.isfinite(model.transform(counts())).all()
    model.fit(counts())
    assert model.n_iter_ == 36


def test_a_stopped_estimator_keeps_its_priors_and_one_killed_in_a_sweep_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    estimators = pytest.importorskip("pgbn.estimators.pgbn")
    presses = 1

    def report(self: Any, progress: Any) -> None:
        for _ in range(presses):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(estimators.Reporter, "__call__", report)
    priors = pgbn.Priors(gamma0=(2.0, 3.0))
    model = pgbn.PFA(3, burn_in=4, collect=4, priors=priors, random_state=0)
    with pytest.raises(Interrupted):
        model.fit(counts())
    assert model.training_.deepest.priors == priors
    assert (model.link_, model.n_features_in_) == ("poisson", 9)
    kept, presses = dict(vars(model)), 2
    with pytest.raises(KeyboardInterrupt):
        model.fit(counts()[:, :5])
    assert vars(model) == kept
