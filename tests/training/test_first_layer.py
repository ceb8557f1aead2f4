"""The sampler of the first layer that a training chooses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import checkpoint
from pgbn.engine.first_layer import Blocked
from tests.helpers.short_training import QUICK, X


def samplers_of(data: Any, width: int, depth: int = 1, **arguments: Any) -> set[str]:
    seen: set[str] = set()

    def note(event: pgbn.Progress) -> None:
        seen.add(event.chain.layer1)

    pgbn.train_layerwise(data, width, depth, callback=note, **QUICK | arguments)
    return seen


LARGE = np.random.default_rng(1).poisson(100 * np.outer(np.ones(12), np.arange(1, 11)) / 5)


def test_auto_goes_by_the_cost_of_the_data_and_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    assert samplers_of(X, 6) == {"collapsed"}
    assert samplers_of(LARGE, 3) == {"blocked"}
    assert samplers_of(LARGE, 60) == {"collapsed"}
    assert samplers_of(LARGE, 3, layer1="collapsed") == {"collapsed"}
    monkeypatch.setattr("pgbn.training.layerwise.MOST_TOKENS", 100)
    assert samplers_of(X, 6) == {"blocked"}


def test_auto_takes_masked_cells() -> None:
    mask = np.random.default_rng(0).random(X.shape) < 0.1
    assert samplers_of(np.ma.masked_array(X, mask), 4) == {"blocked"}
    assert samplers_of(np.ma.masked_array(X, mask & False), 4) == {"collapsed"}


def test_layer_by_layer_is_the_chain_of_one_go_though_the_first_layer_is_pruned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the first 40 topics "collapsed" is chosen, at those that are left "blocked" would be."""

    def for_fewer(counts: Any, documents: int, vocabulary: int, topics: int) -> float:
        return 0.0 if topics < 40 else np.inf

    monkeypatch.setattr(Blocked, "nanoseconds", for_fewer)
    topics = np.random.default_rng(0).dirichlet([0.1] * 30, 3)
    data = np.random.default_rng(1).poisson(X[:, :3] @ topics * 8)
    settings = QUICK | {"burn_in": [80, 5]}
    seen: set[str] = set()
    whole = pgbn.train_layerwise(
        data, 40, 2, callback=lambda event: seen.add(event.chain.layer1), **settings
    )
    assert seen == {"collapsed"}
    assert whole.widths[0] < 40
    first = pgbn.train_layerwise(data, 40, 1, **settings | {"burn_in": 80})
    second = pgbn.train_layerwise(data, 40, 2, start_from=first, **settings)
    assert np.array_equal(whole.deepest.r, second.deepest.r)
    assert np.array_equal(whole.deepest.phi[0], second.deepest.phi[0])


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("at", [3, 14])
def test_a_resumed_training_has_the_sampler_it_had(
    tmp_path: Path, at: int, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another version of pgbn would choose otherwise."""
    data = np.ma.masked_array(LARGE, np.eye(*LARGE.shape, dtype=bool)) if masked else LARGE
    whole = pgbn.train_layerwise(data, 4, 2, **QUICK)

    def stop(event: pgbn.Progress) -> None:
        if event.done == at + 1:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        checkpoint.train(data, tmp_path, 4, 2, sweeps=1, share=1e9, **QUICK | {"callback": stop})
    monkeypatch.setattr(Blocked, "nanoseconds", lambda *sizes: np.inf)
    resumed = pgbn.resume(tmp_path, progress=False)
    assert np.array_equal(resumed.deepest.r, whole.deepest.r)
    assert np.array_equal(resumed.deepest.phi[0], whole.deepest.phi[0])
