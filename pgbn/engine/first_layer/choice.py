"""Which sampler draws the first layer: the one that is asked for, or the one that "auto" takes.

All are exact. "composed" stands for the general rules: the readable reference that the kernels
are tested against, and the only way for networks of another form. "general" takes these rules for
the first layer alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isabstract
from typing import TypeVar

from pgbn.engine.compile.composed import slot_step
from pgbn.engine.compile.program import Program
from pgbn.engine.data.nonzero import Cells, CoordinateCells
from pgbn.engine.first_layer.base import FirstLayer
from pgbn.engine.first_layer.pattern import Pattern, find_patterns
from pgbn.engine.plan import Counts, Draw, Run, SlotCounts, maker
from pgbn.errors import NetworkError, StaleReadError
from pgbn.network.network import Network
from pgbn.network.schedule import Schedule
from pgbn.network.steps import Step
from pgbn.network.wiring import Wiring

# ---- registry -----------------------------------------------------------------------------------
#
# The samplers of the first layer, by name: choice, cost, schedule, resume and timing look here.
#
# A sampler is one class (a `FirstLayer`) and one kernel, in this package or in another:
#
#     @pgbn.register_sampler
#     class Mine(FirstLayer):
#         name = "mine"


Kind = TypeVar("Kind", bound=type[FirstLayer])

_kinds: dict[str, type[FirstLayer]] = {}


def register_sampler(kind: Kind) -> Kind:
    """Register a sampler of the first layer under its ``name``, for ``layer1=`` of chains."""
    if not (isinstance(kind, type) and issubclass(kind, FirstLayer)) or isabstract(kind):
        raise NetworkError(
            f"register_sampler({kind!r}): give a class derived from "
            "pgbn.engine.first_layer.FirstLayer that has all its methods"
        )
    known = _kinds.get(kind.name)
    if known is not None and known.__qualname__ != kind.__qualname__:
        raise NetworkError(
            f"register_sampler: {kind.name!r} is {known.__name__}; give another name"
        )
    if kind.name in ("", "auto", "composed"):
        raise NetworkError(f"{kind.__name__}.name={kind.name!r}: give the sampler another name")
    _kinds[kind.name] = kind
    return kind


def sampler_names() -> tuple[str, ...]:
    """The names of all samplers."""
    return tuple(_kinds)


def sampler_named(name: str) -> type[FirstLayer]:
    """The sampler of a name."""
    if name not in _kinds:
        raise NetworkError(f"layer1={name!r}: must be one of {', '.join(_kinds)}")
    return _kinds[name]


def automatic() -> list[type[FirstLayer]]:
    """Those that "auto" may take, the one that mixes best first."""
    return [kind for kind in _kinds.values() if kind.is_automatic]


# ---- choice -------------------------------------------------------------------------------------


MOST_TOKENS = 2**31  # that are counted in four bytes
MOST_TOPICS = 2**16  # that a label can tell apart

_OF_CORPORA = "partial"  # whose rows are independent, wherever they are

# One sweep of the sampler that mixes best moves further than one of a sampler that holds more.
_WORTH = 4.0


def schedule_for(network: Network, layer1: str) -> Schedule:
    """The schedule of a network with the sampler ``layer1``, or with the general rules where the
    network has no first layer that it serves."""
    patterns = find_patterns(network.wiring)
    if layer1 in ("composed", "general") or isinstance(patterns, str):
        return network.schedule
    kind = sampler_named(layer1)
    if refusal(kind, network.wiring, patterns):
        return network.schedule
    return network.schedule_with(partial(_revised, kind, patterns))


def _revised(
    kind: type[FirstLayer], patterns: Sequence[Pattern], wiring: Wiring, step: Step
) -> Step:
    """The counts of the data as a sampler draws them; other steps are unchanged."""
    for pattern in patterns:
        if step.upward and step.node == pattern.observed:
            return kind.revise(wiring, pattern, step)
    return step


def refusal(kind: type[FirstLayer], wiring: Wiring, patterns: Sequence[Pattern]) -> str:
    """Why a sampler does not serve all first layers of a network; "" if it does."""
    return next(filter(None, (kind.unsupported_reason(wiring, p, patterns) for p in patterns)), "")


def candidates(
    cells: Cells, topics: int, kinds: Sequence[type[FirstLayer]] | None = None
) -> list[type[FirstLayer]]:
    """The samplers that "auto" tries for these data, in order: those that mix best first, but one
    alone where it is much cheaper.

    The cost is a formula and not a clock, nor does it know the threads: the same data and widths
    give the same choice, and so the same chain, everywhere.
    """
    best, *others = kinds = list(automatic() if kinds is None else kinds)
    cost = partial(_cost, cells=cells, topics=topics)
    cheap = [kind for kind in others if _WORTH * cost(kind) < cost(best)]
    return cheap[:1] or kinds


def _cost(kind: type[FirstLayer], cells: Cells, topics: int) -> float:
    return kind.nanoseconds(cells.values, cells.rows, cells.columns, topics)


def choose(program: Program, layer1: str) -> tuple[str, Schedule]:
    """The sampler of the first layer and the schedule that goes with it."""
    network = program.network
    names = ("auto", *sampler_names(), "general", "composed")
    if not isinstance(layer1, str) or layer1 not in names:
        raise NetworkError(f"layer1={layer1!r}: must be one of {', '.join(names)}")
    if layer1 in ("composed", "general"):
        return "composed", network.schedule
    patterns = find_patterns(program.wiring)
    if isinstance(patterns, str):
        return _without_kernel(network, layer1, patterns)
    if layer1 == "auto":
        return _automatic(program, patterns)
    reason = _why_not(sampler_named(layer1), program, patterns)
    if reason:
        return _without_kernel(network, layer1, reason)
    return layer1, schedule_for(network, layer1)


def _without_kernel(network: Network, layer1: str, reason: str) -> tuple[str, Schedule]:
    """The general rules, where they are what was asked for."""
    if layer1 in ("auto", "blocked"):
        return "composed", network.schedule
    raise NetworkError(
        f"layer1={layer1!r} is not available: {reason}; use layer1='auto' or 'blocked'"
    )


def _automatic(program: Program, patterns: Sequence[Pattern]) -> tuple[str, Schedule]:
    kinds = [kind for kind in automatic() if not _why_not(kind, program, patterns)]
    corpora = any(program.cells[p.observed].is_corpus for p in patterns)
    rows_apart = [kind for kind in kinds if kind.name == _OF_CORPORA]
    if corpora and rows_apart:
        return _OF_CORPORA, schedule_for(program.network, _OF_CORPORA)
    if kinds:
        largest = max(patterns, key=lambda p: program.cells[p.observed].size)
        cells, topics = program.cells[largest.observed], program.shape[largest.loadings][-1]
        for kind in candidates(cells, topics, kinds):
            try:
                return kind.name, schedule_for(program.network, kind.name)
            except StaleReadError:  # the user's order needs more values than this one keeps
                continue
    return "composed", program.network.schedule


def first_choice(cells: Cells, topics: int, most_tokens: int, wirings: Sequence[Wiring]) -> str:
    """The sampler that "auto" takes for data alone, for a training whose widths will change, among
    those that serve its networks (``wirings``): "blocked", by the general rules if need be,
    where there is none, cells are missing or tokens are too many."""
    kinds = [kind for kind in automatic() if all(_serves(kind, wiring) for wiring in wirings)]
    if not kinds or cells.missing is not None or _too_many(cells, topics, most_tokens):
        return "blocked"
    if cells.is_corpus:
        return _OF_CORPORA
    return candidates(cells, topics, kinds)[0].name


def _serves(kind: type[FirstLayer], wiring: Wiring) -> bool:
    patterns = find_patterns(wiring)
    return not isinstance(patterns, str) and not refusal(kind, wiring, patterns)


def _why_not(kind: type[FirstLayer], program: Program, patterns: Sequence[Pattern]) -> str:
    """Why a sampler does not serve the first layers of a network and these data; "" if it does."""
    reasons = [refusal(kind, program.wiring, patterns)]
    for pattern in patterns:
        cells, topics = program.cells[pattern.observed], program.shape[pattern.loadings][-1]
        reasons.append(kind.why_not_data(cells.missing is not None))
        reasons.append(_too_many(cells, topics))
        reasons.append(_why_not_shared(program, pattern, cells))
    return next(filter(None, reasons), "")


def _why_not_shared(program: Program, pattern: Pattern, cells: Cells) -> str:
    """Why rows of these data that share scores are not drawn together; "" if they are."""
    if not pattern.index:
        return ""
    shared = f"rows share {pattern.scores} through {pattern.index}"
    if cells.missing is not None:
        return f"some cells are missing where {shared}"
    if cells.is_corpus:
        return f"{shared}, and are those of a corpus"
    return f"{shared}, and are coordinates" if isinstance(cells, CoordinateCells) else ""


def _too_many(cells: Cells, topics: int, most_tokens: int = MOST_TOKENS) -> str:
    """Why there is no sampler for so many tokens or topics; "" if there is."""
    if cells.sum() >= most_tokens:
        return "there are 2^31 tokens or more"
    if topics >= MOST_TOPICS:
        return "there are more than 65,535 topics"
    return ""


def samplers_of(program: Program, layer1: str) -> dict[str, FirstLayer]:
    """The sampler that `choose` named, for every observed node that has the pattern; none where
    the general rules are used."""
    patterns = find_patterns(program.wiring)
    if layer1 == "composed" or isinstance(patterns, str):
        return {}
    kind = sampler_named(layer1)
    samplers = {pattern.observed: kind(program, pattern) for pattern in patterns}
    return samplers if program.shards is None else program.shards.layers(samplers)


# ---- makers -------------------------------------------------------------------------------------
#
# The steps that the sampler of the first layer takes over: its counts, the tables of φ, and the
# draw of φ.


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
