"""Scores of samples: near 0 where the claim is right, large where it is wrong."""

import numpy as np
import pytest
from scipy import stats

from pgbn.errors import DataError
from pgbn.testing.edges import z_counts, z_mean

RNG = np.random.default_rng(0)
POISSON = RNG.poisson(3.0, 20_000)


def test_right_claims_pass_and_wrong_ones_do_not():
    assert abs(z_mean(POISSON, 3.0)) < 4
    assert z_mean(POISSON, 2.9) > 4
    assert z_mean(POISSON, 3.1) < -4
    assert abs(z_counts(POISSON, stats.poisson(3.0).pmf)) < 4
    assert z_counts(POISSON, stats.poisson(3.2).pmf) > 4
    assert z_counts(POISSON, stats.nbinom(3, 0.5).pmf) > 4


def test_scores_of_right_claims_are_standard_normal():
    scores = [z_mean(RNG.exponential(2.0, 500), 2.0) for _ in range(400)]
    assert abs(np.mean(scores)) < 0.25
    assert 0.85 < np.std(scores) < 1.15


def test_impossible_draws_and_certain_ones():
    assert z_counts([0, 1, 1, 7], lambda n: np.where(n < 2, 0.5, 0.0)) == float("inf")
    assert z_mean([2.0, 2.0, 2.0], 2.0) == 0.0
    assert z_mean([2.0, 2.0, 2.0], 1.0) == float("inf")
    with pytest.raises(DataError, match="give at least 2"):
        z_mean([1.0], 1.0)
    for wrong in ([1], [-1, 2], [0.5, 1.0]):
        with pytest.raises(DataError, match="whole numbers from 0 on"):
            z_counts(wrong, stats.poisson(1.0).pmf)
