"""The plan: who makes the function of each step.

A step is first a composition of rules, the reference for every kernel. Upward, a node draws the
counts that its rules and its link define, and shares them out among the factors in its slots.
Downward, a node is drawn from its own family with the parameters that its draw rule returns.

A kernel that draws from the same law, only faster, replaces them. `STAGES` are tried in order, and
each says for which tasks it is. A maker is a function ``make(program, task)`` that returns the
step, a function of a key, or None if the task does not have the maker's pattern. The makers of the
last stage, "composed", serve everything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.products import cell_executor, splitter_of
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells
from pgbn.errors import NetworkError
from pgbn.nodes.base import Node, Observed, draw_node
from pgbn.nodes.rules import QUADRATIC, Evidence, drawn_counts, find_link, is_own, whole_counts
from pgbn.samplers import vectorised
from pgbn.samplers.random import ContentKeyed, Stream, stream_key

Run = Callable[[int], None]


@dataclass(frozen=True)
class Task:
    """One part of a step, for ``node``."""

    node: Node


class Draw(Task):
    """The task of drawing a latent node, given the evidence that it receives.

    Parameters
    ----------
    node : Node
        The node that is drawn.

    Examples
    --------
    A maker of a kernel reads the node of its task:

    >>> from pgbn import extend
    >>> extend.Draw(pgbn.Gamma("theta", 1, 1)).node.name
    'theta'
    """


class Counts(Task):
    """Draw all counts that a node passes up: those of its data and of its slots."""


class DataCounts(Task):
    """Draw the counts behind data, and share them out among the factors of their slot."""


@dataclass(frozen=True)
class SlotCounts(Task):
    """The task of drawing the counts that a node passes to a slot, and of sharing them out.

    Parameters
    ----------
    node : Node
        The node that passes counts.
    slot : str
        The slot that receives them.

    Examples
    --------
    >>> from pgbn import extend
    >>> task = extend.SlotCounts(pgbn.Gamma("theta", 1, 1), "shape")
    >>> task.node.name, task.slot
    ('theta', 'shape')
    """

    slot: str


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

Maker = Callable[[Program, Any], Run | None]
M = TypeVar("M", bound=Callable[[Program, Any], Any])  # those of pgbn may return `find_step`s
_makers: dict[tuple[str, type[Task]], list[Callable[[Program, Any], Any]]] = {}
_by_rows: set[Callable[[Program, Any], Any]] = set()


def maker(stage: str, task: type[Task], by_rows: bool = False) -> Callable[[M], M]:
    """Register a maker of a stage for one kind of task. ``by_rows``: its steps can draw a part of
    the rows by themselves, if they are local along a plate (`Step.local`)."""

    def register(make: M) -> M:
        _makers.setdefault((stage, task), []).append(make)
        if by_rows:
            _by_rows.add(make)
        return make

    return register


def register_kernel(task: type[Task]) -> Callable[[M], M]:
    """Register a fused kernel, which is tried before those of pgbn.

    It decorates ``make(program, task)``. This returns the step, a function of a key, or None if
    the kernel does not fit. The step must draw from the same law as the rules that it replaces:
    ``sampler="composed"`` uses these rules, for comparison.

    Parameters
    ----------
    task : type
        `Draw` or `SlotCounts`: the kind of task that the kernel serves.

    Returns
    -------
    callable
        A decorator.

    Examples
    --------
    This step draws nothing but ones. It shows what a maker does; a kernel draws from the law.

    >>> from pgbn import extend
    >>> @extend.register_kernel(extend.Draw)
    ... def ones(program, task):
    ...     name = task.node.name
    ...     def run(key):
    ...         program.values[name] = np.ones(program.shape[name])
    ...     return run if name == "always_one" else None
    >>> node = pgbn.Gamma("always_one", 1, 1, dims="i")
    >>> chain = pgbn.Network(pgbn.Poisson("x", node, dims="i")).chain({"x": [3, 8]})
    >>> chain.sweep().values["always_one"]
    array([1., 1.])
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


