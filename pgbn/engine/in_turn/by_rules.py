"""Entries drawn in turn by the rules, one by one: the reference for the kernels.

    for i = 1, 2, …:  a_i ~ p(a_i | φ_{−i}),  φ_i ~ p(φ_i | a_i, φ_{−i})

where φ_{−i} are the new entries before i and the old ones after it.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from pgbn.engine.compile.posterior import check_posterior
from pgbn.engine.compile.program import Program
from pgbn.engine.in_turn.edges import check_loops
from pgbn.engine.in_turn.entry import Entry
from pgbn.engine.in_turn.gammas import gammas_in_turn
from pgbn.engine.plan import Draw, Run, maker
from pgbn.nodes.base import Node, draw_node
from pgbn.samplers.random import stream_key
from pgbn.samplers.stream import Stream

__all__ = ["draw_entry", "draw_in_turn"]


@maker("in turn", Draw)
def draw_in_turn(program: Program, task: Draw) -> Run | None:
    """The function that draws the entries of a node one after another, given a key."""
    in_turn = program.wiring.connections.in_turn.get(task.node.name)
    if in_turn is None:
        return None
    check_loops(program, in_turn)
    fast = gammas_in_turn(program, in_turn) if program.kernels else None
    if fast is not None:
        return fast
    entry = Entry(program, in_turn)
    draws = [draw_entry(program, entry, program.network.nodes[name]) for name in in_turn.members]

    def run(key: int) -> None:
        for now in range(entry.size):
            entry.now = now
            for number, draw in enumerate(draws):
                draw(stream_key(key, now, number))

    return run


def draw_entry(program: Program, entry: Entry, node: Node) -> Callable[[int], None]:
    """The function that draws the present entry of a node."""
    posterior = program.wiring.draws[node.name].posterior
    needed = {name: entry.quantity(node, name).get for name in signature(posterior).parameters}
    slots = {slot: entry.quantity(node, slot).get for slot in node.slots()}
    heard, shape = program.heard_from(node.name), entry.shape4(node.name)
    simplex = program.stream(node.name, 0).simplex

    def draw(key: int) -> None:
        updated: Any = posterior(**{name: get() for name, get in needed.items()})
        check_posterior(node, updated, heard)
        kept = {slot: get() for slot, get in slots.items() if slot not in updated}
        stream = Stream(key, shape, program.executor, simplex)
        entry.put(node.name, draw_node(node, stream, shape, {**updated, **kept}))

    return draw
