"""Simulation-based calibration."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.testing import CalibrationResult, mutants, sbc
from pgbn.testing.calibration import _distance
from tests.same_bits.networks import small_zoo

SIZES = {"doc": 3, "term": 3}


def test_a_right_sampler_has_uniform_ranks_and_a_wrong_one_has_not() -> None:
    network = small_zoo()["pgbn poisson 1"]
    right = sbc(network, SIZES, 400, 19, threads=2)
    assert right.worst > 0.001, right
    assert 1 < right.thin < 100
    mutant = mutants(network)["CRT off by one"]
    wrong = sbc(network, SIZES, 400, 19, right.thin, 0, mutant.sampler, 2, mutant)
    assert wrong.worst < 1e-6, wrong
    assert "#b3261e" in str(wrong.plot())
    assert "corrected p-value" in repr(wrong)


def test_ranks_of_uneven_bins() -> None:
    ranks = np.arange(22).repeat(50)
    result = CalibrationResult({"a": ranks}, 21, 1)
    assert result.histogram("a").sum() == ranks.size
    assert result.p_values["a"] > 0.999
    assert result.worst > 0.999


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_the_distance_is_where_the_autocorrelation_ends(memory: float) -> None:
    generator = np.random.default_rng(0)
    series = np.zeros((2000, 50))
    for t in range(1, 2000):
        series[t] = memory * series[t - 1] + generator.normal(size=50)
    expected = 1 if memory == 0 else np.log(0.05) / np.log(memory)
    assert abs(_distance(series + generator.normal(size=50) * 10, 0.05) - expected) < 4