def find_step(program: Program, task: Task) -> tuple[Run, bool]:
    """The step of the first maker that serves a task, and whether it can draw a part of the rows by
    itself, see `maker`."""
    for stage, is_for in STAGES.items():
        makers = _makers.get((stage, type(task)), ())
        for make in makers if makers and is_for(program, task) else ():
            made = make(program, task)
            if made is not None:
                if not callable(made) and not isinstance(made, tuple):
                    raise NetworkError(
                        f"the kernel {make.__name__}() returned {made!r:.60} for {task}; it must "
                        "return the step, a function of a key, or None if it does not fit"
                    )
                return made if isinstance(made, tuple) else (made, make in _by_rows)
    raise AssertionError(f"no maker serves {task}")


def make_step(program: Program, task: Task) -> Run:
    """The function for a task, of the first maker that serves it."""
    return find_step(program, task)[0]


# ---- the composed rules: parameters of a draw ---------------------------------------------------


def posterior_of(program: Program, node: Node) -> Callable[..., Mapping[str, Any]]:
    """The function that returns the new slots of a node by its draw rule, checked. Its keyword
    arguments are added to the quantities that the rule reads."""
    posterior = program.wiring.draws[node.name].posterior
    arguments = {name: program.quantity(node, name).get for name in signature(posterior).parameters}
    received, slots = program.received_from(node.name), tuple(node.slots())

    def get(**more: Any) -> Mapping[str, Any]:
        given = {argument: read() for argument, read in arguments.items()}
        updated = posterior(**given | {name: given[name] + extra for name, extra in more.items()})
        check_posterior(node, slots, updated, received)
        return dict(updated)

    return get


def check_posterior(
    node: Node, slots: Collection[str], updated: Any, received: tuple[str, ...] = ()
) -> None:
    """Reject a result of a draw rule that is no set of parameters. The rule returns new values of
    its ``slots``, made from the evidence that it ``received`` from other rules."""
    rule = f"{node.name}: the draw rule of {type(node).__name__}"
    if not isinstance(updated, Mapping):
        raise NetworkError(
            f"{rule} returned {type(updated).__name__}; return a dict from names of slots "
            f"({', '.join(slots)}) to their new values"
        )
    for slot, value in updated.items():
        if slot not in slots:
            raise NetworkError(
                f"{rule} returned a value of {slot!r}, which is no slot; its slots are "
                f"{', '.join(slots)}"
            )
        if np.asarray(value).dtype.kind not in "iufb":
            raise NetworkError(f"{rule} returned {value!r:.60} for {slot!r}; return numbers")
        least = np.min(value)  # NaN if one of them is
        if np.isnan(least):
            raise NetworkError(
                f"{rule} returned NaN for {slot!r}; are the rule, and the numbers that it reads, "
                "finite?"
            )
        if least < 0 and slot not in node.real_slots:
            others = (
                f", or the rule for {' or '.join(dict.fromkeys(received))}," if received else ""
            )
            real = f" (a slot that may be negative, as a mean, belongs in real_slots = ({slot!r},))"
            raise NetworkError(
                f"{rule} returned the negative value {least:g} for {slot!r}; has it{others} a "
                f"wrong sign?{real if is_own(type(node)) else ''}"
            )


# ---- downward -----------------------------------------------------------------------------------


def _drawing(program: Program, node: Node) -> Callable[..., None]:
    """The function that draws a latent node from its own family, given a stream and quantities that
    are added to those its rule reads."""
    posterior, name = posterior_of(program, node), node.name
    slots = {slot: program.slot(name, slot).get for slot in node.slots()}
    shape, values = program.shape[name], program.values

    def draw(stream: Stream, **more: Any) -> None:
        updated = posterior(**more)
        kept = {slot: get() for slot, get in slots.items() if slot not in updated}
        values[name] = draw_node(node, stream, shape, {**updated, **kept})

    return draw


@maker("composed", Draw, by_rows=True)
def draw_step(program: Program, task: Draw) -> Run | None:
    """The function that draws a latent node from its own family, given a key."""
    name = task.node.name
    if program.wiring.draws[name].kernel:
        return None
    draw = _drawing(program, task.node)
    return lambda key: draw(program.stream(name, key))


