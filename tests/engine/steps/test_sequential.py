"""Entries drawn in turn, by the rules and by the kernel for gammas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn import (
    Bernoulli,
    Chain,
    Gamma,
    Network,
    Poisson,
    distinct,
    zoo,
)
from pgbn.engine.compile import program
from pgbn.engine.steps import sequential as one_entry
from pgbn.engine.steps.sequential import Entry, draw_entry
from pgbn.samplers.random import stream_key
from pgbn.testing import geweke
from tests.helpers.graphs import graphs, two_vertices

SIZED = graphs()


def broken_step(draw_all: Callable[[Entry, list[Callable[[int], None]], int], None]) -> Any:
    """The step of phi, and of what is drawn with it, with other loops around the same draws."""

    def broken(chain: Chain) -> None:
        sequential = chain.network.wiring.connections.sequential["phi"]
        now = Entry(chain._program, sequential)
        draws = [
            draw_entry(chain._program, now, chain.network[name]) for name in sequential.members
        ]
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


# ---- the kernel for gammas in turn: whom it serves, and the law of the rules ---------------------


def with_other_data() -> Network:
    """φ hears of pairs and, beside them, of data of its own."""
    phi = Gamma("phi", Gamma("a", 4, 4, dims="vertex"), 4.0, dims=("vertex", "part"))
    i, j = phi.rename(vertex="i"), phi.rename(vertex="j")
    pairs = Poisson("x", distinct(i @ j, "i", "j"), dims=("i", "j"))
    own = Poisson("y", Gamma("w", 4, 4) * phi, dims=("vertex", "part"))
    return Network(pairs, own, sizes={"part": 2})


def activity() -> Network:
    """s_i s_j φ_i φ_j: what stands beside the pairs varies with them."""
    s, phi = Gamma("s", 4, 4, dims="vertex"), Gamma("phi", 4, 4, dims=("vertex", "part"))
    i, j = (phi.rename(vertex=dim) * s.rename(vertex=dim) for dim in "ij")
    return Network(Poisson("x", distinct(i @ j, "i", "j"), dims=("i", "j")), sizes={"part": 2})


def gates() -> Network:
    """Entries that are no gammas."""
    h = Bernoulli("h", 0.5, dims="vertex")
    pairs = h.rename(vertex="i") * h.rename(vertex="j")
    return Network(Poisson("x", distinct(pairs, "i", "j"), dims=("i", "j")))


OTHERS = {"with other data": with_other_data(), "activity": activity(), "gates": gates()}


@pytest.mark.parametrize("name", OTHERS)
def test_the_law_of_others(name: str) -> None:
    assert geweke(OTHERS[name], {"vertex": 3}, 2_000, 5, 2).worst < 4


def test_no_array_of_all_pairs_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of many vertices is swept without a mask of vertices × vertices."""
    monkeypatch.setattr(program, "mask_of", lambda *arguments: pytest.fail("all pairs"))
    graph = sp.csr_array(([1, 1], ([0, 5], [7, 30])), (40, 40))
    chain = zoo.epm(3).chain({"x": graph}).sweep(2)
    assert np.isfinite(chain.log_joint())
