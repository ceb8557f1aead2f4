"""Edges between entries: lists of both ends, and self loops, which are refused."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import Categories, Chain, DataError, Gamma, Network, NetworkError, Poisson
from pgbn.engine.steps.sequential_gammas import edges_of
from tests.helpers.graphs import edges


def pairs(source: list[int], target: list[int]) -> Network:
    phi = Gamma("phi", 1, 1, dims="vertex")
    ends = [
        Categories(name, dims="edge", of="vertex", values=values)
        for name, values in (("source", source), ("target", target))
    ]
    return Network(Poisson("x", phi[ends[0]] * phi[ends[1]], dims="edge"))


def test_a_self_loop_is_refused_by_name() -> None:
    with pytest.raises(DataError, match=r"source and target both name 1 at 1: a self loop.*phi"):
        pairs([0, 1, 2], [1, 1, 0]).chain({"x": [1, 0, 2]})


def test_one_array_for_both_ends_is_refused() -> None:
    phi, ends = Gamma("phi", 1, 1, dims="vertex"), Categories("ends", dims="edge", of="vertex")
    with pytest.raises(NetworkError, match=r"'phi' stands twice.*phi\[source\] \* phi\[target\]"):
        Network(Poisson("x", phi[ends] * phi[ends], dims="edge"))


def test_lists() -> None:
    network = edges()
    program = Chain.replicated(network, {"vertex": 4}, 2).program
    sequential = network.wiring.connections.sequential["phi"]
    ends = [f for f in network.wiring.polynomials["x", "rate"].terms[0].factors if f.lookups]
    found = edges_of(program, sequential, *ends)
    assert found is not None
    assert found.start_first.tolist() == [0, 1, 3, 5, 5]
    assert found.first.tolist() == [3, 0, 2, 0, 1]
    assert found.start_second.tolist() == [0, 2, 3, 4, 5]
    assert found.second.tolist() == [1, 2, 2, 1, 0]


def test_more_data_than_pairs() -> None:
    """A pair may be seen several times; vertices without edges have their prior."""
    chain = pairs([0, 0, 1], [1, 1, 4]).chain({"x": [3, 2, 0]}).sweep(5)
    assert chain.values["phi"].shape == (5,)
    assert np.isfinite(chain.log_joint())
