"""The plan: who makes the function of each step.

A step is first a composition of rules. A kernel that draws from the same law, only faster, replaces
them. `STAGES` are tried in order, and each says for which tasks it is. A maker is a function
``make(program, task)`` that returns the step, a function of a key, or None if the task does not
have the maker's pattern. The makers of the last stage serve everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pgbn.errors import NetworkError
from pgbn.nodes.base import Node
from pgbn.nodes.rules.types import QUADRATIC

if TYPE_CHECKING:
    from pgbn.engine.compile.program import Program


Run = Callable[[int], None]


@dataclass(frozen=True)
class Task:
    """One part of a step, for ``node``."""

    node: Node


class Draw(Task):
    """Draw the value of a latent node, given the evidence that it receives."""


class Counts(Task):
    """Draw all counts that a node passes up: those of its data and of its slots."""


class DataCounts(Task):
    """Draw the counts behind data, and share them out among the factors of their slot."""


@dataclass(frozen=True)
class SlotCounts(Task):
    """Draw the counts that a node passes to one ``slot``, and share them out."""

    slot: str


@dataclass(frozen=True)
class MadeStep:
    """The function of a task. ``by_rows``: it can draw a part of the rows by itself, if the step is
    local along a plate (`Step.local`)."""

    run: Run
    by_rows: bool

    def __call__(self, key: int) -> None:
        self.run(key)


def _is_linear(program: Program, task: Task) -> bool:
    """Whether a slot is a linear predictor, or a node in one receives quadratic forms."""
    wiring, name = program.wiring, task.node.name
    if isinstance(task, SlotCounts):
        return wiring.rules[name, task.slot].is_quadratic
    return wiring.draws[name].receives and wiring.draws[name].kind == QUADRATIC


STAGES: dict[str, Callable[[Program, Task], bool]] = {
    # nodes that depend on their own previous row
    "time": lambda program, task: program.is_in_time(task.node.name),
    # nodes whose entries are drawn one after another, given each other
    "in turn": lambda program, task: task.node.name in program.wiring.connections.sequential,
    # proportions whose exposure varies from entry to entry
    "completion": lambda program, task: task.node.name in program.wiring.completed,
    "linear": _is_linear,
    # the counts of the data, if the network has a sampler of the first layer
    "first layer": lambda program, task: program.kernels,
    # kernels that do several rules at once, those of other packages first
    "fused": lambda program, task: program.kernels,
    # the rules, one by one
    "composed": lambda program, task: True,
}

Maker = Callable[["Program", Any], Run | None]
M = TypeVar("M", bound=Maker)
_makers: dict[tuple[str, type[Task]], list[Maker]] = {}
_by_rows: set[Maker] = set()


def maker(stage: str, task: type[Task], by_rows: bool = False) -> Callable[[M], M]:
    """Register a maker of a stage for one kind of task; ``by_rows`` as in `MadeStep`."""

    def register(make: M) -> M:
        _makers.setdefault((stage, task), []).append(make)
        if by_rows:
            _by_rows.add(make)
        return make

    return register


def register_kernel(task: type[Task]) -> Callable[[M], M]:
    """Register a fused kernel: decorates ``make(program, task)``, which returns a function of a
    key, or None if the kernel does not fit. It is tried before those of pgbn.

    ``task`` is `Draw` or `SlotCounts`. The function must draw from the same law as the rules that
    it replaces. ``network.chain(..., sampler="composed")`` uses these rules, for comparison.
    """

    if task not in (Draw, SlotCounts):
        raise NetworkError(
            f"register_kernel({task!r}): give the kind of task that it serves, "
            "@register_kernel(Draw) or @register_kernel(SlotCounts), both of pgbn.extend"
        )

    def register(make: M) -> M:
        _makers.setdefault(("fused", task), []).insert(0, make)
        return make

    return register


def find_step(program: Program, task: Task) -> MadeStep:
    """The step of the first maker that serves a task."""
    for stage, is_for in STAGES.items():
        makers = _makers.get((stage, type(task)), ())
        for make in makers if makers and is_for(program, task) else ():
            made = make(program, task)
            if made is not None:
                return made if isinstance(made, MadeStep) else MadeStep(made, make in _by_rows)
    raise AssertionError(f"no maker serves {task}")


def make_step(program: Program, task: Task) -> Run:
    """The function for a task, of the first maker that serves it."""
    return find_step(program, task).run
