"""How long the samplers of the first layer take."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from tests.helpers.small_data import X
from tests.helpers.small_networks import rates_of_documents


def test_samplers_of_the_first_layer_are_timed():
    data = np.random.default_rng(0).poisson(0.5, (6, 8))
    found = pg.time_samplers(pg.zoo.pgbn([3, 2]), {"x": data}, burn_in=1, sweeps=2)
    assert sorted(found) == ["blocked", "collapsed", "partial"]
    assert list(found.values()) == sorted(found.values())
    binary = pg.time_samplers(pg.zoo.pgbn([3], link="bernoulli"), {"x": data > 0}, sweeps=1)
    assert list(binary) == ["blocked"]


def test_samplers_that_an_order_excludes_are_left_out() -> None:
    """c is drawn given Σ θ, which samplers that integrate θ out do not keep."""
    order = ["counts(x)", "counts(theta)", "phi", "c", "r", "theta"]
    network = rates_of_documents().with_order(order)
    assert list(pg.time_samplers(network, {"x": X}, burn_in=0, sweeps=1)) == ["blocked"]


@pytest.mark.parametrize(
    ("options", "words"), [({"burn_in": -1}, "burn_in=-1"), ({"sweeps": 0}, "sweeps=0")]
)
def test_numbers_are_checked_first(options: dict[str, int], words: str) -> None:
    with pytest.raises(pg.DataError, match=words):
        pg.time_samplers(pg.zoo.pfa(2), {"x": "no data"}, **options)  # type: ignore[arg-type]
