"""PGBN(learning="estimate"): all layers at once, in seconds, and chains that continue from there."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn


def _documents() -> np.ndarray:
    """200 documents of three groups of words, ten words each."""
    rng = np.random.default_rng(2)
    topics = np.kron(np.eye(3), np.full(10, 0.1))
    return rng.poisson(40 * rng.dirichlet(np.full(3, 0.15), 200) @ topics)


def _quick(**more: object) -> pgbn.PGBN:
    few = {"transform_burn_in": 10, "transform_draws": 10, "min_width": 1, "random_state": 0}
    return pgbn.PGBN((9, 3), learning="estimate", **few, **more)


def test_an_estimate_finds_the_groups_and_removes_empty_topics() -> None:
    model = _quick().fit(_documents())
    assert model.training_.stopped.startswith("an estimate that")
    groups = model.components_ @ np.kron(np.eye(3), np.ones((10, 1)))
    weights = model.training_.deepest.weights
    assert set(groups.argmax(axis=1)) == {0, 1, 2}
    assert weights[0] @ groups.max(axis=1) > 0.8 * weights[0].sum()
    assert all((np.diff(each) <= 0).all() and each.min() >= 1 for each in weights)
    assert model.transform(_documents()).shape == (200, model.widths_[0])


def test_gibbs_continues_from_an_estimate() -> None:
    X = _documents()
    model = _quick().fit(X)
    before = model.training_.deepest
    model.set_params(learning="gibbs", warm_start=True, burn_in=1, sweeps=5).fit(X)
    after = model.training_.deepest
    assert after.widths == before.widths
    assert after.sweeps == before.sweeps + 5


def test_the_same_seed_gives_the_same_estimate() -> None:
    one, two = (_quick(n_jobs=n).fit(_documents()).components_ for n in (1, 2))
    assert np.array_equal(one, two)


def test_learning_is_one_of_three() -> None:
    with pytest.raises(pgbn.DataError, match="'gibbs', 'estimate', 'minibatch'"):
        _quick().set_params(learning="em").fit(_documents())
