"""Topics with document covariates: the law, the effects, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pgbn import Network, NetworkError, zoo
from tests.helpers.recovery import covered

FEATURES = np.array([[0.5, 1.0], [-1.5, 0.0], [1.0, 1.0], [0.2, 0.0]])
MILD = (4.0, 4.0)


def mild(features: Any = FEATURES) -> Network:
    return zoo.covariates(2, features, 1.0, MILD, (8.0, 4.0), MILD)


SIZES = {"doc": 4, "term": 3}


@pytest.mark.long
def test_intervals_cover_the_rates() -> None:
    features = np.random.default_rng(0).normal(size=(12, 2))
    assert 80 <= covered(mild(features), {"doc": 12, "term": 4}) <= 97


def test_effects_are_found() -> None:
    """Documents of the second half use the second topic, and beta says so."""
    rng = np.random.default_rng(1)
    late = np.repeat([0.0, 1.0], 30)
    rates = np.where(late[:, None] > 0, [1.0, 1.0, 12.0, 12.0], [12.0, 12.0, 1.0, 1.0])
    net = zoo.covariates(2, late[:, None])
    draws = net.sample({"x": rng.poisson(rates)}, burn_in=100, draws=100, seed=0)
    phi, beta = draws["phi"][0].mean(axis=0), draws["beta"][0, :, :, 0]
    order = np.argsort(phi[:, :2].sum(axis=1))  # the topic of the late terms first
    difference = beta[:, order[0]] - beta[:, order[1]]
    assert np.quantile(difference, 0.05) > 1.0


REFUSED = {
    "a word": ("years", ["features='years'", "a row for each document"]),
    "a vector": ([1.0, 2.0], ["features=[1.0, 2.0]", "columns of 0 and 1"]),
    "a gap": ([[1.0], [np.nan]], ["not finite"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    features, words = REFUSED[case]
    with pytest.raises(NetworkError) as caught:
        zoo.covariates(2, features)
    assert all(word in str(caught.value) for word in words)


def test_reads_well() -> None:
    text = zoo.covariates(5, FEATURES).explain()
    assert "exp N(Σ" in text
    assert "Σⱼ" in text
    assert "By Lemma" in text
