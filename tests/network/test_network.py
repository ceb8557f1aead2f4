"""The graph that observed nodes depend on: its nodes, sizes and order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pgbn import (
    Bernoulli,
    Categories,
    Constant,
    Dirichlet,
    Gamma,
    Network,
    Poisson,
    PoissonGamma,
    zoo,
)  # fmt: skip
from pgbn.network.network import declared_indexes
from tests.helpers.small_networks import gamma, poisson


def test_a_network_knows_its_nodes() -> None:
    A, B, C = gamma("a", dims=("doc", "k")), gamma("b", dims=("k", "term")), gamma("c", dims="k")
    net = poisson(A @ B)
    assert all(item in net for item in ("a", A, net["x"]))
    assert not any(item in net for item in ("c", C, Gamma("a", 1, 1)))
    assert [node.name for node in net] == list(net.nodes)
    assert len(net) == 3


@pytest.mark.parametrize(
    "network",
    [
        lambda: poisson(1.0),
        lambda: poisson(gamma()),
        lambda: poisson(gamma("a", dims="doc") + gamma("b") + 0.5),
        lambda: poisson(gamma("t", Bernoulli("h", 0.5, dims="doc"), 1, dims="doc")),
        lambda: Network(PoissonGamma("x", gamma("a"), gamma("b") + gamma("c"), dims="doc")),
        lambda: poisson(Constant([1, 0, 2], dims="doc") * gamma()),
        lambda: Network(Poisson("x", gamma())),
        lambda: poisson(Dirichlet("p", Bernoulli("h", 0.5) + 0.1, over="term")),
        lambda: poisson(gamma("слово", dims="слово").rename(слово="doc")),
    ],
)
def test_unusual_networks_work(network: Callable[[], Network]) -> None:
    """What is odd but well defined is not refused."""
    net = network()
    data = net.generate(seed=1, sizes=dict.fromkeys(net.dims, 3))
    chain = net.chain({"x": data["x"]}, seed=1).sweep(5)
    assert np.isfinite(chain.log_joint())


def test_numbers_that_are_given_come_before_those_declared() -> None:
    declared = Categories("g", dims="doc", of="a", values=[0, 1])
    assert declared_indexes({"g": declared}, {})["g"].tolist() == [0, 1]
    assert declared_indexes({"g": declared}, {"g": [1, 1]})["g"].tolist() == [1, 1]


def test_notebooks_show_the_nodes_as_a_table() -> None:
    html = zoo.lda(3)._repr_html_()
    assert html.count("<tr>") == 4
    assert "<td>phi</td><td>topic = 3, term = from data</td>" in html
    assert "<td>Multinomial(probability=phi @ theta, total=0)</td><td>observed</td>" in html
