"""How long a run of chains is and what it keeps, and a chain of it that runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, check_seed
from pgbn.diagnostics import split_rhat
from pgbn.engine.compile.products import align
from pgbn.engine.compile.program import Program
from pgbn.engine.data.coords import Coords
from pgbn.engine.run.chain import Chain, check_imputed
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.progress import Clock, Event, Meter, live_text
from pgbn.errors import DataError, did_you_mean, notify
from pgbn.network.lowering import lower
from pgbn.network.network import Network
from pgbn.network.serialise import expression_from_json, expression_json
from pgbn.network.sumproduct import operand_of, reduce_product
from pgbn.network.terms import Polynomial
from pgbn.nodes.base import Node
from pgbn.nodes.categorical import Categorical
from pgbn.nodes.edge import Edge
from pgbn.nodes.expression import Constant, Expression, Mix, Product, Rename, Sum
from pgbn.nodes.index import Index
from pgbn.nodes.normal import Normal
from pgbn.nodes.pairs import Pairs
from pgbn.storage.read_limits import check_bytes
from pgbn.storage.stopping import Stop

# ---- expressions --------------------------------------------------------------------------------
#
# Values of expressions that no node has: ``phi @ theta``, for whoever wants to keep them.


def free_dims(expression: Expression) -> tuple[str, ...]:
    """The dims of an expression's value. A Mix sums over what two of its factors share."""
    match expression:
        case Node():
            return expression.axes
        case Edge() if expression.is_evaluated:
            slots = {slot: getattr(expression, slot) for slot in expression.slots()}
            return expression.dims_of(**{slot: free_dims(part) for slot, part in slots.items()})
        case Edge():
            return free_dims(expression.expanded)
        case Constant():
            return expression.dims
        case Index():
            return _seen(free_dims(expression.of), expression)
        case Rename():
            return tuple(expression.names.get(dim, dim) for dim in free_dims(expression.of))
        case Pairs():
            return tuple(
                dict.fromkeys((*free_dims(expression.of), expression.first, expression.second))
            )
        case Mix() | Product() | Sum():
            parts = expression.terms if isinstance(expression, Sum) else expression.factors
            each = [dim for part in parts for dim in free_dims(part)]
            every = tuple(dict.fromkeys(each))
            if not isinstance(expression, Mix):
                return every
            shared = [dim for dim in every if each.count(dim) > 1]
            over = shared if expression.over is None else expression.over
            return tuple(dim for dim in every if dim not in over)
    raise DataError(f"keep: {expression}: a {type(expression).__name__} has no value of its own")


def _seen(dims: tuple[str, ...], index: Index) -> tuple[str, ...]:
    """The dims of what is read through categories: theirs in the place of what they are about."""
    for each in index.by:
        of = each.over if isinstance(each, Categorical) else each.of
        places = ((each.dims if dim == of else (dim,)) for dim in dims)
        dims = tuple(dict.fromkeys(dim for place in places for dim in place))
    return dims


class Deterministic:
    """An expression of latent nodes under a name, with the dims of its value."""

    def __init__(self, network: Network, name: str, expression: Any) -> None:
        if not isinstance(expression, Expression):
            raise DataError(
                f"keep: {name!r}: {expression!r:.60}; give a node or an expression, such as "
                "phi @ theta"
            )
        self.name, self.expression, self.axes = name, expression, free_dims(expression)
        # A slot is where expressions are brought to their normal form: that of a passing node.
        polynomial: Polynomial = lower(Normal(name, expression, 1.0, dims=self.axes), "mean")
        self.terms, self.names = polynomial.terms, polynomial.names
        for each in self.names:
            if each not in network.latent:
                raise DataError(
                    f"keep: {name!r}: {each!r} is not a latent node of this network."
                    f"{did_you_mean(each, network.latent)}"
                )

    def reader(self, program: Program) -> Callable[[], NDArray[np.float64]]:
        """The function that gives the value at the values of a program, (R, *dims)."""
        shape = (program.replicates, *(program.sizes[dim] for dim in self.axes))
        parts = []
        for term in self.terms:
            operands = [operand_of(factor) for factor in term.factors]
            product = reduce_product(term.coefficient, operands, term.contracted)
            parts.append(align(program.product(product), self.axes, program.sizes).get)
        wide = (shape[0], *(1,) * (3 - len(self.axes)), *shape[1:])

        def read() -> NDArray[np.float64]:
            total = sum((np.asarray(part()) for part in parts[1:]), np.asarray(parts[0]()))
            return np.array(np.broadcast_to(total, wide), np.float64).reshape(shape)

        return read


