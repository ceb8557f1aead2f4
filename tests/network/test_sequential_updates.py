"""Nodes that stand several times in a product: what is drawn in turn, and what is refused."""

from __future__ import annotations

import pytest

from pgbn import Gamma, Network, StaleReadError, zoo
from pgbn.network.sequential_updates import InTurn
from tests.helpers.small_networks import graph, vertices


def test_what_is_drawn_together() -> None:
    deep = Gamma("a", Gamma("e", 1, 1, dims="vertex"), 1.0, dims="vertex")
    found = graph(vertices(deep, Gamma("c", 1, 1))).wiring.connections.sequential
    assert found == {
        "phi": InTurn("phi", "vertex", {"e": "vertex", "a": "vertex", "phi": "vertex"})
    }
    assert list(found["phi"].members) == ["e", "a", "phi"]


def test_the_step() -> None:
    network = zoo.epm(2)
    step = next(step for step in network.schedule if step.name == "phi")
    assert step.draws == ("a", "phi")
    assert "a" not in network.schedule.names
    assert step.heading == "phi with a [in turn along vertex]"
    assert not step.on_demand
    assert not step.plates
    assert not step.marginalises
    assert {read.name for read in step.reads} == {"c", "r", "counts(x)", "counts(phi)"}


def order_with(network: Network, *moved: str) -> list[str]:
    """The order of a network with some of its steps at the end."""
    return [name for name in network.schedule.names if name not in moved] + list(moved)


RELEASED = {
    "GP_EPM.m: all shapes, then all weights": (
        zoo.epm(2), ["a", "phi"], "'all of a, then all of phi' is wrong",
    ),
    "GP_EPM.m: r before gamma0": (zoo.epm(2), ["r", "gamma0"], "r is stale"),
    "HGP_EPM.m, its other branch": (zoo.hgp_epm(2), ["a", "phi"], "'all of a, then all of phi'"),
    "HGP-EPM: links before r": (zoo.hgp_epm(2), ["within", "between", "r"], "is stale: r was drawn"),
    "pgds.pyx: Θ, Π, ν": (
        zoo.pgds(2, shrinkage=True), ["theta", "pi", "nu", "xi"], "theta is stale: xi was drawn",
    ),
    "pgds.py of PyDPM: Π, Θ, ξ, ν": (
        zoo.pgds(2, shrinkage=True), ["pi", "theta", "xi", "nu"], "is stale: (xi|nu) was drawn",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RELEASED)
def test_released_orders_are_refused(name: str) -> None:
    network, moved, words = RELEASED[name]
    with pytest.raises(StaleReadError, match=words):
        network.with_order(order_with(network, *moved))


def test_positive_on_and_off_the_diagonal() -> None:
    """Dir(ν_k ν_l, ξ ν_k at l = k) has positive entries, by one term or the other."""
    network = zoo.pgds(2, shrinkage=True)
    assert network.wiring.is_positive(network["pi"], "concentration")
