"""One sweep, step by step."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.testing import mutants
from tests.same_bits.networks import SMALL_SIZES, data_for, small_zoo


def same(one: pg.Chain, other: pg.Chain) -> bool:
    return all(np.array_equal(one.values[name], other.values[name]) for name in one.values)


@pytest.mark.parametrize("name", small_zoo())
def test_the_chain_is_the_same_bit_for_bit(name: str) -> None:
    network = small_zoo()[name]
    data = data_for(network, SMALL_SIZES, 2.0)
    plain, traced = (network.chain(data, threads=1) for _ in range(2))
    plain.sweep(3)
    names = [event.step.name for event in traced.trace()]
    assert names == [step.name for step in traced.schedule if not step.on_demand]
    for event in traced.trace():
        if event.number == 2:
            break  # the sweep is ended all the same
    list(traced.trace())
    assert plain.sweeps == traced.sweeps == 3
    assert same(plain, traced)


@pytest.mark.parametrize("layer1", ["blocked", "partial"])
def test_the_other_samplers(layer1: str) -> None:
    network = small_zoo()["pgbn poisson 2"]
    data = data_for(network, SMALL_SIZES, 2.0)
    plain, traced = (network.chain(data, layer1=layer1, threads=1) for _ in range(2))
    for _ in range(2):
        list(traced.trace())
    assert same(plain.sweep(2), traced)


def test_what_an_event_tells() -> None:
    network = small_zoo()["pgbn poisson 2"]
    chain = network.chain(data_for(network, SMALL_SIZES, 2.0), layer1="blocked", threads=1)
    events = {event.step.name: event for event in chain.trace()}
    assert sorted(events["counts(x)"].counts) == ["phi1", "theta1"]
    assert events["counts(x)"].value is None
    total = int(np.sum(data_for(network, SMALL_SIZES, 2.0)["x"]))
    assert events["counts(x)"].counts["phi1"].sum() == total
    assert sorted(events["c3"].reads) == ["r", "theta2"]
    assert np.array_equal(events["c3"].value, chain.values["c3"])
    assert events["gamma0"].stale >= {"r", "theta1", "theta2"}
    assert "theta1" not in events["theta1"].stale
    assert not any(event.faults for event in events.values())


def test_a_wrong_order_is_told() -> None:
    network = small_zoo()["pgbn poisson 2"]
    chain = network.chain(data_for(network, SMALL_SIZES, 2.0), layer1="composed", threads=1)
    mutants(network)["stale order"](chain)
    faults = {event.step.name: event.faults for event in chain.trace() if event.faults}
    assert faults == {"c3": {"theta2"}}