# ---- keep ---------------------------------------------------------------------------------------
#
# What is kept of a chain: values of nodes, imputed data, and values of expressions.


Expressions = Mapping[str, Deterministic]


class Keep:
    """Names of nodes of a network, and of expressions of its latent nodes."""

    def __init__(
        self, network: Network, names: tuple[str, ...], expressions: Expressions | None = None
    ) -> None:
        self.network, self.names, self.expressions = network, names, dict(expressions or {})
        for name in names:
            known = (*network.latent, *network.observed, *self.expressions)
            if not isinstance(name, str) or name not in known:
                raise DataError(
                    f"keep: {name!r:.60} is not a latent node.{did_you_mean(name, network.latent)}"
                )
        self.data = [name for name in names if name in network.observed]
        self.latent = [name for name in names if name in network.latent]

    @classmethod
    def from_json(
        cls, network: Network, names: tuple[str, ...], content: Mapping[str, Any]
    ) -> Keep:
        """What `json` wrote, with the names."""
        found = {name: Deterministic(network, name, expression_from_json(network, value))
                 for name, value in content.items()}  # fmt: skip
        return cls(network, names, found)

    def json(self) -> dict[str, Any]:
        """The expressions, for a file."""
        return {name: expression_json(part.expression) for name, part in self.expressions.items()}

    def axes(self, name: str) -> tuple[str, ...]:
        """The dims of what is kept under a name."""
        return (self.expressions.get(name) or self.network.nodes[name]).axes

    def shape(self, name: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of one draw."""
        return tuple(sizes[dim] for dim in self.axes(name))

    def bytes(self, sizes: Mapping[str, int]) -> int:
        """The memory that one draw of everything needs."""
        return 8 * sum(prod(self.shape(name, sizes)) for name in self.names)

    def is_simplex(self, name: str) -> bool:
        """Whether it is a node whose entries sum to one."""
        return name in self.network.nodes and self.network.nodes[name].simplex is not None

    def reader(self, chain: Chain) -> Callable[[], dict[str, NDArray[np.float64]]]:
        """The function that gives the values of a chain as it stands, by name."""
        for name in self.data:
            check_imputed(chain.program, name, "keep")
        readers = {n: part.reader(chain.program) for n, part in self.expressions.items()}

        def read() -> dict[str, NDArray[np.float64]]:
            values: dict[str, Any] = dict(chain.select(self.latent))
            values |= {name: chain.imputed(name) for name in self.data}
            for name, part in self.expressions.items():
                chain.refresh(part.names)
                values[name] = readers[name]()[0]
            return {name: np.array(values[name], np.float64) for name in self.names}

        return read


def read_keep(network: Network, keep: Any) -> Keep:
    """What ``keep`` of `Network.sample` says: names, or a dict of names and expressions."""
    if not network.free:
        raise DataError(
            f"given: {', '.join(network.held)} leave nothing to draw; leave one of them out"
        )
    if keep is not None and not np.iterable(keep):
        raise DataError(f"keep={keep!r}: give a list of names of latent nodes")
    if isinstance(keep, Mapping):
        plain = {n: value for n, value in keep.items() if n not in network.nodes}
        expressions = {n: Deterministic(network, n, value) for n, value in plain.items()}
        return Keep(network, tuple(keep), expressions)
    kept = network.free if keep is None else [keep] if isinstance(keep, str) else list(keep)
    return Keep(network, tuple(kept))


# ---- side by side -------------------------------------------------------------------------------
#
# The live lines of chains that run side by side, one each, and how well they agree.
#
# R̂ (`pgbn.diagnostics`) compares what does not depend on how topics are numbered: of every node
# that is kept, the mean over its entries, or of shares that sum to one, the mean of their squares.


Traces = Mapping[str, Sequence[float]]


def label_free(value: NDArray[Any], simplex: bool) -> float:
    """A number that is the same however the entries of a node are ordered."""
    return float(np.mean(np.square(value) if simplex else value)) if value.size else 0.0


def worst_rhat(traces: Sequence[Traces]) -> tuple[float, str] | None:
    """The largest R̂ and its node, over the draws that all chains have; None as long as they are
    too few."""
    found = []
    for name in traces[0] if traces else ():
        length = min(len(each.get(name, ())) for each in traces)
        rhat = split_rhat([list(each[name])[:length] for each in traces]) if length else np.nan
        if np.isfinite(rhat):
            found.append((float(rhat), name))
    return max(found) if found else None


class ManyLines:
    """Shows the latest sweep of every chain, through the meter of one line."""

    def __init__(self, meter: Meter, chains: int) -> None:
        self.meter = meter
        self.lines: dict[int, str] = {}
        self.traces: dict[int, Traces] = {}
        self.shown: dict[int, float] = {}
        self.chains = chains

    def hear(self, event: Event, trace: Traces) -> None:
        number, now = event.chain.number, time.monotonic()
        self.traces[number] = trace
        last = event.phase == "collect" and event.sweep == event.sweeps
        waited = now - self.shown.get(number, -math.inf)
        if self.meter.lost or (waited < self.meter.every and not last):
            return
        self.shown[number] = now
        self.lines[number] = f"chain {number}: {live_text(event, event.sweep_seconds, None)}"
        first, *others = self.text()
        self.meter.put(first, event.done / event.total, *others)

    def text(self) -> list[str]:
        """A line for each chain that has begun, and R̂ of all."""
        lines = [self.lines[number] for number in sorted(self.lines)]
        if len(self.traces) == self.chains and (worst := worst_rhat(list(self.traces.values()))):
            lines.append(f"R-hat at most {worst[0]:.3f} ({worst[1]})")
        return lines


# ---- run plan -----------------------------------------------------------------------------------


_CHAIN_BYTES = 10_000  # that is noted of a chain, at least


@dataclass(frozen=True)
class RunPlan:
    """How many sweeps, draws and chains, and what is kept of them: names, and those of them that
    are ``expressions``, as JSON."""

    burn_in: int
    draws: int
    thin: int
    chains: int
    seed: int
    keep: tuple[str, ...]
    parallel: int = 1
    expressions: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("burn_in", "draws", "thin", "chains", "parallel"):
            least = 0 if name == "burn_in" else 1
            object.__setattr__(self, name, check_integer(name, getattr(self, name), least))
        check_bytes(f"chains={self.chains}", _CHAIN_BYTES * self.chains, "give fewer chains")
        object.__setattr__(self, "seed", check_seed(self.seed))
        object.__setattr__(self, "keep", tuple(self.keep))
        object.__setattr__(self, "parallel", min(self.parallel, self.chains))

    @property
    def sweeps(self) -> int:
        """Those of one chain."""
        return self.burn_in + self.draws * self.thin

    def kept_after(self, sweeps: int) -> int:
        """The draws that a chain has after so many sweeps."""
        return max(0, sweeps - self.burn_in) // self.thin

    def kept(self, network: Network) -> Keep:
        """What is kept of a chain of ``network``."""
        return Keep.from_json(network, self.keep, self.expressions)


class RunningChain:
    """A chain, the draws that wait to be taken, and its label-free trace."""

    def __init__(
        self, chain: Chain, plan: RunPlan, trace: dict[str, list[float]] | None = None
    ) -> None:
        self.chain, self.plan = chain, plan
        self.keep = plan.kept(chain.network)
        self.trace: dict[str, list[float]] = trace or {}
        self.waiting: dict[str, list[NDArray[np.float64]]] = {}
        self.bytes = 0
        self._read: Callable[[], dict[str, NDArray[np.float64]]] = self.keep.reader(chain)

    def keep_draw(self) -> None:
        """Keep the state after this sweep, if it is one of those that are kept."""
        after = self.chain.sweeps - self.plan.burn_in
        if after <= 0 or after % self.plan.thin:
            return
        for name, row in self._read().items():
            self.waiting.setdefault(name, []).append(row)
            self.bytes += row.nbytes
            number = label_free(row, self.keep.is_simplex(name))
            self.trace.setdefault(name, []).append(number)

    def taken(self) -> None:
        """The draws that waited are kept elsewhere."""
        self.waiting, self.bytes = {}, 0


def about_draws(chain: Chain, plan: RunPlan, coords: Coords) -> dict[str, Any]:
    """What `Draws` has beside its values."""
    keep = plan.kept(chain.network)
    given = {"given": list(chain.network.held)} if chain.network.held else {}
    attributes = {"seed": plan.seed, "burn_in": plan.burn_in, "thin": plan.thin,
                  "layer1": chain.layer1, **given}  # fmt: skip
    dims = {name: ["chain", "draw", *keep.axes(name)] for name in plan.keep}
    return {"dims": dims, "attributes": attributes, "coords": dict(coords)}


# ---- memory store -------------------------------------------------------------------------------
#
# The draws of a run in memory.


class MemoryStore:
    """``make(number)`` begins a chain; its draws are rows of one array for each name."""

    def __init__(self, plan: RunPlan, make: Callable[[int], Chain], coords: Coords) -> None:
        self.plan, self.make, self.coords = plan, make, coords
        self.first: Chain | None = None
        self.running: RunningChain | None = None  # the chain that was opened last
        self.done = [0] * plan.chains  # sweeps
        self.values: dict[str, NDArray[np.float64]] = {}

    def open(self, number: int) -> RunningChain:
        """A chain at its beginning."""
        at = self.running = RunningChain(self.make(number), self.plan)
        if self.first is None:
            self.first, sizes = at.chain, at.chain.program.sizes
            shape = (self.plan.chains, self.plan.draws)
            self.values = {name: np.empty((*shape, *at.keep.shape(name, sizes)))
                           for name in self.plan.keep}  # fmt: skip
        return at

    def sweeps(self, number: int) -> int:
        """How far a chain is."""
        return self.done[number]

    def after_sweep(self, at: RunningChain) -> None:
        """Take the draw of this sweep, if there is one."""
        number = at.chain.number
        self.done[number] = at.chain.sweeps
        last = self.plan.kept_after(at.chain.sweeps) - 1
        for name, rows in at.waiting.items():
            self.values[name][number, last] = rows[-1]
        at.taken()

    commit = after_sweep

    def finish(self) -> Draws:
        """All draws of all chains."""
        return self._draws(self.values)

    def interrupted(self, stop: Stop, clock: Clock, whole: bool = True) -> Draws:
        """What was kept before a stop, if there is any. ``whole``: the sweep came to its end."""
        kept = [self.plan.kept_after(sweeps) for sweeps in self.done]
        where = f"stopped after sweep {clock.done} of {clock.total}"
        if self.plan.parallel > 1:
            return self._of_all(stop, where, kept)
        chain = self.running.chain if self.running is not None and whole else None
        if not sum(kept):
            raise stop.interrupted(
                f"{where}; this exception has the chain: pgbn.save(error.chain, path) keeps it, "
                "and error.chain.sweep(n) goes on", chain,
            )  # fmt: skip
        notify(f"{where}: {sum(kept)} of {self.plan.draws * self.plan.chains} draws were kept")
        return self._of_whole(kept, chain)

    def _of_all(self, stop: Stop, where: str, kept: list[int]) -> Draws:
        """Of chains side by side, the draws that all of them have."""
        if not min(kept):
            raise stop.interrupted(f"{where}, before every chain had a draw")
        notify(f"{where}; the draws that all chains have are kept")
        found = {name: value[:, : min(kept)] for name, value in self.values.items()}
        return self._draws(found, interrupted=True)

    def _of_whole(self, kept: list[int], chain: Chain | None) -> Draws:
        """Of chains one after another, those that are whole, and the rest; if none is, the rest."""
        whole = kept.count(self.plan.draws)
        rest = {}
        if sum(kept[whole:]):
            rest = {name: value[whole : whole + 1, : kept[whole]]
                    for name, value in self.values.items()}  # fmt: skip
        if not whole:
            return self._draws(rest, interrupted=True, chain=chain)
        found = {name: value[:whole] for name, value in self.values.items()}
        return self._draws(found, interrupted=True, unfinished=rest, chain=chain)

    def _draws(self, values: dict[str, NDArray[np.float64]], **more: Any) -> Draws:
        chain = self.first
        assert chain is not None
        known = about_draws(chain, self.plan, self.coords)
        dims = {name: tuple(dims) for name, dims in known["dims"].items()}
        return Draws(values, dims, known["attributes"], network=chain.network,
                     data=dict(chain.program.cells), coords=self.coords,
                     given=dict(chain.given.stacks), **more)  # fmt: skip
