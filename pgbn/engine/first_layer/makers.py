"""The steps that the sampler of the first layer takes over: its counts, and the draw of φ."""

from __future__ import annotations

from dataclasses import dataclass

from pgbn.engine.compile.program import Program
from pgbn.engine.first_layer.base import FirstLayer
from pgbn.engine.plan import Counts, Draw, Run, maker

__all__ = ["FirstCounts", "first_counts", "first_loadings"]


@dataclass(frozen=True)
class FirstCounts:
    """A step of the sampler, which can draw the tables of the next steps beside it."""

    sampler: FirstLayer

    def __call__(self, key: int) -> None:
        self.sampler.step(key)


@maker("first layer", Counts)
def first_counts(program: Program, task: Counts) -> Run | None:
    """The counts of the data."""
    sampler = program.first_layer
    if sampler is None or task.node.name != sampler.observed:
        return None
    return FirstCounts(sampler)


@maker("first layer", Draw)
def first_loadings(program: Program, task: Draw) -> Run | None:
    """φ, which the sampler keeps in a form of its own."""
    sampler = program.first_layer
    if sampler is None or task.node.name != sampler.pattern.loadings:
        return None
    return sampler.draw_loadings
