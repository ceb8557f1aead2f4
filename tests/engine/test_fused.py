"""Fused kernels against the composed rules."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import pgbn as pg
from pgbn import zoo
from pgbn.engine.fused.gamma_layers import LayerTables
from pgbn.testing import geweke
from tests.helpers.models import pgbn, sizes_of


def corpus(seed=0, documents=1500, terms=60):
    rng = np.random.default_rng(seed)
    x = rng.poisson(rng.gamma(0.2, 1.0, (documents, terms)))
    x[5] = 0
    return sparse.csr_matrix(x)


@pytest.mark.parametrize("layer1", ["auto", "collapsed", "partial", "blocked", "composed"])
def test_bits_do_not_depend_on_the_threads(layer1):
    network, x = zoo.pgbn([24, 20, 17]), corpus()
    chains = [network.chain({"x": x}, seed=3, layer1=layer1, threads=t).sweep(3) for t in (1, 2, 5)]
    first = chains[0].values
    assert chains[0].layer1 == chains[1].layer1 == ("collapsed" if layer1 == "auto" else layer1)
    for chain in chains[1:]:
        assert all(np.array_equal(first[name], v) for name, v in chain.values.items())
    assert all(np.isfinite(v).all() for v in first.values())


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


def test_the_kernels_are_used_where_they_fit():
    chain = zoo.pgbn([4, 3, 2]).chain({"x": corpus(documents=20)}, layer1="blocked")
    fused = [turn.run for turn in chain._turns if "fused" in getattr(turn.run, "__module__", "")]
    assert [run for run in fused if not isinstance(run, LayerTables)]
    composed = zoo.pgbn([4, 3, 2]).chain({"x": corpus(documents=20)}, layer1="composed")
    assert not any(
        "fused" in getattr(run, "__module__", "") for run in (turn.run for turn in composed._turns)
    )


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("layer1", ["collapsed", "partial", "blocked", "composed"])
def test_same_posterior(depth, layer1):
    network = pgbn(depth)
    result = geweke(network, sizes_of(network), 4000, 6, seed=5, layer1=layer1)
    assert result.worst < 4, result
