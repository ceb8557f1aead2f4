"""Entries drawn in turn by the rules: the right law, and tests that see the likely mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from pgbn import Chain, zoo
from pgbn.engine.steps import sequential as one_entry
from pgbn.engine.steps.sequential import Entry, draw_entry
from pgbn.samplers.random import stream_key
from pgbn.testing import geweke
from tests.helpers.graphs import graphs, two_vertices

SIZED = graphs()


def test_exposures_of_an_entry() -> None:
    """E_ik = r_k Σ_{j≠i} φ_jk, and what a_i hears is Σ_k ln(1 + E_ik/c_i)."""
    network = zoo.epm(3)
    chain = network.chain({"x": np.triu(np.ones((4, 4), int), 1)}, layer1="composed")
    program, values = chain.program, chain.values
    third = Entry(program, network.wiring.connections.sequential["phi"])
    third.now = 2
    others = np.delete(values["phi"], 2, axis=0)
    expected = values["r"] * others.sum(axis=0)
    found = third.quantity(network["phi"], "exposure").get()
    np.testing.assert_allclose(found.reshape(-1), expected, rtol=1e-12)
    told = third.quantity(network["a"], "exposure").get()
    np.testing.assert_allclose(told.reshape(-1), np.log1p(expected / values["c"][2]).sum())


def broken_step(draw_all: Callable[[Entry, list[Callable[[int], None]], int], None]) -> Any:
    """The step of phi, and of what is drawn with it, with other loops around the same draws."""

    def broken(chain: Chain) -> None:
        sequential = chain.network.wiring.connections.sequential["phi"]
        now = Entry(chain.program, sequential)
        draws = [draw_entry(chain.program, now, chain.network[name]) for name in sequential.members]
        run = partial(draw_all, now, draws)
        chain._turns = [
            replace(turn, run=run) if turn.step.name == "phi" else turn for turn in chain._turns
        ]

    return broken


def all_shapes_then_all_weights(now: Entry, draws: list[Callable[[int], None]], key: int) -> None:
    """The order of GP_EPM.m: every a_i given the old φ, then every φ_i."""
    for number, draw in enumerate(draws):
        for entry in range(now.size):
            now.now = entry
            draw(stream_key(key, entry, number))


def test_all_shapes_then_all_weights_is_seen() -> None:
    network = two_vertices()
    right = geweke(network, {"vertex": 2}, 6_000, 6, 1, "composed")
    wrong = broken_step(all_shapes_then_all_weights)
    assert right.worst < 4
    assert geweke(network, {"vertex": 2}, 6_000, 6, 1, "composed", broken=wrong).worst > 6


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("pgds, shrinkage", ["theta", "pi", "nu", "xi"]),  # as in pgds.pyx
        ("hgp_epm", ["within", "between", "r"]),
    ],
)
def test_entries_after_what_they_integrate_out_are_seen(name: str, last: list[str]) -> None:
    network, sizes = SIZED[name]
    order = [step for step in network.schedule.names if step not in last] + last
    assert geweke(network, sizes, 5_000, 8, 1, order=order, unchecked=True).worst > 6


def with_self_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every entry counted as its own partner, too."""
    monkeypatch.setattr(
        one_entry, "relation_holds", lambda relation, first, second: np.asarray(first <= second)
    )


def test_a_self_pair_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    network, sizes = SIZED["epm, weighted"]
    with_self_loops(monkeypatch)
    assert geweke(network, sizes, 1_500, 5, 1, "composed").worst > 6


def given_the_old_others(now: Entry, draws: list[Callable[[int], None]], key: int) -> None:
    """All entries at once: no Gibbs sampler."""
    values, new = now.program.values, []
    old = values["phi"]
    for entry in range(now.size):
        now.now, values["phi"] = entry, old
        draws[0](stream_key(key, entry))
        new.append(values["phi"][:, entry])
    values["phi"] = np.stack(new, axis=1)


def test_entries_at_once_are_seen() -> None:
    network, sizes = SIZED["directed"]
    wrong = broken_step(given_the_old_others)
    assert geweke(network, sizes, 6_000, 5, 1, "composed", broken=wrong).worst > 6
