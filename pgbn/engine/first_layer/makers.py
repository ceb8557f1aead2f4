"""The steps that the sampler of the first layer takes over: its counts, the tables of
φ, and the draw of φ."""

from __future__ import annotations

from dataclasses import dataclass

from pgbn.engine.compile.composed import slot_step
from pgbn.engine.compile.program import Program
from pgbn.engine.first_layer.base import FirstLayer
from pgbn.engine.plan import Counts, Draw, Run, SlotCounts, maker

__all__ = ["FirstCounts", "first_counts", "first_loadings", "first_tables"]


@dataclass(frozen=True)
class FirstCounts:
    """A step of the sampler, which can draw the tables of the next steps beside it."""

    sampler: FirstLayer

    def __call__(self, key: int) -> None:
        self.sampler.step(key)


@maker("first layer", Counts, by_rows=True)
def first_counts(program: Program, task: Counts) -> Run | None:
    """The counts of the data."""
    sampler = program.first_layers.get(task.node.name)
    return None if sampler is None else FirstCounts(sampler)


def _sampler_of(program: Program, loadings: str) -> FirstLayer | None:
    layers = program.first_layers.values()
    return next((layer for layer in layers if layer.pattern.loadings == loadings), None)


@maker("first layer", SlotCounts)
def first_tables(program: Program, task: SlotCounts) -> Run | None:
    """The tables of φ: evidence about η from the counts that the sampler keeps."""
    sampler = _sampler_of(program, task.node.name)
    if sampler is None:
        return None
    composed = slot_step(program, task)

    def run(key: int) -> None:
        sampler.show_counts()
        composed(key)

    return run


@maker("first layer", Draw)
def first_loadings(program: Program, task: Draw) -> Run | None:
    """φ, which the sampler keeps in a form of its own."""
    sampler = _sampler_of(program, task.node.name)
    return None if sampler is None else sampler.draw_loadings
