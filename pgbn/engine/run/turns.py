"""The turns of a sweep: each step with the key of its streams, as a function of the sweep's number.

A step that comes again in a user's order draws anew, from streams of its own.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgbn.engine.compile.program import Program
from pgbn.engine.first_layer.base import FirstLayer
from pgbn.engine.first_layer.makers import FirstCounts
from pgbn.engine.fused.gamma_layers import LayerTables
from pgbn.engine.plan import Counts, Draw, Run, make_step
from pgbn.network.reads import CountsRead
from pgbn.network.steps import Step
from pgbn.samplers.random import stream_key, word_of

if TYPE_CHECKING:
    from pgbn.engine.shards.crew import Crew

__all__ = ["AfarRun", "AfarTurns", "JoinedTurn", "Turn", "arrange", "begin_counts", "joined"]


@dataclass(frozen=True)
class Turn:
    """One step: sweep s is run with the key of (``base``, s)."""

    step: Step
    base: int
    run: Run

    def __call__(self, sweep: int) -> None:
        self.run(stream_key(self.base, sweep))


@dataclass(frozen=True)
class JoinedTurn:
    """The counts of the data and the tables right after them, which are left to the sampler of
    the first layer: other threads draw them while it works."""

    sampler: FirstLayer
    base: int
    tables: tuple[tuple[LayerTables, int], ...]

    def __call__(self, sweep: int) -> None:
        keyed = [(part, stream_key(base, sweep)) for part, base in self.tables]
        self.sampler.step_before(stream_key(self.base, sweep), keyed)


@dataclass(frozen=True)
class AfarRun:
    """A step that the workers run, each on its rows."""

    crew: Crew
    base: int

    def __call__(self, key: int) -> None:
        self.crew.run([(self.base, key)])


@dataclass(frozen=True)
class AfarTurns:
    """Several of them, one after another."""

    crew: Crew
    bases: tuple[int, ...]

    def __call__(self, sweep: int) -> None:
        self.crew.run([(base, stream_key(base, sweep)) for base in self.bases])


def arrange(
    program: Program, schedule: Iterable[Step], seed: int, number: int
) -> tuple[list[Turn], dict[str, Turn]]:
    """The turns of every sweep in order, and those of nodes that are drawn on demand, by name."""
    turns: list[Turn] = []
    times: Counter[str] = Counter()
    for step in schedule:
        times[step.name] += 1
        again = f" {times[step.name]}" if times[step.name] > 1 else ""
        base = stream_key(seed, number, word_of(step.name + again))
        node = program.network.nodes[step.node]
        task = Counts(node) if step.upward else Draw(node)
        program.by_rows = True
        run = make_step(program, task)
        if program.crew is not None and program.crew.takes(step):
            run = AfarRun(program.crew, base)
        turns.append(Turn(step, base, run))
    if program.crew is not None:
        program.crew.begin(tuple(schedule), seed, number)
    later = {turn.step.node: turn for turn in turns if turn.step.on_demand}
    return [turn for turn in turns if not turn.step.on_demand], later


def joined(turns: list[Turn], crew: Crew | None = None) -> list[Callable[[int], None]]:
    """The turns, with the tables that can be drawn beside the counts of the data joined to them.
    Where a crew runs some, those that follow each other are one message, and the sweep is committed
    in the end."""
    out: list[Callable[[int], None]] = []
    waiting = deque(turns)
    while waiting:
        turn = waiting.popleft()
        if isinstance(turn.run, AfarRun):
            bases = [turn.base]
            while waiting and isinstance(waiting[0].run, AfarRun):
                bases.append(waiting.popleft().base)
            out.append(AfarTurns(turn.run.crew, tuple(bases)))
            continue
        if not isinstance(turn.run, FirstCounts):
            out.append(turn)
            continue
        sampler, tables = turn.run.sampler, []
        while waiting and isinstance(part := waiting[0].run, LayerTables) and sampler.joins(part):
            tables.append((part, waiting.popleft().base))
        out.append(JoinedTurn(sampler, turn.base, tuple(tables)))
    return out if crew is None else [*out, crew.swept]


def begin_counts(turns: Iterable[Turn], sweeps: int) -> None:
    """Draw all counts once, before the first sweep of an order in which a step reads counts that
    come later: given the first values, as if a sweep had ended there."""
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