@maker("completion", Draw)
def completed_draw(program: Program, task: Draw) -> Run:
    """The draw of proportions φ whose exposure is not the same for all entries.

    φ receives the evidence λ^n e^{−Σ_v q_v φ_v}. With pseudo-counts y_v ~ Pois((q̄ − q_v) φ_v) and
    q̄ = max_v q_v,

        p(φ, y) ∝ ∏_v φ_v^{η_v − 1 + n_v + y_v} · e^{−q̄ Σ_v φ_v},

    in which Σ_v φ_v = 1: given y the draw is that of a constant exposure, Dir(η + n + y). The
    pseudo-counts are drawn given the present φ, one for every entry, and forgotten at once. The
    exposure may come from masks, size factors of terms or gates. Its latent parts are drawn
    elsewhere and never see the pseudo-counts.
    """
    name, values = task.node.name, program.values
    draw, exposure = _drawing(program, task.node), program.exposure(name)

    def run(key: int) -> None:
        stream = program.stream(name, key)
        q = np.broadcast_to(np.asarray(exposure.get(), np.float64), stream.shape)
        lacking = q.max(axis=stream.simplex, keepdims=True) - q
        pseudo = program.stream(name, stream_key(key, 1))
        y = vectorised.poisson(pseudo, lacking * values[name].reshape(stream.shape))
        draw(stream, count=y)

    return run


def prior_of(program: Program, node: Node) -> Callable[[int], NDArray[Any]]:
    """The function that generates a node from its slots, given a key."""
    slots = {slot: program.slot(node.name, slot).get for slot in node.slots()}
    shape = program.shape[node.name]
    return lambda key: draw_node(
        node, program.stream(node.name, key), shape, {slot: get() for slot, get in slots.items()}
    )


# ---- upward -------------------------------------------------------------------------------------


@maker("composed", Counts)
def count_step(program: Program, task: Counts) -> tuple[Run, bool]:
    """The function that draws the counts that a node passes up, given a key. It can draw a part of
    the rows if its parts can."""
    node = task.node
    parts = []
    if isinstance(node, Observed) and find_link(node) is not None:
        parts.append(find_step(program, DataCounts(node)))
    parts += [
        find_step(program, SlotCounts(node, slot))
        for slot, rule in program.wiring.connections.rules_of(node).items()
        if rule.is_random
    ]
    if len(parts) == 1:
        return parts[0]

    def run(key: int) -> None:
        for index, (part, _) in enumerate(parts):
            part(stream_key(key, index))

    return run, all(by_rows for _, by_rows in parts)


@maker("composed", SlotCounts, by_rows=True)
def slot_step(program: Program, task: SlotCounts) -> Run:
    """The function that draws the counts for one slot."""
    node, slot = task.node, task.slot
    rule = program.wiring.rules[node.name, slot]
    count = rule.count
    assert callable(count)
    arguments = {name: program.quantity(node, name).get for name in rule.count_reads}
    splitter, own = splitter_of(program, node, slot), is_own(count)

    def run(key: int) -> None:
        stream = program.stream(node.name, key)
        result = count(stream=stream, **{name: get() for name, get in arguments.items()})
        if own:
            result = drawn_counts(node, slot, rule, result, stream.shape, program.sizes)
        if isinstance(result, Evidence):
            program.drawn[node.name, slot] = result.exposure
            result = result.count
        result = program.without_missing(node, slot, result)
        splitter.deliver(node, slot, key, splitter.dense(stream_key(key, 1), result))

    return run


@maker("composed", DataCounts, by_rows=True)
def data_step(program: Program, task: DataCounts) -> Run:
    """The function that draws the counts behind data, at their cells."""
    node, link = task.node, find_link(task.node)
    assert link is not None
    slot, splitter = link.slot, splitter_of(program, node, link.slot)

    def share(key: int, cells: Cells, counts: NDArray[Any]) -> None:
        if (node.name, slot) in program.wiring.rules:
            splitter.deliver(node, slot, key, splitter.cells(stream_key(key, 3), cells, counts))

    return LatentCounts(program, node.name, splitter.rates, share)


