"""The driver of a chain whose rows are with workers, and the messages to them and back.

    down   values that all rows share, when they were drawn; φ of the first layer as it was drawn,
           once for each machine; the keys of the steps
    up     integer counts that the steps of rows have for what all rows share; rows, when the driver
           or a user reads them

Draws do not depend on the number of workers: streams are those of rows, counts are integers, and
the driver adds floats in the order of rows. A worker that replaces a lost one begins with the last
commit of the lost one.
"""

from __future__ import annotations

import time
from collections import UserDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.data.reading import StoredCells
from pgbn.engine.first_layer.samplers import FirstLayer, FixedTopics
from pgbn.engine.run.state import as_stored, sampler_path, state_places
from pgbn.engine.shards import worker
from pgbn.engine.shards.worker import (
    LOADINGS,
    SAMPLER,
    TABLES,
    TOPICS,
    Place,
    Reply,
    Shard,
    Spec,
    axis_of,
    factors_of,
    plate_of_rows,
    shard_edges,
)
from pgbn.errors import DataError, NetworkError, PgbnError, notify
from pgbn.network.steps import Step
from pgbn.nodes.rules import is_own, is_own_rule
from pgbn.samplers.executor import Executor
from pgbn.samplers.worker_pool import LIVES, Message, Session, WorkerLost, WorkerPool
from pgbn.storage.archive import Group
from pgbn.storage.arrays import InParts, WrittenPart
from pgbn.storage.sparse import compact

PARTS = ("compute", "wait", "serialise", "commit")  # of the time of a sweep


def _forget(pool: WorkerPool, name: str, workers: int) -> None:
    """Release a chain that is no longer needed."""
    with suppress(Exception):  # the workers may be gone too
        for number in range(workers):
            pool.ask(number, worker.forget, name)


class RemoteTable(UserDict[Any, NDArray[Any]]):
    """The driver's table of arrays. Some, None in ``data``, are with the workers: they are fetched
    when they are read. An array that is set here is ``fresh``: the workers do not have it yet.

    Invariant: a reader gets the array of the last step that drew it, whoever ran the step.
    """

    def __init__(self, fetch: Callable[[Any], NDArray[Any]], here: Mapping[Any, Any]) -> None:
        self._fetch, self.fresh = fetch, dict[Any, None]()
        super().__init__(here)

    def __getitem__(self, key: Any) -> NDArray[Any]:
        found: NDArray[Any] | None = self.data[key]
        if found is None:
            found = self.data[key] = self._fetch(key)
        return found

    def __setitem__(self, key: Any, value: NDArray[Any]) -> None:
        self.data[key], self.fresh[key] = value, None

    def leave(self, key: Any) -> None:
        """The workers have the array; the one here is old or no longer needed."""
        self.data[key] = None  # type: ignore[assignment]
        self.fresh.pop(key, None)


class RemoteLayer(FirstLayer):
    """The driver's half of a sampler of the first layer: ``own`` draws φ from the counts of all
    workers, and they get it as it was drawn. The steps of the data are theirs."""

    def __init__(self, own: FixedTopics, shards: ShardDriver) -> None:
        self.own, self.shards, self.name = own, shards, own.name  # type: ignore[misc]
        self.program, self.pattern, self.observed = own.program, own.pattern, own.observed
        self.is_given, self.begun = own.is_given, False

    def start(self, key: int) -> None:
        self.own.hold()
        self.shards.work(Shard.start, self.observed, key)
        self.begun = True  # from now on workers get φ as it was drawn

    def loadings_changed(self, key: int) -> None:
        self.own.loadings_changed(key)
        self._drawn()

    def step(self, key: int) -> None:
        raise AssertionError("the workers take this step")

    def draw_loadings(self, key: int) -> None:
        self.own.draw_loadings(key)
        self._drawn()

    def _drawn(self) -> None:
        self.shards.fresh_loadings[self.observed] = self.own

    def take_counts(self, parts: Sequence[Any]) -> None:
        """The counts of φ, from those of all workers."""
        topics = self.own
        topics.n[...] = 0
        for part in parts:
            if isinstance(part, np.ndarray):
                topics.n += part
            else:
                places, numbers = part
                topics.n.reshape(-1)[places] += numbers
        topics.counts_changed()

    def show(self) -> None:
        self.own.show()

    def show_counts(self) -> None:
        self.own.show_counts()

    def state(self) -> dict[str, NDArray[Any]]:
        parts = self.shards.ask(Shard.sampler_rows, self.observed)
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return {**rows, **self.shared_state()}

    def shared_state(self) -> dict[str, NDArray[Any]]:
        return self.own.shared_state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        parts = self.shards.ask(Shard.sampler_rows, self.observed)
        each: list[dict[Place, NDArray[Any]]] = [{} for _ in parts]
        for name, part in parts[0].items():
            array, ends = np.asarray(state.get(name, ())), np.cumsum([len(p[name]) for p in parts])
            if array.shape != (ends[-1], *part.shape[1:]):
                raise DataError(
                    f"restore: {name!r} of the state has the shape {array.shape}, but this chain "
                    f"needs {(int(ends[-1]), *part.shape[1:])}; is it of the same network and data?"
                )
            for own, rows in zip(each, np.split(array, ends[:-1]), strict=True):
                own[SAMPLER, (self.observed, name)] = rows
        self.shards.work(Shard.restore, each=each)
        self.own.restore_shared(state)
        self._drawn()


