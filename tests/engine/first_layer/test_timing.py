"""How long the samplers of the first layer take."""

from __future__ import annotations

import numpy as np

import pgbn as pg


def test_samplers_of_the_first_layer_are_timed():
    X = np.random.default_rng(0).poisson(0.5, (6, 8))
    found = pg.time_samplers(pg.zoo.pgbn([3, 2]), {"x": X}, burn_in=1, sweeps=2)
    assert sorted(found) == ["blocked", "collapsed", "partial"]
    assert list(found.values()) == sorted(found.values())
    binary = pg.time_samplers(pg.zoo.pgbn([3], link="bernoulli"), {"x": X > 0}, sweeps=1)
    assert list(binary) == ["composed"]
