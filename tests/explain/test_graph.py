"""Network.augmented: the drawn counts as nodes of their own."""

from __future__ import annotations

import itertools

import networkx as nx
import pytest

import pgbn as pg
from tests.explain.test_contents import SHAPE
from tests.helpers.compositions import COMPOSITIONS


@pytest.fixture(scope="module", params=COMPOSITIONS)
def network(request: pytest.FixtureRequest) -> pg.Network:
    return COMPOSITIONS[request.param]()


def test_augmented_graph(network: pg.Network) -> None:
    graph = network.augmented()
    assert set(network.nodes) <= set(graph)
    for name, data in graph.nodes(data=True):
        expected = "counts" if name not in network.nodes else (
            "observed" if name in network.observed else "value")  # fmt: skip
        assert data["kind"] == expected
        assert data["label"]
        assert data["equation"]
    for relation in ("generates", "counts"):
        edges = [(a, b) for a, b, d in graph.edges(data=True) if d["relation"] == relation]
        assert nx.is_directed_acyclic_graph(nx.DiGraph(edges))
    # every node that hears drawn counts is reached from the data through count nodes
    counts = nx.DiGraph((a, b) for a, b, d in graph.edges(data=True) if d["relation"] == "counts")
    for name, sources in network.wiring.sources.items():
        if any(source.is_delivered for source in sources):
            assert any(name in nx.descendants(counts, data) for data in network.observed)


def test_tables_stand_between_a_gamma_and_its_shape() -> None:
    graph = pg.zoo.pgbn([3, 2]).augmented()
    way = ["x", "counts(x)", "split(x)", "crt(theta1)", "split(theta1)", "crt(theta2)", "crt(r)",
           "gamma0"]  # fmt: skip
    for before, after in itertools.pairwise(way):
        assert graph.edges[before, after]["relation"] == "counts"
    assert graph.edges["theta2", "theta1"]["slots"] == ("shape",)
    assert set(graph.successors("split(theta1)")) == {"phi2", "theta2", "crt(theta2)"}
    assert SHAPE in graph.nodes["crt(theta1)"]["equation"]
