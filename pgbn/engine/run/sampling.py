"""Running chains and keeping their draws: in memory, or saved as they come, one after another or
in parallel, with bit-identical results.

    draws = net.sample(data, chains=4, parallel=4, save="run")   # SIGTERM, a crash, a power cut …
    draws = pgbn.resume("run")

Each chain runs by itself from its state in the folder (at first, its beginning), and commits its
own part: the state after a sweep, and the draws since the last commit. These draws then need no
memory. A chain depends on the network, the data, the seed and its number alone. Neither the order
of chains nor the times of commits change a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import asdict, dataclass, field
from math import prod
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt, PositiveInt

from pgbn.checks import check_integer, thread_count
from pgbn.engine.compile.products import align
from pgbn.engine.compile.program import Program
from pgbn.engine.data.reading import Coords, bind_indexes, check_coords, read_coords
from pgbn.engine.first_layer.choice import sampler_names
from pgbn.engine.run.chain import Chain, Stop, check_imputed, stop_gently
from pgbn.engine.run.chain_files import (
    DATA,
    DRAWS_FIELDS,
    GIVEN,
    RUN,
    FileSeed,
    Layout,
    Shapes,
    block_group,
    chain_content,
    chain_data,
    chain_state,
    decode_chain,
    described,
    rows_of,
)
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.generate import with_some_given
from pgbn.engine.run.progress import Callback, Clock, Event, ManyLines, check_callback, live
from pgbn.errors import (
    DataError,
    NetworkError,
    StaleReadError,
    StorageError,
    did_you_mean,
    notify,
)
from pgbn.network.lowering import Walk, expand, lower
from pgbn.network.serialise import expression_from_json, expression_json
from pgbn.network.sumproduct import operand_of, reduce_product
from pgbn.nodes.expression import Expression
from pgbn.nodes.normal import Normal
from pgbn.storage.archive import Files, Group, check_form, is_archive
from pgbn.storage.arrays import InParts
from pgbn.storage.folders import load, read_folder
from pgbn.storage.read_limits import check_bytes
from pgbn.storage.runner import Runner, Timing
from pgbn.storage.writing import write

if TYPE_CHECKING:
    from pgbn.network.network import Network
    from pgbn.samplers.executor import Executor


# ---- the draws that are kept of a chain ----


def free_dims(expression: Expression) -> tuple[str, ...]:
    """The dims of an expression's value. A Mix sums over the dims that two of its factors share."""
    terms = expand(expression, Walk(Normal("value", expression, 1.0), "mean"))
    return tuple(dict.fromkeys(dim for term in terms for dim in term.free))


class Deterministic:
    """An expression of latent nodes under a name, such as ``phi @ theta``, with the dims of its
    value."""

    def __init__(self, network: Network, name: str, expression: Any) -> None:
        if not isinstance(expression, Expression):
            raise DataError(
                f"keep: {name!r}: {expression!r:.60}; give a node or an expression, such as "
                "phi @ theta"
            )
        try:
            self.name, self.expression, self.axes = name, expression, free_dims(expression)
        except NetworkError as error:
            wrong = f"{expression} has no value of its own ({error})"
            raise DataError(f"keep: {name!r}: {wrong}") from None
        # A slot is where expressions are brought to their normal form: that of a passing node.
        polynomial = lower(Normal(name, expression, 1.0, dims=self.axes), "mean")
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


