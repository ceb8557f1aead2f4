"""The bound steps of a sweep: each with the key of its streams, as a function of the sweep's
number.

A step that is repeated in a user's order draws again, from separate streams.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.first_layer.samplers import FirstLayer
from pgbn.engine.plan import Counts, Draw, Run, find_step
from pgbn.engine.run.generate import to_axes
from pgbn.engine.steps.gamma_layers import LayerTables
from pgbn.network.evidence import CountsRead
from pgbn.network.schedule import Freshness
from pgbn.network.steps import Step
from pgbn.network.terms import PREVIOUS
from pgbn.samplers.random import check_names, stream_key, word_of

if TYPE_CHECKING:
    from pgbn.engine.shards.driver import ShardDriver


@dataclass(frozen=True)
class BoundStep:
    """One step: sweep s is run with the key of (``base``, s)."""

    step: Step
    base: int
    run: Run

    def __call__(self, sweep: int) -> None:
        self.run(stream_key(self.base, sweep))


@dataclass(frozen=True)
class PipelinedStep:
    """The counts of the data and the tables right after them. The sampler of the first layer draws
    both: other threads draw the tables while it works."""

    sampler: FirstLayer
    base: int
    tables: tuple[tuple[LayerTables, int], ...]

    def __call__(self, sweep: int) -> None:
        keyed = [(part, stream_key(base, sweep)) for part, base in self.tables]
        self.sampler.step_before(stream_key(self.base, sweep), keyed)


@dataclass(frozen=True)
class RemoteRun:
    """A step that the workers run, each on its rows."""

    shards: ShardDriver
    base: int

    def __call__(self, key: int) -> None:
        self.shards.run([(self.base, key)])


def arrange(
    program: Program, schedule: Iterable[Step], seed: int, number: int
) -> tuple[list[BoundStep], dict[str, BoundStep]]:
    """The steps of every sweep in order, and those of nodes that are drawn on demand, by name."""
    schedule, steps = tuple(schedule), list[BoundStep]()
    check_names([*program.network.nodes, *(step.name for step in schedule), "initial", "labels"])
    times: Counter[str] = Counter()
    for step in schedule:
        times[step.name] += 1
        again = f" {times[step.name]}" if times[step.name] > 1 else ""
        base = stream_key(seed, number, word_of(step.name + again))
        node = program.network.nodes[step.node]
        run, by_rows = find_step(program, Counts(node) if step.upward else Draw(node))
        if program.shards is not None and by_rows and program.shards.takes(step):
            run = RemoteRun(program.shards, base)
        steps.append(BoundStep(step, base, run))
    later = {bound.step.node: bound for bound in steps if bound.step.on_demand}
    return [bound for bound in steps if not bound.step.on_demand], later


def joined(steps: list[BoundStep]) -> list[Callable[[int], None]]:
    """The steps. Tables that can be drawn at the same time as the counts of the data are joined to
    them, and steps of the workers that follow each other are one message."""
    out: list[Callable[[int], None]] = []
    waiting = deque(steps)
    while waiting:
        bound = waiting.popleft()
        if isinstance(bound.run, RemoteRun):
            bases = [bound.base]
            while waiting and isinstance(waiting[0].run, RemoteRun):
                bases.append(waiting.popleft().base)
            out.append(partial(_run_remote, bound.run.shards, bases))
        elif isinstance(bound.run, FirstLayer):
            sampler, tables = bound.run, []
            while waiting and isinstance(p := waiting[0].run, LayerTables) and sampler.joins(p):
                tables.append((p, waiting.popleft().base))
            out.append(PipelinedStep(sampler, bound.base, tuple(tables)))
        else:
            out.append(bound)
    return out


def _run_remote(shards: ShardDriver, bases: Sequence[int], sweep: int) -> None:
    shards.run([(base, stream_key(base, sweep)) for base in bases])


def begin_counts(turns: Iterable[BoundStep], sweeps: int) -> None:
    """Draw all counts once, given the first values, as if a sweep had ended there. An order in
    which a step reads counts that come later needs them before its first sweep."""
    reads = {
        turn.step.name: {r.name for r in turn.step.reads if isinstance(r, CountsRead)}
        - {turn.step.name}
        for turn in turns
    }
    place = {name: number for number, name in enumerate(reads)}
    if sweeps or all(place.get(n, -1) < place[name] for name in reads for n in reads[name]):
        return
    waiting = {turn.step.name: turn for turn in turns if turn.step.upward}
    while waiting:
        name = next(n for n in waiting if reads[n].isdisjoint(waiting))
        waiting.pop(name)(0)


# ---- trace --------------------------------------------------------------------------------------
# One sweep, step by step, to see how it works.


@dataclass(frozen=True)
class TraceEvent:
    """A step that has just been taken.

    ``reads`` are the values that it conditioned on, by name; ``counts`` the counts that it drew,
    by the node that receives them; ``value`` the value that it drew; ``stale`` the names of values
    and counts that are stale after it; ``faults`` those that it read although they were stale (in
    an order that was not checked). All arrays are copies, with dims in the order of their node.
    """

    number: int
    sweep: int
    step: Step
    reads: dict[str, NDArray[Any]]
    counts: dict[str, NDArray[Any]]
    value: NDArray[Any] | None
    stale: frozenset[str]
    faults: frozenset[str]


def trace_turns(program: Program, turns: Sequence[BoundStep], sweep: int) -> Iterator[TraceEvent]:
    """Run every step of a sweep and report it. A loop that is left early ends the sweep."""
    freshness, left = Freshness(), list(turns)
    for turn in turns:  # stale at the end of an earlier sweep
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