class LatentCounts:
    """The step that draws the counts behind data. A link draws them if the data are not counts;
    they are imputed at missing cells.

    ``rates`` gives the rates of cells, ``share`` passes the counts to the factors of the rate.
    ``width`` cells share one stream: the link is faster with more of them.
    """

    def __init__(
        self, program: Program, name: str, rates: Callable[[Cells], NDArray[np.float64]],
        share: Callable[[int, Cells, NDArray[Any]], None], width: int = 1,
    ) -> None:  # fmt: skip
        node = program.network.nodes[name]
        link = find_link(node)
        assert isinstance(node, Observed)
        assert link is not None
        self.program, self.node, self.slot, self.function = program, node, link.slot, link.counts
        self.rates, self.share = rates, share
        # Rows that are identified by their content draw cell by cell: no cells of two rows
        # together.
        self.width = 1 if isinstance(program.executor, ContentKeyed) else width
        self.needed = tuple(signature(link.counts).parameters) if link.counts else ()
        self.splitters = {
            other: splitter_of(program, node, other)
            for other, rule in program.wiring.connections.rules_of(node).items()
            if other != link.slot and rule.count == "count"
        }

    def __call__(self, key: int) -> None:
        name, cells = self.node.name, self.program.cells[self.node.name]
        counts = self.program.latent_counts[name] = self.draw(key, cells)
        self.share(key, cells, counts)
        if cells.missing is not None:  # a missing cell is no evidence for the other slots
            counts = np.where(cells.missing, 0, counts)
        for other, part in self.splitters.items():
            part.deliver(self.node, other, key, part.cells(stream_key(key, 4), cells, counts))

    def draw(self, key: int, cells: Cells) -> NDArray[Any]:
        """The counts at every cell."""
        counts = cells.values
        if self.function is None and cells.missing is None:
            return counts
        shape = (1, 1, counts.size, 1)
        rate = self.rates(cells).reshape(shape)
        if self.function is not None:
            counts = self._behind(stream_key(key, 1), cells, rate)
        if cells.missing is not None:
            stream = Stream(stream_key(key, 2), shape, cell_executor(self.program.executor, cells))
            imputed = vectorised.poisson(stream, rate * self._exposure(cells)).reshape(-1)
            counts = np.where(cells.missing, imputed, counts)
        return counts

    def _behind(self, key: int, cells: Cells, rate: Any) -> NDArray[Any]:
        assert self.function is not None
        known = {"value": cells.values.astype(np.float64), self.slot: rate}
        known |= {slot: self.program.at_cells(self.node, slot, cells) for slot in self.needed
                  if slot not in ("stream", "value", self.slot)}  # fmt: skip
        groups = cells.groups(self.width) if self.width > 1 else [cells.values.size]
        read = {n: self._in_rows(cells, known[n]) for n in self.needed if n != "stream"}
        shape = (1, 1, sum(groups), self.width)
        stream = Stream(key, shape, cell_executor(self.program.executor, cells, self.width))
        counts = self.function(stream=stream, **read)
        if is_own(self.function):
            counts = whole_counts(self.node, self.slot, self.function, counts, shape)
        flat = np.asarray(counts).reshape(-1)
        return flat if self.width == 1 else cells.from_groups(flat, self.width)

    def _in_rows(self, cells: Cells, column: NDArray[Any]) -> NDArray[Any]:
        """A number of every cell as rows of ``width``."""
        flat = column.reshape(-1)
        if self.width > 1:
            flat = cells.in_groups(flat, self.width)
        return flat.reshape(1, 1, -1, self.width)

    def _exposure(self, cells: Cells) -> Any:
        """The exposure q from the rule for the slot, at every cell: x ~ Pois(q · rate)."""
        program, node = self.program, self.node
        rule = program.wiring.rules.get((node.name, self.slot))
        exposure = 1.0 if rule is None else rule.exposure
        if isinstance(exposure, str):
            return program.at_cells(node, exposure, cells)
        if rule is None or not callable(exposure):
            return exposure
        return exposure(**{n: program.at_cells(node, n, cells) for n in rule.exposure_reads})