class Keep:
    """Names of nodes of a network, and of expressions of its latent nodes."""

    def __init__(
        self,
        network: Network,
        names: tuple[str, ...],
        expressions: Mapping[str, Deterministic] | None = None,
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
        """The expressions that `json` wrote, with the names."""
        found = {name: Deterministic(network, name, expression_from_json(network, value))
                 for name, value in content.items()}  # fmt: skip
        return cls(network, names, found)

    def json(self) -> dict[str, Any]:
        """The expressions, for a file."""
        return {name: expression_json(part.expression) for name, part in self.expressions.items()}

    def axes(self, name: str) -> tuple[str, ...]:
        """The dims of the draws under a name."""
        return (self.expressions.get(name) or self.network.nodes[name]).axes

    def shape(self, name: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of one draw."""
        return tuple(sizes[dim] for dim in self.axes(name))

    def bytes(self, sizes: Mapping[str, int]) -> int:
        """The memory that one draw of everything needs."""
        return 8 * sum(prod(self.shape(name, sizes)) for name in self.names)

    def label_free(self, name: str, value: NDArray[Any]) -> float:
        """A number that does not depend on the order of the entries of a value: their mean, or the
        mean of their squares if they sum to one."""
        node = self.network.nodes.get(name)
        square = node is not None and node.simplex is not None
        return float(np.mean(np.square(value) if square else value)) if value.size else 0.0

    def reader(self, chain: Chain) -> Callable[[], dict[str, NDArray[np.float64]]]:
        """The function that gives the current values of a chain, by name."""
        for name in self.data:
            check_imputed(chain._program, name, "keep")
        readers = {n: part.reader(chain._program) for n, part in self.expressions.items()}

        def read() -> dict[str, NDArray[np.float64]]:
            values: dict[str, Any] = dict(chain._select(self.latent))
            values |= {name: chain.imputed(name) for name in self.data}
            for name, part in self.expressions.items():
                chain._refresh(part.names)
                values[name] = readers[name]()[0]
            return {name: np.array(values[name], np.float64) for name in self.names}

        return read


def read_keep(network: Network, keep: Any) -> Keep:
    """The argument ``keep`` of `Network.sample`: names, or a dict of names and expressions."""
    if keep is not None and not np.iterable(keep):
        raise DataError(f"keep={keep!r}: give a list of names of latent nodes")
    if isinstance(keep, Mapping):
        plain = {n: value for n, value in keep.items() if n not in network.nodes}
        expressions = {n: Deterministic(network, n, value) for n, value in plain.items()}
        return Keep(network, tuple(keep), expressions)
    kept = network.free if keep is None else [keep] if isinstance(keep, str) else list(keep)
    return Keep(network, tuple(kept))


# ---- a run ----

_CHAIN_BYTES = 10_000  # of the records of a chain, at least
BLOCK_BYTES = 2**25  # draws that wait for a commit


_PLAN_FORM = {"burn_in": NonNegativeInt, "draws": PositiveInt, "thin": PositiveInt,
              "chains": PositiveInt, "seed": FileSeed, "keep": list[str]}  # fmt: skip
_OF_SOME_PLANS = {"parallel": PositiveInt, "expressions": dict[str, Any]}


@dataclass(frozen=True)
class RunPlan:
    """The numbers of sweeps, draws and chains, and the names of the draws that are kept.
    ``expressions`` are those of them that are expressions, as JSON."""

    burn_in: int
    draws: int
    thin: int
    chains: int
    seed: int
    keep: tuple[str, ...]
    parallel: int = 1
    expressions: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_bytes(f"chains={self.chains}", _CHAIN_BYTES * self.chains, "give fewer chains")
        object.__setattr__(self, "keep", tuple(self.keep))
        object.__setattr__(self, "parallel", min(self.parallel, self.chains))

    @classmethod
    def read(cls, settings: Any) -> RunPlan:
        """The plan in a file, checked."""
        check_form(settings, _PLAN_FORM, _OF_SOME_PLANS)
        return cls(**settings)

    @property
    def sweeps(self) -> int:
        """Those of one chain."""
        return self.burn_in + self.draws * self.thin

    def kept_after(self, sweeps: int) -> int:
        """The number of draws that a chain has after some sweeps."""
        return max(0, sweeps - self.burn_in) // self.thin

    def kept(self, network: Network) -> Keep:
        """The draws that are kept of a chain of ``network``."""
        return Keep.from_json(network, self.keep, self.expressions)

    def about(self, network: Network, sampler: str) -> dict[str, Any]:
        """The dims and the attributes of `Draws`."""
        keep, given = self.kept(network), {"given": list(network.given)} if network.given else {}
        attributes = {"seed": self.seed, "burn_in": self.burn_in, "thin": self.thin,
                      "sampler": sampler, **given}  # fmt: skip
        dims = {name: ("chain", "draw", *keep.axes(name)) for name in self.keep}
        return {"dims": dims, "attributes": attributes}


class RunningChain:
    """A chain, the draws that wait to be taken, and its label-free trace."""

    def __init__(
        self, chain: Chain, plan: RunPlan, trace: dict[str, list[float]] | None = None
    ) -> None:
        self.chain, self.plan, self.keep = chain, plan, plan.kept(chain.network)
        self.trace: dict[str, list[float]] = trace or {}
        self.waiting: dict[str, list[NDArray[np.float64]]] = {}
        self.bytes = 0
        self._read = self.keep.reader(chain)

    def keep_draw(self) -> None:
        """Keep the state after this sweep, if it is one of those that are kept."""
        after = self.chain.sweeps - self.plan.burn_in
        if after <= 0 or after % self.plan.thin:
            return
        for name, row in self._read().items():
            self.waiting.setdefault(name, []).append(row)
            self.bytes += row.nbytes
            self.trace.setdefault(name, []).append(self.keep.label_free(name, row))

    def taken(self) -> None:
        """The draws that waited are kept elsewhere."""
        self.waiting, self.bytes = {}, 0


class Run:
    """Chains that run, and their draws in memory: rows of one array for each name.

    ``make(number)`` begins a chain; ``labels`` gives the names along dims.
    """

    def __init__(
        self, plan: RunPlan, make: Callable[[int], Chain], labels: Callable[[Chain], Coords]
    ) -> None:
        self._prepare(plan)
        self.make, self.first = make, make(0)
        keep, sizes = plan.kept(self.first.network), self.first._program.sizes
        keep.reader(self.first)  # which rejects what cannot be kept
        need = keep.bytes(sizes) * plan.draws * plan.chains
        what = f"draws={plan.draws}, chains={plan.chains} of {', '.join(plan.keep)}"
        check_bytes(what, need, "keep fewer draws (draws=, thin=) or nodes (keep=), or save=…")
        self.coords = labels(self.first)
        self.done = [0] * plan.chains  # sweeps
        shape = (plan.chains, plan.draws)
        self.values = {n: np.empty((*shape, *keep.shape(n, sizes))) for n in plan.keep}

    def _prepare(self, plan: RunPlan) -> None:
        self.plan, self.lock, self.failed, self.stop = plan, Lock(), False, Stop()
        self.last: Chain | None = None  # the chain that was opened last
        self.traces: dict[int, Mapping[str, list[float]]] = {}  # of the chains that have begun

    # ---- where draws are kept ---------------------------------------------------------

    def sweeps(self, number: int) -> int:
        """How far a chain is."""
        return self.done[number]

    def open(self, number: int) -> RunningChain:
        """A chain in its current state."""
        return RunningChain(self.make(number) if number else self.first, self.plan)

    def after_sweep(self, at: RunningChain) -> None:
        """Take the draw of this sweep, if there is one."""
        number = at.chain.number
        self.done[number] = at.chain.sweeps
        last = self.plan.kept_after(at.chain.sweeps) - 1
        for name, rows in at.waiting.items():
            self.values[name][number, last] = rows[-1]
        at.taken()

    def commit(self, at: RunningChain) -> None:
        """The last sweep of a chain, or the last before a stop."""
        self.after_sweep(at)

    def finish(self) -> Draws:
        """All draws of all chains."""
        return self._draws(self.values)

    def interrupted(self, clock: Clock, at_once: bool = False) -> Draws:
        """The draws before a stop, if there are any. ``at_once``: in the middle of a sweep."""
        plan, kept = self.plan, [self.plan.kept_after(sweeps) for sweeps in self.done]
        where = f"stopped after sweep {clock.done} of {clock.total}"
        if plan.parallel > 1:
            if not min(kept):
                raise self.stop.interrupted(f"{where}, before every chain had a draw")
            notify(f"{where}; the draws that all chains have are kept")
            found = {name: value[:, : min(kept)] for name, value in self.values.items()}
            return self._draws(found, interrupted=True)
        last = None if at_once else self.last
        if not sum(kept):
            raise self.stop.interrupted(
                f"{where}; this exception has the chain: pgbn.save(error.chain, path) keeps it, "
                "and error.chain.sweep(n) continues", last,
            )  # fmt: skip
        notify(f"{where}: {sum(kept)} of {plan.draws * plan.chains} draws were kept")
        done = kept.count(plan.draws)  # chains, and the draws of the next one
        rest = {name: value[done : done + 1, : kept[done]] for name, value in self.values.items()
                if sum(kept[done:])}  # fmt: skip
        if not done:
            return self._draws(rest, interrupted=True, chain=last)
        found = {name: value[:done] for name, value in self.values.items()}
        return self._draws(found, interrupted=True, unfinished=rest, chain=last)

    def _draws(self, values: dict[str, NDArray[np.float64]], **more: Any) -> Draws:
        chain = self.first
        return Draws(values, **self.plan.about(chain.network, chain.sampler), network=chain.network,
                     data=dict(chain._program.cells), coords=self.coords,
                     given=dict(chain._given.stacks), **more)  # fmt: skip

    # ---- the loop ---------------------------------------------------------------------

    def run(self, progress: bool, callback: Callback | None) -> Draws:
        """Run every chain to its end, or until a signal comes."""
        plan, numbers = self.plan, range(self.plan.chains)
        clock = Clock(plan.sweeps * plan.chains)
        clock.done = sum(self.sweeps(number) for number in numbers)
        with live(progress) as meter, stop_gently() as self.stop:
            shown = meter if plan.parallel == 1 else ManyLines(meter, plan.chains, self.traces)
            self.listeners = [shown] if callback is None else [shown, callback]
            try:
                if plan.parallel > 1:
                    self._run_together(clock)
                else:
                    for number in numbers:
                        self._run_one(number, clock)
            except KeyboardInterrupt:  # at once, in the middle of a sweep
                return self.interrupted(clock, at_once=True)
        if all(self.sweeps(number) == plan.sweeps for number in numbers):
            return self.finish()
        return self.interrupted(clock)

    def _run_one(self, number: int, clock: Clock) -> None:
        """One chain, from its current state; callbacks run one at a time."""
        if self.sweeps(number) == self.plan.sweeps or self._is_over():
            return
        at = self.open(number)
        self.last, self.traces[number] = at.chain, at.trace
        try:
            while at.chain.sweeps < self.plan.sweeps:
                at.chain.sweep()
                at.keep_draw()
                with self.lock:
                    event = self._event(at.chain, clock)
                    for listener in self.listeners:
                        listener(event)
                if self._is_over() or at.chain.sweeps == self.plan.sweeps:
                    self.commit(at)
                    return
                self.after_sweep(at)
        except BaseException:
            self.failed = True
            raise

    def _is_over(self) -> bool:
        return self.stop.requested or self.failed

    def _event(self, chain: Chain, clock: Clock) -> Event:
        plan, done = self.plan, chain.sweeps
        if done <= plan.burn_in:
            return Event(chain, 1, "burn_in", done, plan.burn_in, **clock.tick())
        after = done - plan.burn_in
        return Event(chain, 1, "collect", after, plan.draws * plan.thin, **clock.tick())

    def _run_together(self, clock: Clock) -> None:
        """Chains in parallel on threads: kernels run without the lock of Python."""
        with ThreadPoolExecutor(self.plan.parallel, thread_name_prefix="pgbn-chain") as pool:
            running: set[Future[None]] = {
                pool.submit(copy_context().run, self._run_one, n, clock)
                for n in range(self.plan.chains)
            }
            try:
                while running:  # with a timeout, so that signals are noticed
                    done, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                    for each in done:
                        each.result()
            except BaseException:
                self.failed = True
                for each in running:
                    each.cancel()
                raise


# ---- a run in a folder ----

_FORM: dict[str, Any] = {"chains": dict[str, dict[str, Any]], "layout": Layout,
                         "entries": Shapes}  # fmt: skip


class SavedRun(Run):
    """A run in the folder of a `Runner`: chains commit their parts, also from several threads.

    The folder holds the data once and, for every chain, its state after some sweep, the draws up to
    there in blocks (`pgbn.engine.run.chain_files`) and a few label-free numbers of each draw. A
    commit of one chain leaves the files of the others as they are. When all chains are done, only
    draws are left, with the data and the values that were given.
    """

    def __init__(
        self,
        runner: Runner,
        plan: RunPlan,
        threads: int | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._prepare(plan)
        self.runner, self.threads, self.executor = runner, threads, executor
        self.content: dict[str, Any] = {}
        self._begun: Chain | None = None

    @classmethod
    def opened(cls, runner: Runner) -> SavedRun:
        """The run that a folder holds."""

        def read(body: Mapping[str, Any], files: Files) -> SavedRun:
            content = body["content"]
            if body["kind"] != RUN:
                raise StorageError(f"{runner.path}: holds no run but a {body['kind']}")
            check_form(content, {"settings": dict[str, Any]})
            check_form(content["object"], _FORM)
            store = cls(runner, RunPlan.read(content["settings"]))
            _check_chains(store.plan, content["object"])
            store.content = runner.resume()
            return store

        return read_folder(runner.path, read)

    def begin(self, chains: Iterable[Chain], labels: Callable[[Chain], Coords]) -> None:
        """All chains at their beginning, in one write: from here on the run can be resumed."""
        arrays: dict[str, Group | InParts] = {}
        states: dict[str, Any] = {}
        for chain in chains:
            if self.plan.chains == 1 and chain._program.shards is not None:
                self._begun = chain  # its rows, which are elsewhere, need not come here and go back
            if not arrays:
                self.plan.kept(chain.network).reader(chain)  # which rejects what cannot be kept
                self.content = self._shared(chain, labels(chain))
                arrays[DATA] = chain_data(chain)
                if chain._given.stacks:
                    arrays[GIVEN] = dict(chain._given.stacks)
            states[str(chain.number)] = chain_content(chain)
            arrays[f"state/{chain.number}"] = chain_state(chain)
            arrays[f"trace/{chain.number}"] = {}
        self.content["chains"] = states
        self.runner.commit(self._summary(self.content), arrays)

    def _shared(self, chain: Chain, coords: Coords) -> dict[str, Any]:
        """The content that all chains share, before they begin."""
        keep, sizes = self.plan.kept(chain.network), chain._program.sizes
        return {
            **self.plan.about(chain.network, chain.sampler),
            "coords": dict(coords),
            **described(chain.network, chain._program.cells, chain._given.stacks),
            "entries": {name: list(keep.shape(name, sizes)) for name in keep.names},
            "layout": {name: [[] for _ in range(self.plan.chains)] for name in self.plan.keep},
        }

    def _summary(self, content: dict[str, Any], interrupted: bool = True) -> dict[str, Any]:
        """The content, with the entries that a reader of the draws so far needs."""
        least = min(self.plan.kept_after(each["sweeps"]) for each in content["chains"].values())
        entries = content["entries"].items()
        shapes = {name: [self.plan.chains, least, *sizes] for name, sizes in entries}
        return {**content, "shapes": shapes, "interrupted": interrupted}

    def sweeps(self, number: int) -> int:
        return int(self.content["chains"][str(number)]["sweeps"])

    def open(self, number: int) -> RunningChain:
        """A chain where the folder has it."""

        def read(body: Mapping[str, Any], files: Files) -> RunningChain:
            own = {DATA: DATA, GIVEN: GIVEN, "state": f"state/{number}"}
            content = body["content"]["object"]["chains"][str(number)]
            chain = decode_chain(content, lambda group: files(own[group]), threads=self.threads,
                                 executor=self.executor)  # fmt: skip
            trace = {name: list(map(float, t)) for name, t in files(f"trace/{number}").items()}
            found = RunningChain(chain, self.plan, trace)
            keep, sizes = found.keep, chain._program.sizes
            entries = {name: list(keep.shape(name, sizes)) for name in keep.names}
            if chain.number != number or self.content["entries"] != entries:
                raise StorageError(f"damaged: chain {number} is not one of this run")
            return found

        begun, self._begun = self._begun, None
        if begun is not None:
            return RunningChain(begun, self.plan, {})
        return read_folder(self.runner.path, read)

    def after_sweep(self, at: RunningChain) -> None:
        """Commit if it is time to, or too many draws wait."""
        rhythm = self.runner.rhythms[at.chain.number]
        if at.bytes >= 4 * BLOCK_BYTES or (at.bytes >= BLOCK_BYTES and not rhythm.failed):
            rhythm.now(lambda: self.commit(at))
        else:
            rhythm.tick(lambda: self._write(at))

    def commit(self, at: RunningChain) -> None:
        """Commit now; if that fails, the previous commit remains valid."""
        try:
            self._write(at)
        except StorageError as error:
            raise StorageError(
                f"{error}; when that is repaired, continue with "
                f"pgbn.resume({str(self.runner.path)!r})"
            ) from error

    def _write(self, at: RunningChain) -> None:
        """The state of one chain and its new draws; all else is kept."""
        number = at.chain.number
        mine: dict[str, Group | InParts] = {
            f"state/{number}": chain_state(at.chain),
            f"trace/{number}": {n: np.array(t) for n, t in at.trace.items()},
        }
        with self.lock:
            layout = {n: [list(starts) for starts in each] for n, each in
                      self.content["layout"].items()}  # fmt: skip
            start = self.plan.kept_after(self.sweeps(number))
            for name, rows in at.waiting.items():
                mine[block_group(name, number, start)] = rows_of(np.stack(rows))
                layout[name][number].append(start)
            chains = {**self.content["chains"], str(number): chain_content(at.chain)}
            content = {**self.content, "chains": chains, "layout": layout}
            self.runner.commit(self._summary(content), mine, {DATA: lambda: chain_data(at.chain)})
            self.content = content
        at.taken()

    def finish(self) -> Draws:
        """The folder now holds the draws, the network and the data, and nothing else."""
        kept = {group: file for group, file in self.runner.groups.items()
                if group in (DATA, GIVEN) or group.startswith("draws/")}  # fmt: skip
        summary = self._summary(self.content, interrupted=False)
        content = {"object": {key: summary[key] for key in DRAWS_FIELDS if key in summary}}
        write(self.runner.path, "draws", content, {}, kept)
        return load(self.runner.path)  # type: ignore[no-any-return]

    def interrupted(self, clock: Clock, at_once: bool = False) -> Draws:
        if at_once:
            raise KeyboardInterrupt
        path = self.runner.path
        raise self.stop.interrupted(
            f"stopped after sweep {clock.done} of {clock.total} and saved; continue with: "
            f"pgbn resume {path}, or in Python: pgbn.resume({str(path)!r}); "
            f"pgbn.load({str(path)!r}) has the draws so far"
        )


def _check_chains(plan: RunPlan, content: Mapping[str, Any]) -> None:
    """Check that a file has the states of all its chains, each of them within the plan."""
    chains, layout = content["chains"], content["layout"]
    if len(chains) != plan.chains or any(
        str(number) not in chains for number in range(len(chains))
    ):
        raise StorageError(f"damaged: {plan.chains} chains, but the states of {list(chains)!r:.60}")
    for number, chain in chains.items():
        if not 0 <= check_integer(f"sweeps of chain {number}", chain["sweeps"], 0) <= plan.sweeps:
            raise StorageError(f"damaged: chain {number} has more sweeps than {plan.sweeps}")
    if not set(plan.keep) == set(layout) == set(content["entries"]) or any(
        len(each) != plan.chains for each in layout.values()
    ):
        raise StorageError(f"damaged: the draws are not those of {', '.join(plan.keep)}")


def run_facts(content: Mapping[str, Any]) -> dict[str, Any]:
    """The progress of a run, from the content alone."""
    plan, chains = RunPlan.read(content["settings"]), content["object"]["chains"]
    sweeps = [int(chains[str(n)]["sweeps"]) for n in range(plan.chains)]
    return {**asdict(plan), "sweeps": sweeps, "of": plan.sweeps,
            "draws so far": [plan.kept_after(n) for n in sweeps]}  # fmt: skip


# ---- public functions ----


def sample(
    network: Network,
    data: Mapping[str, Any],
    burn_in: int,
    draws: int,
    thin: int,
    chains: int,
    seed: int,
    keep: Iterable[str] | Mapping[str, Any] | None,
    progress: bool,
    sampler: str,
    threads: int | None,
    callback: Callback | None = None,
    executor: Executor | None = None,
    given: Any = None,
    coords: Mapping[str, Any] | None = None,
    parallel: int = 1,
    save: str | Path | None = None,
    minutes: float | None = 5.0,
    start: Any = None,
) -> Draws:
    """See `pgbn.Network.sample`, which checks the arguments by their types."""
    network, data = bind_indexes(network, data)
    network, values = with_some_given(network, given, data)
    kept = read_keep(network, keep)
    check_coords(network, coords, network.sizes)
    plan = RunPlan(burn_in, draws, thin, chains, seed, kept.names, parallel, kept.json())
    check_callback(callback)
    if executor is not None and parallel != 1:  # chains side by side have threads of their own
        raise DataError(f"parallel={parallel!r}, executor={executor!r}: give one of them")
    each = threads if parallel == 1 else _threads_each(plan, threads)

    def make(number: int) -> Chain:
        return Chain._of_data(network, data, seed, number, start, sampler, each, executor, values)

    def labels(chain: Chain) -> Coords:
        return read_coords(network, data, coords, chain._program.sizes)

    if save is None:
        return Run(plan, make, labels).run(progress, callback)
    folder = Path(save)
    if is_archive(folder):
        raise StorageError(
            f"{folder}: there is something saved already; pgbn.resume({str(folder)!r}) continues "
            "with a run that was stopped; else use another folder"
        )
    with Runner(folder, RUN, asdict(plan), Timing(minutes)) as runner:
        run = SavedRun(runner, plan, each, executor)
        run.begin((make(number) for number in range(plan.chains)), labels)
        return run.run(progress, callback)


def resume_sampling(
    path: Path,
    timing: Timing,
    threads: int | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    executor: Executor | None = None,
) -> Draws:
    """Continue a run from the saved state of each of its chains in the folder."""
    check_callback(callback)
    with Runner(path, RUN, timing=timing) as runner:
        run = SavedRun.opened(runner)
        run.executor = executor
        run.threads = None if executor is not None else _threads_each(run.plan, threads)
        return run.run(progress, callback)


def _threads_each(plan: RunPlan, threads: int | None) -> int:
    return max(1, thread_count(threads) // plan.parallel)


def time_samplers(
    network: Network, data: Mapping[str, Any], burn_in: int, sweeps: int, threads: int | None
) -> dict[str, float]:
    """See `pgbn.Network.time_samplers`."""
    found = {}
    for name in sampler_names():
        try:
            chain = Chain._of_data(network, data, sampler=name, threads=threads)
        except (NetworkError, StaleReadError):  # not for this network, or this order of steps
            continue
        chain.sweep(burn_in)
        each = []
        for _ in range(sweeps):
            start = perf_counter()
            chain.sweep()
            each.append(perf_counter() - start)
        found[chain.sampler] = min(each)
    return dict(sorted(found.items(), key=lambda pair: pair[1]))
