"""What a network offers of the rooms above it."""

from __future__ import annotations

import networkx as nx
import numpy as np

from pgbn import Gamma, Network, Poisson, zoo
from pgbn.engine.first_layer.choice import schedule_for
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.generate import generate_network
from pgbn.explain import augmented, explain
from pgbn.plot import plot
from tests.helpers.small_data import X, equal_arrays


def test_no_paragraph_begins_with_a_space() -> None:
    net = Network(Poisson("x", Gamma("g", 1, 1)))
    for format in ("text", "markdown"):
        lines = net.explain(format).splitlines()
        assert not [line for line in lines if line.startswith((" It", " By"))]
        assert any(line.lstrip().startswith("It reads") for line in lines)


def test_each_verb_is_the_function_of_its_room() -> None:
    net, data = zoo.pfa(2), {"x": X}
    drawn = net.generate(3, {"doc": 2, "term": 3})
    assert equal_arrays(drawn, generate_network(net, 3, {"doc": 2, "term": 3}, {}))
    chain = net.chain(data, seed=4, chain=1, layer1="blocked")
    assert isinstance(chain, Chain)
    assert (chain.seed, chain.number, chain.layer1) == (4, 1, "blocked")
    assert net.explain("markdown") == explain(net, "markdown")
    assert nx.utils.graphs_equal(net.augmented(), augmented(net))
    assert net.plot() == plot(net)
    assert net.schedule_for("partial").names == schedule_for(net, "partial").names


def test_samples_are_those_of_the_chains() -> None:
    net, data = zoo.pfa(2), {"x": X}
    draws = net.sample(data, 2, 3, chains=2, seed=4, keep=["r"], progress=False)
    for number in (0, 1):
        chain = net.chain(data, seed=4, chain=number).sweep(5)
        assert np.array_equal(draws["r"][number, -1], chain.values["r"])


def test_the_defaults_are_those_of_the_signatures() -> None:
    """`init` and `given` that are left out are empty; a chain without `seed` has the seed 0."""
    net = zoo.pfa(2)
    one, two = (net.chain({"x": X}, **options).sweep() for options in ({}, {"seed": 0, "init": {}}))
    assert equal_arrays(one.values, two.values)
