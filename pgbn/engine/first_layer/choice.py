"""Which sampler draws the first layer: the one that is asked for, or the one that "auto" takes.

All are exact. "composed" stands for the general rules: the readable reference that the kernels
are tested against, and the only way for networks of another form.
"""

from __future__ import annotations

from functools import partial

from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells
from pgbn.engine.first_layer.base import FirstLayer
from pgbn.engine.first_layer.pattern import Pattern, find_pattern
from pgbn.engine.first_layer.registry import automatic, sampler_named, sampler_names
from pgbn.errors import NetworkError, StaleReadError
from pgbn.network.network import Network
from pgbn.network.schedule import Schedule
from pgbn.network.steps import Step
from pgbn.network.wiring import Wiring

__all__ = ["choose", "first_choice", "quickest", "sampler_of", "schedule_for"]

MOST_TOKENS = 2**31  # that are counted in four bytes
MOST_TOPICS = 2**16  # that a label can tell apart

# One sweep of the sampler that mixes best moves further than one of a sampler that holds more.
_WORTH = 4.0


def schedule_for(network: Network, layer1: str) -> Schedule:
    """The schedule of a network with the sampler ``layer1``, or with the general rules where the
    network has no such first layer."""
    pattern = find_pattern(network.wiring)
    if layer1 == "composed" or isinstance(pattern, str):
        return network.schedule
    kind = sampler_named(layer1)
    return network.schedule_with(partial(_revised, kind, pattern))


def _revised(kind: type[FirstLayer], pattern: Pattern, wiring: Wiring, step: Step) -> Step:
    """The counts of the data as a sampler draws them; other steps are unchanged."""
    if not step.upward or step.node != pattern.observed:
        return step
    return kind.revise(wiring, pattern, step)


def quickest(cells: Cells, topics: int) -> list[type[FirstLayer]]:
    """The samplers that "auto" tries for these data, in order: those that mix best first, but one
    alone where it is much cheaper.

    The cost is a formula and not a clock, nor does it know the threads: the same data and widths
    give the same choice, and so the same chain, everywhere.
    """
    best, *others = kinds = automatic()
    cost = partial(_cost, cells=cells, topics=topics)
    cheap = [kind for kind in others if _WORTH * cost(kind) < cost(best)]
    return cheap[:1] or kinds


def _cost(kind: type[FirstLayer], cells: Cells, topics: int) -> float:
    return kind.nanoseconds(cells.values, cells.rows, cells.columns, topics)


def choose(program: Program, layer1: str) -> tuple[str, Schedule]:
    """The sampler of the first layer and the schedule that goes with it."""
    network = program.network
    if not isinstance(layer1, str) or layer1 not in ("auto", *sampler_names(), "composed"):
        known = ", ".join(("auto", *sampler_names(), "composed"))
        raise NetworkError(f"layer1={layer1!r}: must be one of {known}")
    if layer1 == "composed":
        return layer1, network.schedule
    pattern = find_pattern(program.wiring)
    if isinstance(pattern, str):
        reason = pattern
    else:
        cells, topics = program.cells[pattern.observed], program.shape[pattern.loadings][-1]
        reason = _why_not(cells, topics)
    if reason:
        if layer1 in ("auto", "blocked"):
            return "composed", network.schedule
        raise NetworkError(
            f"layer1={layer1!r} is not available: {reason}; use layer1='auto' or 'blocked'"
        )
    if layer1 == "auto":
        for kind in quickest(cells, topics):
            try:
                return kind.name, schedule_for(network, kind.name)
            except StaleReadError:  # the user's order needs more values than this one keeps
                continue
        return "composed", network.schedule
    return layer1, schedule_for(network, layer1)


def first_choice(cells: Cells, topics: int, most_tokens: int) -> str:
    """The sampler that "auto" takes for data alone, for a training whose widths will change:
    "blocked", by the general rules if need be, where cells are missing or tokens are too many."""
    if _why_not(cells, topics, most_tokens):
        return "blocked"
    return quickest(cells, topics)[0].name


def _why_not(cells: Cells, topics: int, most_tokens: int = MOST_TOKENS) -> str:
    """Why these data have no sampler of their own; "" if they have."""
    if cells.missing is not None:
        return "some cells are missing"
    if cells.values.sum() >= most_tokens:
        return "there are 2^31 tokens or more"
    if topics >= MOST_TOPICS:
        return "there are more than 65,535 topics"
    return ""


def sampler_of(program: Program, layer1: str) -> FirstLayer | None:
    """The sampler that `choose` named, or None where the general rules are used."""
    if layer1 == "composed":
        return None
    pattern = find_pattern(program.wiring)
    assert isinstance(pattern, Pattern)
    return sampler_named(layer1)(program, pattern)
