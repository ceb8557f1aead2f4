"""The steps of a sweep, each with the key of its streams; and a sweep step by step."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.network.schedule import reorder
from pgbn.samplers.random import stream_key, word_of
from pgbn.testing import mutants
from tests.helpers.models import algorithm1, pgbn
from tests.helpers.small_data import X, equal_arrays
from tests.same_bits.networks import SMALL_SIZES, data_for, small_zoo


def test_a_step_that_comes_again_draws_anew() -> None:
    order = algorithm1(2)
    order.insert(order.index("c0"), "c3")
    chain = pgbn(2).with_order(order).chain({"x": np.eye(3, dtype=int)}, sampler="blocked")
    keys = [turn.base for turn in chain._turns]
    assert len(set(keys)) == len(keys) == len(order)
    assert stream_key(0, 0, word_of("c3 2")) in keys


def test_an_order_that_reads_counts_before_they_are_drawn_finds_some() -> None:
    """A wrong order, run to be seen: before its first sweep all counts are drawn once."""
    network = pgbn(2)
    steps = {step.name: step for step in network.schedule}
    for early in ("theta1", "counts(r)"):
        order = [early, *(name for name in steps if name != early)]
        chain = network.chain({"x": X}, sampler="blocked")
        chain._follow(reorder(steps, order, check=False))
        assert chain.sweep(2).sweeps == 2
    page = network.animate({"x": X[:2]}, order=order, sweeps=2)
    assert "which is wrong" in str(page)


# ---- a sweep step by step ----

NAMES = ["pgbn poisson 2", *(name for name in small_zoo() if name != "pgbn poisson 2")]


@pytest.mark.parametrize(
    ("name", "sampler"),
    [*((name, "auto") for name in NAMES), (NAMES[0], "blocked"), (NAMES[0], "partial")],
)
def test_a_traced_chain_is_bit_identical(name: str, sampler: str) -> None:
    network = small_zoo()[name]
    data = data_for(network, SMALL_SIZES, 2.0)
    plain, traced = (network.chain(data, sampler=sampler, threads=1) for _ in range(2))
    plain.sweep(3)
    names = [event.step.name for event in traced.trace()]
    assert names == [step.name for step in traced.schedule if not step.on_demand]
    for event in traced.trace():
        if event.number == 2:
            break  # the sweep is ended all the same
    list(traced.trace())
    assert plain.sweeps == traced.sweeps == 3
    assert equal_arrays(plain.values, traced.values)


def test_what_an_event_tells() -> None:
    network = small_zoo()["pgbn poisson 2"]
    data = data_for(network, SMALL_SIZES, 2.0)
    chain = network.chain(data, sampler="blocked", threads=1)
    events = {event.step.name: event for event in chain.trace()}
    assert sorted(events["counts(x)"].counts) == ["phi1", "theta1"]
    assert events["counts(x)"].value is None
    assert events["counts(x)"].counts["phi1"].sum() == int(np.sum(data["x"]))
    assert sorted(events["c3"].reads) == ["r", "theta2"]
    assert np.array_equal(events["c3"].value, chain.values["c3"])
    assert events["gamma0"].stale >= {"r", "theta1", "theta2"}
    assert "theta1" not in events["theta1"].stale
    assert not any(event.faults for event in events.values())


def test_a_wrong_order_is_told() -> None:
    network = small_zoo()["pgbn poisson 2"]
    chain = network.chain(data_for(network, SMALL_SIZES, 2.0), sampler="composed", threads=1)
    mutants(network)["stale order"](chain)
    faults = {event.step.name: event.faults for event in chain.trace() if event.faults}
    assert faults == {"c3": {"theta2"}}