def shards_of(program: Program, executor: Executor) -> ShardDriver | None:
    """The driver of a program whose rows are with the workers of an executor, if it has any and the
    rows can be separated."""
    plate = plate_of_rows(program) if executor.spreads_rows else None
    pool = None if plate is None else executor.worker_pool()
    shards = None if pool is None else ShardDriver(program, executor, pool, str(plate))
    for name, cells in program.cells.items():
        if isinstance(cells, StoredCells) and (shards is None or name not in shards.cells):
            program.cells[name] = cells.read()  # the driver has all rows
    return shards


def executor_behind(program: Program) -> Executor:
    """The executor that a chain was given."""
    return program.executor if program.shards is None else program.shards.executor


class ShardDriver:
    """The driver of one chain, whose tables fetch the arrays that they do not have. ``seconds`` is
    the time of the sweeps so far, by part."""

    def __init__(self, program: Program, executor: Executor, pool: WorkerPool, plate: str) -> None:
        self.program, self.executor, self.pool, self.plate = program, executor, pool, plate
        self.seconds: dict[str, float] = dict.fromkeys(PARTS, 0.0)
        self.cells = {n: c for n, c in program.cells.items() if plate in program.storage[n]}
        largest = max(self.cells.values(), key=lambda cells: cells.size)
        self.edges = shard_edges(largest.starts, program.sizes[plate], pool.number)
        self.session, self.name = Session(pool, len(self.edges)), uuid4().hex
        finalize(self, _forget, pool, self.name, len(self.edges))
        self.tables: dict[str, RemoteTable] = {}
        for name in TABLES:
            table = RemoteTable(partial(self._fetch, name), getattr(program, name))
            self.tables[name] = table
            setattr(program, name, table)
        self.fresh_loadings: dict[str, FixedTopics] = {}  # whose φ the workers do not have yet
        self._first: list[list[Message]] = []  # the first messages of each worker
        self._pushed: dict[frozenset[Place], Any] = {}  # handles of arrays that all workers have
        self._sweeps = 0  # since the last commit
        self._gathers = False  # a worker could not write to the folder where the chain is saved

    # ---- the beginning ----------------------------------------------------------------

    def layers(self, samplers: Mapping[str, FirstLayer]) -> dict[str, FirstLayer]:
        """The samplers of the first layer, their rows with the workers."""
        out = dict(samplers)
        for observed in self.cells.keys() & samplers.keys():
            sampler = samplers[observed]
            spread = f"and cannot be spread over workers by {self.executor!r}"
            if sampler.pattern.index:
                raise NetworkError(
                    f"sampler={sampler.name!r} draws rows together that share "
                    f"{sampler.pattern.scores}, {spread}; use sampler='general'"
                )
            if not isinstance(sampler, FixedTopics):
                raise NetworkError(
                    f"sampler={sampler.name!r} draws over all rows in turn, {spread}; use "
                    "sampler='partial'"
                )
            out[observed] = RemoteLayer(sampler, self)
        return out

    def takes(self, step: Step) -> bool:
        """Whether the workers run a step that draws a part of the rows by itself. The step must be
        local along the plate and must not use rules of a user."""
        node, wiring = self.program.network.nodes[step.node], self.program.wiring
        rules = wiring.connections.rules_of(node).values() if step.upward else ()
        sources = () if step.upward else wiring.sources[node.name]
        return (
            step.local(self.plate)
            and self.program.storage[node.name][0] == self.plate
            and not is_own(type(node))
            and not any(is_own_rule(rule) for rule in (*rules, *(s.rule for s in sources)))
            and all(rule.drawn is None or self.plate in rule.drawn(node) for rule in rules)
        )

    def follow(self, schedule: tuple[Step, ...], seed: int, number: int) -> None:
        """Give each worker its rows of the data, and the order of the steps."""
        program, order = self.program, (worker.call, (self.name, Shard.follow, schedule))
        if self._first:
            self._answers(self.session.tell, [order] * len(self.edges))
            self._first = [[build, order] for build, _ in self._first]
            return
        sampler = next((layer.name for layer in program.first_layers.values()), "composed")
        spec = self.pool.share(Spec(program.network, self.plate, dict(program.sizes), sampler,
                                    program.kernels, seed, number,
                                    self.pool.threads))  # fmt: skip
        here = {name: cells for name, cells in program.cells.items() if name not in self.cells}
        for (start, stop), parts in zip(self.edges, self._own_cells(), strict=True):
            indexes = {name: self._rows_of_index(name, start, stop) for name in program.indexes}
            cells = self.pool.share(parts | here)
            build = (worker.build, (self.name, spec, start, cells, indexes))
            self._first.append([build, order])
        self.session.begin(self._first)

    def _own_cells(self) -> list[dict[str, Any]]:
        """The data of each worker's rows. A worker reads data in a folder itself if it can."""
        every: list[dict[str, Any]] = [
            {name: cells.part(*edge) for name, cells in self.cells.items()} for edge in self.edges
        ]
        stored = [[p for p in each.values() if isinstance(p, StoredCells)] for each in every]
        if any(stored):
            seen = self.pool.map(worker.can_read, [(parts,) for parts in stored])
            for parts, can_read in zip(every, seen, strict=True):
                for name, part in parts.items():
                    if isinstance(part, StoredCells) and not can_read:
                        parts[name] = part.read()
        return every

    def _rows_of_index(self, name: str, first: int, last: int) -> NDArray[np.int64]:
        array, factors = self.program.indexes[name], factors_of(self.program)
        lookups = {lookup.name: lookup.dims for factor in factors for lookup in factor.lookups}
        dims = lookups.get(name, ())
        if self.plate not in dims:
            return array
        return np.take(array, range(first, last), axis=dims.index(self.plate) + 1)

    # ---- sweeps -----------------------------------------------------------------------

    def ask(self, method: Any, *args: Any, fetch: bool = True) -> list[Any]:
        """The result of a method that changes nothing, for each shard."""
        messages = [(worker.call, (self.name, method, *args))] * len(self.edges)
        return self._answers(partial(self.session.ask, fetch=fetch), messages)

    def _answers(self, ask: Callable[..., list[Any]], messages: Sequence[Message]) -> list[Any]:
        try:
            return ask(messages)
        except WorkerLost as error:
            first, last = self.edges[error.worker]
            raise PgbnError(
                f"{self.executor!r}: worker {error.worker}, which has the rows from {first} to "
                f"{last}, was lost {LIVES} times at one step: {error.reason}"
            ) from error

    def run(self, jobs: Sequence[tuple[int, int]]) -> None:
        """Let all workers run steps, which are named by their bases, with these keys."""
        self.work(Shard.run_steps, list(jobs))

    def work(self, method: Any, *args: Any, each: Sequence[Any] = ()) -> None:
        """Send all workers a message with the arrays that have changed here, and take the results.
        ``each`` has a separate argument for every worker."""
        began = time.perf_counter()
        shared, own = self._fresh()
        handle = self.pool.share(shared) if shared else {}
        last: list[tuple[Any, ...]] = [(argument,) for argument in each] or [()] * len(own)
        about = self.name, Shard.work, handle
        messages = [(worker.call, (*about, rows, method, *args, *argument))
                    for rows, argument in zip(own, last, strict=True)]  # fmt: skip
        sent = time.perf_counter()
        replies: list[Reply] = self._answers(self.session.tell, messages)
        answered = time.perf_counter()
        if shared:
            self._pushed.pop(frozenset(shared), None)  # a later one replaces it
            self._pushed[frozenset(shared)] = handle
        for table, key in own[0]:  # rows are the workers'
            self.tables[table].leave(key)
        for every in self.tables.values():
            every.fresh.clear()
        self.fresh_loadings = {}
        self._absorb(replies)
        slowest = max(reply.seconds for reply in replies)
        self.seconds["compute"] += slowest
        self.seconds["wait"] += max(answered - sent - slowest, 0.0)
        self.seconds["serialise"] += sent - began + time.perf_counter() - answered

    def _fresh(self) -> tuple[dict[Place, Any], list[dict[Place, NDArray[Any]]]]:
        """The arrays that have changed here: those that all workers share, and the rows of each."""
        shared: dict[Place, Any] = {}
        own: list[dict[Place, NDArray[Any]]] = [{} for _ in self.edges]
        for name, table in self.tables.items():
            for key in table.fresh:
                place = (name, key)
                if self.axis(place) is not None:
                    for part, rows in zip(own, self._cut(place, table[key]), strict=True):
                        part[place] = rows
                elif name in ("values", "drawn") and not self._is_with_sampler(place):
                    shared[place] = table[key]
        for observed, sampler in self.fresh_loadings.items():
            shared[LOADINGS, observed] = tuple(sampler.loadings)
        return shared, own

    def _is_with_sampler(self, place: Place) -> bool:
        """Whether a node is φ of a first layer that has begun: its sampler has it in another
        form."""
        layers = self.program.first_layers.values()
        return place[0] == "values" and any(
            layer.pattern.loadings == place[1] and isinstance(layer, RemoteLayer) and layer.begun
            for layer in layers
        )

    def _absorb(self, replies: Sequence[Reply]) -> None:
        for table, key in dict.fromkeys(place for reply in replies for place in reply.kept):
            self.tables[table].leave(key)
        for place in replies[0].share:
            table, key = place
            parts = [reply.share[place] for reply in replies]
            if table == TOPICS:
                layer = self.program.first_layers[key]
                assert isinstance(layer, RemoteLayer)
                layer.take_counts(parts)
            else:
                assert all(part.dtype.kind in "iu" for part in parts), place
                self.tables[table][key] = np.asarray(sum(parts[1:], parts[0]))

    def swept(self) -> None:
        """The end of a sweep: after every few sweeps, the workers commit their arrays."""
        self._sweeps += 1
        if self._sweeps >= self.pool.commit:
            self.commit()

    def commit(self) -> None:
        """Let the workers copy their arrays to the store, so that new ones can continue from
        there."""
        began = time.perf_counter()
        rows, shared = self.ask(Shard.row_state, fetch=False), self._pushed.values()
        about: Any = self.name, Shard.work, {}, {}, Shard.restore
        self.session.continue_from([
            [*first, (worker.call, (*about, own, *shared))]
            for first, own in zip(self._first, rows, strict=True)
        ])  # fmt: skip
        self._sweeps = 0
        self.seconds["commit"] += time.perf_counter() - began

    # ---- rows that are read here ------------------------------------------------------

    def axis(self, place: Place) -> int | None:
        """The axis of rows in an array of a table; None if it has none."""
        return axis_of(self.program, self.plate, place)

    def _fetch(self, table: str, key: Any) -> NDArray[Any]:
        axis = self.axis((table, key))
        assert axis is not None, (table, key)
        return np.concatenate(self.ask(Shard.read, (table, key)), axis=axis)

    def _cut(self, place: Place, array: NDArray[Any]) -> list[NDArray[Any]]:
        """The rows of each worker."""
        axis = self.axis(place)
        assert axis is not None
        ends = [last for _, last in self.edges]
        if place[0] == "latent_counts":
            cells = self.cells[place[1]]
            each = cells.rows // self.program.sizes[self.plate]
            ends = [int(cells.starts[last * each]) for last in ends]
        return np.split(array, ends[:-1], axis=axis)

    # ---- rows that are saved ----------------------------------------------------------
    #
    # Each worker writes its part of the files, in a folder that all machines share. If a worker
    # does not see the folder of the driver, the driver gathers the rows.

    def state_in_parts(self, pending: set[str], whole: Callable[[], Group]) -> InParts:
        """The state of the chain, whose rows the workers write; ``whole()`` gathers it."""
        self.work(None)
        program, places = self.program, state_places(self.program, pending)
        axes = {path: self.axis(place) for path, place in places.items()}
        away = {path: axis for path, axis in axes.items() if axis is not None}
        here = {
            path: compact(as_stored(table, self.tables[table][key]))
            for path, (table, key) in places.items()
            if path not in away
        }
        for sampler in program.first_layers.values():
            shared = sampler.shared_state() if isinstance(sampler, RemoteLayer) else sampler.state()
            here |= {sampler_path(program, sampler, n): compact(a) for n, a in shared.items()}
        rows = {path: places[path] for path in away}
        return InParts(here, away, partial(self._write, Shard.write_state, rows), whole)

    def data_in_parts(self, here: Group, whole: Callable[[], Group]) -> InParts:
        """The data of the chain, whose rows the workers write."""
        return InParts(here, {}, partial(self._write, Shard.write_data, list(self.cells)), whole)

    def _write(self, method: Any, what: Any, probe: Path, stem: str) -> list[WrittenPart] | None:
        """The parts, or None, and a warning, if a worker wrote none."""
        answers = self.ask(method, probe, stem, what)
        blind = [number for number, answer in enumerate(answers) if answer is None]
        if not blind:
            return answers
        for answer in answers:
            if answer is not None:
                (probe.parent / answer.file).unlink(missing_ok=True)
        if not self._gathers:
            self._gathers = True
            notify(
                f"{probe.parent}: worker {blind[0]} of {self.executor!r} does not see this folder, "
                "so that all rows go through the driver when they are saved; use a folder that all "
                "machines share"
            )
        return None
