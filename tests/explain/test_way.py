"""Which sampler is explained."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.explain.sampler import way_of, way_of_chain
from tests.same_bits.networks import SMALL_SIZES, data_for, small_zoo


@pytest.mark.parametrize("name", small_zoo())
def test_by_default_it_is_the_one_that_a_chain_takes(name: str) -> None:
    network = small_zoo()[name]
    chain = network.chain(data_for(network, SMALL_SIZES), threads=1)
    way = way_of(network)
    explained = chain.layer1 if way.patterns else "composed"  # what the rules say, "blocked" draws
    assert chain.layer1 in (explained, "blocked")
    assert way_of(network).layer1 == way_of_chain(chain).layer1 == explained
    assert way_of(network).schedule.names == chain.schedule.names
    assert str(chain.explain()) == str(network.explain())


def test_a_user_order_that_needs_more_values_is_explained_with_them() -> None:
    """The rates read theta after the counts are drawn, so that theta must be held."""
    c = pg.Gamma("c", 1, 1, dims="doc")
    theta = pg.Gamma("theta", 1, c, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.1, over="term", dims="topic")
    network = pg.Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 2})
    assert way_of(network).layer1 == "collapsed"
    assert way_of(network.with_order(["counts(x)", "phi", "c", "theta"])).layer1 == "blocked"


@pytest.mark.parametrize(
    ("network", "layer1", "words"),
    [
        (pg.zoo.pgbn([3]), "colapsed", r"layer1='colapsed'.*'auto'.*Did you mean 'collapsed'"),
        (pg.zoo.pgbn([3]), None, "layer1=None"),
        (pg.zoo.pgbn([3], link="bernoulli"), "collapsed", "are not counts; use layer1='auto'"),
    ],
)
def test_samplers_that_do_not_exist(network: pg.Network, layer1: str, words: str) -> None:
    with pytest.raises(pg.NetworkError, match=words):
        network.explain(layer1=layer1)


def test_missing_cells_are_known_to_a_chain() -> None:
    data = np.ma.masked_array(np.ones((3, 4), int), np.eye(3, 4, dtype=bool))
    chain = pg.zoo.pgbn([2]).chain({"x": data}, threads=1)
    assert way_of_chain(chain).missing == {"x"}
    line = "(x[v j] | -) ∼ Pois(Σ_k₁ φ⁽¹⁾[v k₁] θ⁽¹⁾[k₁ j]) where the cell is missing"
    assert line in chain.explain()
    assert line not in pg.zoo.pgbn([2]).explain()


@pytest.mark.parametrize("above", [True, False])
def test_given_loadings_are_not_integrated_out(above: bool) -> None:
    network = pg.zoo.pgbn([3, 2]).holding("phi1", above=above)
    assert way_of(network).layer1 == "partial"
    with pytest.raises(pg.StaleReadError, match="integrates phi1 out, but phi1 is given"):
        way_of(network, "collapsed")
    phi, data = np.full((3, 5), 0.2), {"x": np.ones((4, 5), int)}
    with pytest.raises(pg.StaleReadError, match="integrates phi1 out, but phi1 is given"):
        network.chain(data, given={"phi1": phi}, layer1="collapsed")
