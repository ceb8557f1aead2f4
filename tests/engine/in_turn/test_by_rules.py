"""Entries drawn in turn by the rules: the right law, and tests that see the likely mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pgbn import Chain, zoo
from pgbn.engine.in_turn import entry
from pgbn.engine.in_turn.by_rules import draw_entry
from pgbn.engine.in_turn.entry import Entry
from pgbn.samplers.random import stream_key
from pgbn.testing import geweke
from tests.helpers.graphs import GRAPHS, graphs

SIZED = graphs()


@pytest.mark.parametrize("name", GRAPHS)
def test_the_joint_distribution_stays(name: str) -> None:
    network, sizes = SIZED[name]
    assert geweke(network, sizes, 1_500, 5, 1, "composed").worst < 4


@pytest.mark.long
@pytest.mark.parametrize("layer1", ["composed", "blocked"])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_joint_distribution_stays_at_full_power(
    name: str, layer1: str, record_property: Callable[[str, Any], None]
) -> None:
    network, sizes = SIZED[name]
    result = geweke(network, sizes, 25_000, 12, 7, layer1)
    record_property("geweke", f"{result.worst:.2f} of {len(result.z)}")
    assert result.worst < 4, result


def test_exposures_of_an_entry() -> None:
    """E_ik = r_k Σ_{j≠i} φ_jk, and what a_i hears is Σ_k ln(1 + E_ik/c_i)."""
    network = zoo.epm(3)
    chain = network.chain({"x": np.triu(np.ones((4, 4), int), 1)}, layer1="composed")
    program, values = chain.program, chain.values
    third = Entry(program, network.wiring.connections.in_turn["phi"])
    third.now = 2
    others = np.delete(values["phi"], 2, axis=0)
    expected = values["r"] * others.sum(axis=0)
    found = third.quantity(network["phi"], "exposure").get()
    np.testing.assert_allclose(found.reshape(-1), expected, rtol=1e-12)
    told = third.quantity(network["a"], "exposure").get()
    np.testing.assert_allclose(told.reshape(-1), np.log1p(expected / values["c"][2]).sum())


def with_self_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every entry counted as its own partner, too."""
    monkeypatch.setattr(
        entry, "relation_holds", lambda relation, first, second: np.asarray(first <= second)
    )


def test_a_self_pair_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    network, sizes = SIZED["epm, weighted"]
    with_self_loops(monkeypatch)
    assert geweke(network, sizes, 1_500, 5, 1, "composed").worst > 6


def test_other_entries_of_the_sweep_before_are_seen() -> None:
    """All entries drawn given the old others: no Gibbs sampler."""
    network, sizes = SIZED["directed"]

    def at_once(chain: Chain) -> None:
        values = chain.program.values
        now = Entry(chain.program, network.wiring.connections.in_turn["phi"])
        draw = draw_entry(chain.program, now, network["phi"])

        def run(key: int) -> None:
            old, new = values["phi"], []
            for now.now in range(old.shape[1]):
                values["phi"] = old
                draw(stream_key(key, now.now))
                new.append(values["phi"][:, now.now])
            values["phi"] = np.stack(new, axis=1)

        chain._turns = [
            replace(turn, run=run) if turn.step.name == "phi" else turn for turn in chain._turns
        ]

    assert geweke(network, sizes, 6_000, 5, 1, "composed", broken=at_once).worst > 6
