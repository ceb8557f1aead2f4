"""The schedule: the order of the steps of one sweep, derived and checked.

Upward, the counts of every node are drawn from the data to the roots. Downward, every latent
node is drawn from the roots to the data. A step that integrates a node out leaves that node
*stale*: it must be redrawn before any step conditions on it (van Dyk & Park 2008). One
exemption: drawing a Dirichlet leaves the sums of the gammas below it current, because they do
not depend on how their shape is shared out. The check runs over two sweeps, so that the end of
a sweep is a valid beginning of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from pgbn.errors import NetworkError, StaleReadError, did_you_mean
from pgbn.network.evidence import Read
from pgbn.network.network_methods import ScheduleMethods
from pgbn.network.steps import Stale, Step, is_current
from pgbn.nodes.rules import plain_formula

_PATIENCE = 2000  # steps of the search for an order after the first attempt


class Schedule(ScheduleMethods, Sequence[Step]):
    """The steps in order: printable, a table in notebooks, a picture by `plot`.

    The nodes ``given`` have no step."""

    def __init__(self, steps: Iterable[Step], given: Iterable[str] = ()) -> None:
        self.steps, self.given = tuple(steps), tuple(given)
        for step in self.steps:
            for name in self.given:
                if name in step.marginalises:
                    raise StaleReadError(
                        f"{step.name} [{step.method or 'a draw'}] integrates {name} out, but "
                        f"{name} is given: draw it given {name}"
                    )

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self.steps[index]

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @property
    def names(self) -> list[str]:
        """The names of the steps, as `Network.with_order` takes them."""
        return [step.name for step in self.steps]

    @cached_property
    def faults(self) -> list[tuple[str, str, str]]:
        """(step, stale value that it reads, step that left it stale) for every stale read.

        The sweep follows another one. An order that was checked has none."""
        freshness, found = Freshness(step.name for step in self.steps if step.upward), []
        for sweep in (1, 2):
            for step in self.steps:
                found += [
                    (step.name, read.name, freshness.left_by[read.name].name)
                    for read in sorted(step.reads, key=lambda read: read.name)
                    if sweep == 2 and not freshness.is_current(read)
                ]
                freshness.run(step)
        return found

    def __repr__(self) -> str:
        return self._text(lambda step: step.text(plain_formula(step.equation)))

    def latex(self) -> str:
        """The steps with their equations as LaTeX."""
        return self._text(str)

    def _text(self, show: Callable[[Step], str]) -> str:
        lines = [f"Given: {', '.join(self.given)}"] if self.given else []
        direction = None
        for number, step in enumerate(self.steps, 1):
            if step.upward is not direction:
                direction = step.upward
                lines.append("Upward: counts" if direction else "Downward: values")
            lines.append(f"{number:>4}. {show(step)}")
        return "\n".join(lines)

    def _repr_markdown_(self) -> str:
        rows = ["| | step | equation | reads | leaves stale |", "|---|---|---|---|---|"]
        for number, step in enumerate(self.steps, 1):
            equation = step.equation.replace("|", r"\vert ")
            cells = [step.heading, f"${equation}$", step.reads_text, step.stale_text]
            rows.append(f"| {number} | {' | '.join(cells)} |")
        return "\n".join(rows) + "\n"


# ---- deriving an order ------------------------------------------------------------------


def derive(steps: dict[str, Step]) -> Schedule:
    """All counts from the data up; then the values, so that no step reads a stale one.

    A step that integrates a node out comes before the step of that node. A step also waits while
    it would leave stale a value that another step has yet to read. The deep networks then draw
    rates given the current values, and everything else from the roots down.
    """
    order = [step for step in steps.values() if step.upward]
    waiting = [step for step in steps.values() if not step.upward]
    stale: Stale = {}
    for step in order:
        _apply(step, stale)
    schedule = Schedule(order + _find_order(waiting, stale))
    check_order(schedule)
    return schedule


def _find_order(waiting: list[Step], stale: Stale) -> list[Step]:
    """An order in which no step reads a stale value: the first found by depth-first search."""
    names, path = ", ".join(step.name for step in waiting), list[Step]()
    stack = [(waiting, stale, _candidates(waiting, stale))]
    for _ in range(len(waiting) + _PATIENCE):
        waiting, stale, candidates = stack[-1]
        if not waiting:
            return path
        step = next(candidates, None)
        if step is None:  # a dead end
            stack.pop()
            if not stack:
                break
            path.pop()
            continue
        waiting, stale = [other for other in waiting if other is not step], dict(stale)
        _apply(step, stale)
        path.append(step)
        stack.append((waiting, stale, _candidates(waiting, stale)))
    raise StaleReadError(
        f"no valid order exists for {names}: each reads a value that another one has "
        "integrated out; give the value of one of them or change a prior"
    )


def _candidates(waiting: list[Step], stale: Stale) -> Iterator[Step]:
    """The steps that may come next, first those that spoil no read of the others."""
    ready = [
        step
        for step in waiting
        if not any(
            name in other.marginalises
            for name in step.draws
            for other in waiting
            if other is not step
        )
        and all(is_current(read, stale) for read in step.reads)
    ]
    first = next((step for step in ready if not _spoils(step, waiting)), None)
    if first is not None:
        yield first
    yield from (step for step in ready if step is not first)


def _spoils(step: Step, waiting: list[Step]) -> bool:
    """Whether a step makes a value stale that another waiting step reads before it is redrawn."""
    after = {name: other.marginalises for other in waiting for name in other.draws}
    return any(
        read.name in step.marginalises and other.node not in after.get(read.name, {})
        for other in waiting
        if other is not step
        for read in other.reads
    )


def _apply(step: Step, stale: Stale) -> None:
    """Mark as current what a step draws, and as stale what it integrates out."""
    for name in step.draws:
        stale.pop(name, None)
    for name, sums in step.marginalises.items():
        stale[name] = sums & stale[name] if name in stale else sums


# ---- checking an order ------------------------------------------------------------------


class Freshness:
    """The stale values between two steps of a sweep, and which step left them stale.

    It begins with the values that were never drawn; call `run` for every step in order.
    """

    def __init__(self, never_drawn: Iterable[str] = ()) -> None:
        self.stale: Stale = {name: frozenset() for name in never_drawn}
        self.left_by: dict[str, Step] = {}

    def run(self, step: Step) -> None:
        """Take account of a step."""
        _apply(step, self.stale)
        self.left_by |= dict.fromkeys(step.marginalises, step)

    def is_current(self, read: Read) -> bool:
        """Whether a step may condition on what it reads."""
        return is_current(read, self.stale)

    def is_current_sum(self, read: Read) -> bool:
        """Whether a sum is current although the value itself is stale."""
        return bool(read.summed & self.stale.get(read.name, frozenset()))


def check_order(schedule: Iterable[Step]) -> None:
    """Raise `StaleReadError` if a step conditions on a value that was integrated out."""
    steps = list(schedule)
    freshness = Freshness(step.name for step in steps if step.upward)
    for sweep in (1, 2):
        for step in steps:
            for read in sorted(step.reads, key=lambda r: r.name):
                if not freshness.is_current(read):
                    culprit = freshness.left_by.get(read.name)
                    raise StaleReadError(_explain(step, read.name, culprit, sweep))
            freshness.run(step)


def _explain(step: Step, name: str, culprit: Step | None, sweep: int) -> str:
    if culprit is None:
        return f"{step.name} reads {name}, which has not been drawn yet; put {name} before it"
    again = " of the next sweep" if sweep == 2 else ""
    return (
        f"{step.name}{again} conditions on {name}, but {name} is stale: {culprit.name} was drawn "
        f"with {name} integrated out, and {name} has not been redrawn since. Draw {name} between "
        f"{culprit.name} and {step.name}, or move {step.name} before {culprit.name}"
    )


def _reject_separate_step(steps: dict[str, Step], name: str) -> None:
    """Reject a separate step for a node that is drawn with the entries of another node."""
    for step in steps.values():
        if name in step.draws and step.sequential is not None and name != step.name:
            node, dim = step.name, step.sequential.dim
            raise StaleReadError(
                f"order: {name} has no separate step. The order 'all of {name}, then all of "
                f"{node}' is wrong: an entry of {name} is drawn with its entry of {node} "
                f"integrated out, and the other entries of {name} would condition on that stale "
                f"entry of {node}. Both are drawn in the step {node!r}, for one {dim} after "
                f"another: remove {name!r} from the order"
            )


def reorder(steps: dict[str, Step], order: Iterable[str], check: bool = True) -> Schedule:
    """The schedule in a user's order, checked for stale reads unless ``check`` is False."""
    names = [order] if isinstance(order, str) else list(order)
    for name in names:
        if name not in steps:
            _reject_separate_step(steps, name)
            raise NetworkError(f"order: there is no step {name!r}.{did_you_mean(name, steps)}")
    missing = [n for n, step in steps.items() if n not in names and not step.on_demand]
    if missing:
        raise NetworkError(f"order: the steps {', '.join(missing)} are missing")
    left_out = [step for name, step in steps.items() if name not in names]
    schedule = Schedule([*(steps[name] for name in names), *left_out])
    if check:
        check_order(schedule)
    return schedule
