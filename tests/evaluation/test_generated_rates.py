"""Generated documents: their lengths, their rates c, and the laws of their numbers."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation import generate_documents, variance_to_mean
from pgbn.training import train_layerwise
from pgbn.training.trained import Priors, TrainedNetwork
from tests.evaluation.test_evaluation import X, model_of


def test_lengths_beyond_a_block() -> None:
    made = generate_documents(model_of(), 300, length=range(300))
    assert made.counts.sum(axis=1).tolist() == list(range(300))


def test_rates_of_the_prior_follow_the_priors_of_the_model() -> None:
    model = model_of(priors=Priors(p=(5.0, 3.0), c=(8.0, 2.0)))
    made = generate_documents(model, 4000, length=9, c="prior")
    # E (1 − p)/p = b / (a − 1) and E c = shape / rate
    np.testing.assert_allclose(made.c.mean(axis=0), [3 / 4, 4.0], rtol=0.08)


def test_rates_at_random_are_those_of_one_training_document() -> None:
    settings = {"burn_in": 5, "collect": 5, "min_width": 1, "threads": 1, "progress": False}
    model = train_layerwise(X, 4, 2, **settings).deepest
    known = set(zip(model.state["p2"].tolist(), model.state["c3"].tolist(), strict=True))
    one, two = (generate_documents(model, 50, length=3, c="random", seed=s).c for s in (1, 2))
    assert set(map(tuple, one.tolist())) <= known
    assert (one != two).any()


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("rate", [0.0, 1.0])
@pytest.mark.filterwarnings("error")
def test_units_that_are_all_zero_give_every_topic_the_same_share(depth: int, rate: float) -> None:
    phi = (np.array([[1.0, 0.0, 0.0], [0.0, 0.4, 0.6]]), np.eye(2))[:depth]
    model = TrainedNetwork(phi, np.zeros(2), np.full(depth, rate))
    made = generate_documents(model, 3, length=4000)
    assert all((units == 0).all() for units in made.theta)
    assert made.counts.sum(axis=1).tolist() == [4000] * 3
    np.testing.assert_allclose(made.counts.mean(axis=0) / 4000, [0.5, 0.2, 0.3], atol=0.03)
    assert generate_documents(model, 3).counts.sum() == 0


@pytest.mark.parametrize("c", ["mean", None, np.ones((3, 2))])
def test_other_rates_are_refused(c: object) -> None:
    with pytest.raises(DataError, match="must be 'median', 'random' or 'prior'"):
        generate_documents(model_of(), 3, c=c)  # type: ignore[arg-type]


def test_real_numbers_have_the_variance_of_their_law() -> None:
    """E (b x − λ)² = 2 λ for x ~ Gam(n, b), n ~ Pois(λ)."""
    phi, r, c = (np.ones((1, 1)),), np.array([4000.0]), np.array([40.0])
    model = TrainedNetwork(phi, r, c, link="gamma", noise=2.0)
    made = generate_documents(model, 20_000, seed=1)
    rate = made.theta[0][:, 0]
    error = made.counts.toarray()[:, 0] * 2.0 - rate
    assert np.mean(error**2 / (2 * rate)) == pytest.approx(1.0, abs=0.05)


def test_the_variance_is_that_of_a_sample() -> None:
    assert variance_to_mean([[0], [2]]).tolist() == [2.0]
