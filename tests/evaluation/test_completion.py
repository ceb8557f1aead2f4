"""Perplexity by completing documents: the split, the chain, and what an estimator hands on."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.errors import PgbnWarning
from pgbn.evaluation import HeldOut, completion_perplexity, split_tokens
from pgbn.training.trained import TrainedNetwork
from tests.helpers.trained import X, model_of


def test_completion_is_split_and_infer_with_the_arguments_given() -> None:
    model, sweeps = model_of(), {"burn_in": 2, "samples": 5, "threads": 1}
    seen, rest = split_tokens(X, 0.3, seed=7)
    expected = HeldOut(rest)
    expected.add(model.phi[0], pgbn.infer(model, seen, layers=1, seed=7, **sweeps)["theta1"])
    found = completion_perplexity(model, X, fraction=0.3, seed=7, **sweeps)
    assert found.perplexity() == expected.perplexity()


def test_documents_are_not_all_split_at_the_same_places() -> None:
    tokens = np.arange(40)[:, None] + np.arange(10)  # ten neighbouring terms a document
    x = np.zeros((40, 50), int)
    np.put_along_axis(x, tokens, 1, axis=1)
    kept = np.take_along_axis(split_tokens(x, 0.5)[0].toarray(), tokens, axis=1)
    assert len(np.unique(kept, axis=0)) > 20


def test_small_probabilities_count_as_they_are() -> None:
    accumulator = HeldOut(np.array([[1, 0]]))
    accumulator.add(np.array([[1e-30, 1.0]]), np.ones((1, 1)))
    assert accumulator.perplexity() == pytest.approx(1e30)


def test_an_estimator_hands_its_settings_on() -> None:
    x = np.random.default_rng(0).poisson(1.0, (20, 8))
    settings = {"burn_in": 6, "collect": 4, "min_width": 0, "random_state": 1}
    model = pgbn.PGBN(5, 2, transform_burn_in=2, transform_samples=5, **settings).fit(x)
    chain = {"burn_in": 2, "samples": 5, "seed": model._seed, "threads": 1}
    found = pgbn.infer(model, x, layers=1, units=False, **chain).features(1)
    np.testing.assert_array_equal(model.transform(x), found)
    expected = completion_perplexity(model, x, fraction=0.3, **chain).perplexity()
    assert model.perplexity(x, fraction=0.3) == expected
    assert model.components_ is model.networks_[-1].phi[0]


def test_perplexity_leaves_out_terms_that_no_topic_has() -> None:
    phi = np.array([[0.5, 0.5, 0.0]])
    model = TrainedNetwork.of_topics((phi,), np.ones(1), np.ones(1))
    with pytest.warns(PgbnWarning, match="1 unknown terms with 9 counts") as caught:
        found = completion_perplexity(model, [[4, 4, 9]], [[2, 2, 0]], burn_in=3, samples=3)
    assert len(caught) == 1
    assert found.perplexity() == pytest.approx(2.0)
