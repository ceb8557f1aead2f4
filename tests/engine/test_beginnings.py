"""Where chains begin: values within bounds, of their own for every node and every chain."""

from __future__ import annotations

import numpy as np

import pgbn as pg


def test_chains_begin_with_labels_of_their_own() -> None:
    data = {"x": np.full((20, 6), 3)}
    init = {"phi1": np.full((3, 6), 1 / 6), "theta1": np.ones((20, 3))}
    one, two = (
        pg.zoo.pfa(3).chain(data, chain=number, init=init, layer1="collapsed", threads=1)
        for number in (0, 1)
    )
    assert (one.sampler.tokens.labels != two.sampler.tokens.labels).any()


def test_nodes_begin_independently_and_within_bounds() -> None:
    a, b = (pg.Gamma(name, 0.01, 0.01, dims="doc") for name in "ab")
    network = pg.Network(pg.Poisson("x", a, dims="doc"), pg.Poisson("y", b, dims="doc"))
    ones = np.ones(50, int)
    values = network.chain({"x": ones, "y": ones}, threads=1).values
    assert (values["a"] != values["b"]).any()
    for value in values.values():
        assert value.min() >= 0.01
        assert value.max() <= 100


def test_odds_begin_within_bounds() -> None:
    odds = pg.zoo.pfa(2).chain({"x": np.ones((50, 3), int)}, threads=1).values["p2"]
    assert odds.min() >= 0.01
    assert odds.max() <= 100


def test_what_is_drawn_on_demand_is_drawn_anew_after_every_sweep() -> None:
    data = {"x": np.zeros((5, 6), int)}
    chain = pg.zoo.pfa(3).chain(data, layer1="collapsed", threads=1)
    first = chain.sweep().values["phi1"].copy()
    assert (chain.sweep().values["phi1"] != first).all()
