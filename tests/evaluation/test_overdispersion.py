"""Variance-to-mean ratios and depth."""

import math

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation import (
    generate_documents,
    overdispersion,
    predicted_overdispersion,
    variance_to_mean,
)
from pgbn.training.trained import TrainedNetwork
from tests.helpers.trained import model_of


def identity_model(depth, p, width=3):
    phi = [np.eye(width)] * depth
    c = np.ones(depth)
    c[0] = (1 - p) / p
    return TrainedNetwork.of_topics(tuple(phi), np.array([0.5, 1.0, 2.0]), c)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_depth_multiplies_the_variance_to_mean_ratio(depth):
    """Paper, section 2.2: [1 + (T − 1) p] / (1 − p) for identity matrices and c = 1."""
    p = 0.6
    predicted = predicted_overdispersion(identity_model(depth, p))
    np.testing.assert_allclose(predicted, (1 + (depth - 1) * p) / (1 - p))
    assert overdispersion(depth, p) == pytest.approx(predicted[0])


@pytest.mark.parametrize("depth", [1, 3])
def test_the_empirical_ratio_agrees(depth):
    model = identity_model(depth, 0.6)
    counts = generate_documents(model, 40_000, seed=depth).counts  # Φ^(1) = I: these are the m
    ratio = variance_to_mean(counts)
    np.testing.assert_allclose(ratio, predicted_overdispersion(model), rtol=0.12)


def test_the_ratio_of_a_general_network():
    model = TrainedNetwork.of_topics(
        (np.eye(4), model_of((3,), terms=4).phi[0]), np.ones(3), np.array([0.5, 1.5])
    )
    counts = generate_documents(model, 40_000, seed=0).counts
    np.testing.assert_allclose(variance_to_mean(counts), predicted_overdispersion(model), rtol=0.08)


def test_overdispersion_checks():
    with pytest.raises(DataError, match="p=1"):
        overdispersion(2, 1.0)
    with pytest.raises(DataError, match="2 rates for 1 layers"):
        predicted_overdispersion(identity_model(1, 0.5), [1.0, 1.0])
    for arguments, message in (((1.5, 0.5), "depth=1.5"), ((math.nan, 0.5), "depth=nan"),
                               (("2", 0.5), "depth='2'"), ((2, "a"), "p='a'"),
                               ((2, math.nan), "p=nan"), ((2, -0.1), "p=-0.1")):  # fmt: skip
        with pytest.raises(DataError, match=message):
            overdispersion(*arguments)
    for c in ([-1, 1], [0, 1], [math.nan, 1], [math.inf, 1], "ab", ["a", "b"]):
        with pytest.raises(DataError, match="c"):
            predicted_overdispersion(identity_model(2, 0.5), c)
    assert np.isnan(variance_to_mean(np.zeros((3, 1)))).all()
