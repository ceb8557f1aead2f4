"""The first layer with φ and θ integrated out."""

from __future__ import annotations

import numpy as np

import pgbn as pg
from pgbn import zoo
from pgbn.testing import geweke
from tests.helpers.small_data import corpus


def test_overlapping_the_steps_changes_nothing():
    network, x = zoo.pgbn([24, 20, 17]), corpus()
    usual, plain = (network.chain({"x": x}, seed=3, threads=2) for _ in range(2))
    plain.sampler.mix = None  # one step after the other
    usual.sweep(2), plain.sweep(2)
    assert np.array_equal(usual.sampler.tokens.labels, plain.sampler.tokens.labels)
    for name, value in plain.values.items():
        assert np.array_equal(usual.values[name], value)


def test_tables_of_other_rows_wait_for_the_counts_of_the_data():
    """φ2 is a gamma: its tables have a row a topic, while the collapsed sampler goes by document."""
    g = pg.Gamma("g", 2, 1, dims="topic2")
    phi2 = pg.Gamma("phi2", shape=g, rate=2, dims=("topic2", "topic1"))
    theta2 = pg.Gamma("theta2", 1, 1, dims=("doc", "topic2"))
    theta1 = pg.Gamma("theta1", shape=phi2 @ theta2, rate=1, dims=("doc", "topic1"))
    phi1 = pg.Dirichlet("phi1", 0.1, over="term", dims="topic1")
    x = pg.Poisson("x", rate=phi1 @ theta1, dims=("doc", "term"))
    network = pg.Network(x, sizes={"topic1": 5, "topic2": 3})
    assert geweke(network, {"doc": 3, "term": 4}, 4000, 6, seed=1, layer1="collapsed").worst < 4
    data = {"x": corpus(documents=40)}
    usual, plain = (network.chain(data, threads=2, layer1="collapsed") for _ in range(2))
    plain.sampler.mix = None
    usual.sweep(3), plain.sweep(3)
    for name, value in plain.values.items():
        assert np.array_equal(usual.values[name], value)
