"""One sweep, step by step, for those who want to see it happen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.run.generate import to_axes
from pgbn.engine.run.turns import Turn
from pgbn.network.schedule import Freshness
from pgbn.network.steps import Step
from pgbn.network.terms import PREVIOUS

__all__ = ["TraceEvent", "trace_turns"]


@dataclass(frozen=True)
class TraceEvent:
    """A step that has just been taken.

    ``reads`` are the values that it conditioned on, by name; ``counts`` the counts that it drew,
    by the node that hears them; ``value`` the value that it drew; ``stale`` the names of what is
    stale after it; ``faults`` those that it read although they were stale (of an order that was
    not checked). All arrays are copies, with dims in the order of their node.
    """

    number: int
    sweep: int
    step: Step
    reads: dict[str, NDArray[Any]]
    counts: dict[str, NDArray[Any]]
    value: NDArray[Any] | None
    stale: frozenset[str]
    faults: frozenset[str]


def trace_turns(program: Program, turns: Sequence[Turn], sweep: int) -> Iterator[TraceEvent]:
    """Take every turn of a sweep and tell of it. A loop that is left early ends the sweep."""
    freshness, left = Freshness(), list(turns)
    for turn in turns:  # what an earlier sweep leaves stale at its end
        freshness.run(turn.step)
    try:
        for number, turn in enumerate(turns, 1):
            step = turn.step
            reads = {read.name: _value(program, read.name)
                     for read in sorted(step.reads, key=lambda read: read.name)
                     if read.name in program.values}  # fmt: skip
            faults = frozenset(r.name for r in step.reads if not freshness.is_current(r))
            left.pop(0)
            turn(sweep)
            freshness.run(step)
            value = None if step.upward else _value(program, step.node)
            counts = _counts(program, step.node) if step.upward else {}
            yield TraceEvent(
                number, sweep, step, reads, counts, value, frozenset(freshness.stale), faults
            )
    finally:
        for turn in left:
            turn(sweep)


def _value(program: Program, name: str) -> NDArray[Any]:
    for sampler in program.first_layers.values():
        if name == sampler.pattern.loadings:
            sampler.show()
    return np.array(to_axes(program, name, program.values[name])[0])


def _counts(program: Program, node: str) -> dict[str, NDArray[Any]]:
    if node in program.first_layers:
        program.first_layers[node].show()
    return {
        parent: np.array(to_axes(program, parent, np.asarray(counts))[0])
        for (child, parent), counts in program.counts.items()
        if child == node and parent != PREVIOUS
    }
