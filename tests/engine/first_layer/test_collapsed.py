"""The first layer with φ and θ integrated out."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.testing import geweke
from tests.helpers.language import scaled_mix
from tests.helpers.small_data import corpus
from tests.helpers.small_networks import topics_of_gammas


@pytest.mark.parametrize("build", [lambda: pg.zoo.pgbn([24, 20, 17]), scaled_mix, topics_of_gammas])
def test_overlapping_the_steps_changes_nothing(build) -> None:
    usual, plain = (
        build().chain({"x": corpus()}, seed=3, sampler="collapsed", threads=2) for _ in range(2)
    )
    plain._first_layer.mix = None  # one step after the other
    usual.sweep(2), plain.sweep(2)
    assert np.array_equal(usual._first_layer.tokens.labels, plain._first_layer.tokens.labels)
    for name, value in plain.values.items():
        assert np.array_equal(usual.values[name], value)


def test_tables_of_other_rows_wait_for_the_counts_of_the_data() -> None:
    """φ2 is a gamma: its tables have a row a topic, while the collapsed sampler goes by document."""
    sizes = {"doc": 3, "term": 4}
    assert geweke(topics_of_gammas(), sizes, 4000, 6, seed=1, sampler="collapsed").worst < 4


def test_many_tokens_are_counted_without_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers, with four bytes less for each token."""
    X = np.random.default_rng(3).poisson(0.5, (60, 20))
    found = []
    for many in (10**7, 1):
        monkeypatch.setattr("pgbn.engine.first_layer.samplers._MANY", many)
        chain = pg.zoo.pgbn([8, 4]).chain({"x": X}, sampler="partial", threads=2).sweep(3)
        found.append((chain.counts["phi1"], "order" in vars(chain._first_layer.tokens)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert [ordered for _, ordered in found] == [True, False]
