"""The crew: workers that have the rows of a chain, and the driver's side of what travels.

    down   values that all rows share, when they were drawn; φ of the first layer as it was drawn,
           once for each machine; the keys of the steps
    up     integer counts that the steps of rows have for what all rows share; rows, when the driver
           or a user reads them

What is drawn by several workers does not depend on how many they are: streams are those of rows,
counts are integers, and floats are added by the driver, in the order of rows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.data.stored_cells import StoredCells, StoredPart
from pgbn.engine.first_layer.base import FirstLayer
from pgbn.engine.shards import worker
from pgbn.engine.shards.worker import (
    TABLES,
    Place,
    RemoteTable,
    Reply,
    Spec,
    axis_of,
    is_shared_out,
    plate_of_rows,
    shard_edges,
)
from pgbn.errors import DataError, NetworkError, PgbnError
from pgbn.network.steps import Step
from pgbn.samplers.executor import Executor
from pgbn.samplers.hands import LIVES, Hands, WorkerLost, hand_out, hands_of

# ---- layer --------------------------------------------------------------------------------------
#
# A first layer whose rows are with the workers; the driver has φ and its counts.


class RemoteLayer(FirstLayer):
    """The driver's half of a sampler: ``own`` draws φ from the counts that the workers tell, and
    they get it as it was drawn. The steps of the data are theirs, see `ShardDriver.run`."""

    def __init__(self, own: FirstLayer, crew: ShardDriver) -> None:
        vars(self).update(vars(own))
        self.own, self.crew, self.name = own, crew, own.name  # type: ignore[misc]

    def start(self, key: int) -> None:
        self.own.hold()
        self.crew.start(self.observed, key)

    def loadings_changed(self, key: int) -> None:
        self.own.loadings_changed(key)
        self._drawn()

    def step(self, key: int) -> None:
        raise AssertionError("the workers take this step")

    def draw_loadings(self, key: int) -> None:
        self.own.draw_loadings(key)
        self._drawn()

    def _drawn(self) -> None:
        self.crew.loadings[self.observed] = self.own.topics_held

    def take_counts(self, parts: list[Any]) -> None:
        """The counts of φ, from those of all workers."""
        held = self.own.topics_held
        held.n[...] = 0
        flat = held.n.reshape(-1)
        for part in parts:
            if isinstance(part, np.ndarray):
                held.n += part
            else:
                places, numbers = part
                flat[places] += numbers
        held.counts_changed()

    def show(self) -> None:
        self.own.show()

    def show_counts(self) -> None:
        self.own.show_counts()

    def state(self) -> dict[str, NDArray[Any]]:
        parts = self.crew.mail.ask(worker.row_state, self.observed)
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return {**rows, **self.shared_state()}

    def shared_state(self) -> dict[str, NDArray[Any]]:
        return self.own.shared_state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        parts = self.crew.mail.ask(worker.row_state, self.observed)
        each: list[dict[str, NDArray[Any]]] = [{} for _ in parts]
        for name in parts[0]:
            array, ends = np.asarray(state.get(name, ())), np.cumsum([len(p[name]) for p in parts])
            if array.shape != (ends[-1], *parts[0][name].shape[1:]):
                raise DataError(
                    f"restore: {name!r} of the state has the shape {array.shape}, but this chain "
                    f"needs {(int(ends[-1]), *parts[0][name].shape[1:])}; is it of the same "
                    "network and data?"
                )
            for own, part in zip(each, np.split(array, ends[:-1]), strict=True):
                own[name] = part
        self.crew.restore_rows(self.observed, each)
        self.own.restore_shared(state)
        self._drawn()


# ---- mail ---------------------------------------------------------------------------------------
#
# Messages to the workers of a chain, and what is done about those that are lost.
#
# A worker depends on nothing but what it is told, in order. So whoever takes the place of one that
# is lost is told what that one was told: it begins with what it left at its last commit, does
# again what came after, and has the same bits. The others do not notice.


Message = tuple[Callable[..., Any], tuple[Any, ...]]


class MessageLog:
    """Messages to as many of the ``hands`` as there are ranges of rows, ``edges``; ``executor`` is
    what they are called in errors."""

    def __init__(self, hands: Hands, edges: Sequence[tuple[int, int]], executor: str) -> None:
        self.hands, self.edges, self.executor, self.name = hands, edges, executor, uuid4().hex
        self.begin([])
        finalize(self, _forget, hands, self.name, len(edges))

    def begin(self, first: Sequence[Message]) -> None:
        """Forget all messages. Each worker is told its own of the ``first`` ones."""
        self._first = list(first)
        self._committed: tuple[list[Message], dict[int, Any]] | None = None
        self._log: list[list[Message]] = [[] for _ in self.edges]  # since the last commit
        self._ages = [-1 for _ in self.edges]
        self._unread: list[dict[int, Any]] = []

    def tell(
        self, function: Callable[..., Any], *args: Any, own: Sequence[tuple[Any, ...]] = ()
    ) -> list[Any]:
        """The answers of all workers to a message that changes something; ``own`` are arguments of
        each worker's own."""
        tickets = self._write(function, args, own)
        self._read()
        return self._answers(tickets, [log[-1] for log in self._log], self.hands.answers)

    def note(
        self, function: Callable[..., Any], *args: Any, own: Sequence[tuple[Any, ...]] = ()
    ) -> None:
        """The same without an answer: the workers go on, and so does the driver."""
        self._unread.append(self._write(function, args, own))

    def ask(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The answers of all workers to a question, by which nothing changes."""
        return self._ask((function, args), self.hands.answers)[1]

    def commit(self, base: Callable[[], list[Message]]) -> None:
        """Let the workers give away what they have. A new one is told the ``base``, what all
        workers have, and then goes on from there."""
        tickets, _ = self._ask((worker.commit, ()), self.hands.done)
        self._log = [[] for _ in self.edges]
        self._committed = (base(), tickets)

    def _ask(self, message: Message, wait: Callable[..., Any]) -> tuple[dict[int, Any], list[Any]]:
        tickets = {}
        for number in range(len(self.edges)):
            self._catch_up(number)
            tickets[number] = self._send(number, message)
        self._read()
        return tickets, self._answers(tickets, [message] * len(self.edges), wait)

    def _write(
        self, function: Callable[..., Any], args: tuple[Any, ...], own: Sequence[tuple[Any, ...]]
    ) -> dict[int, Any]:
        tickets = {}
        for number, log in enumerate(self._log):
            message = (function, (*args, *(own[number] if own else ())))
            self._catch_up(number)
            log.append(message)
            tickets[number] = self._send(number, message)
        return tickets

    def _read(self) -> None:
        """See that the messages without an answer were understood; that a worker is lost will be
        noticed by the next one."""
        unread, self._unread = self._unread, []
        for tickets in unread:
            for number, ticket in tickets.items():
                with suppress(WorkerLost):
                    self.hands.done({number: ticket})

    def _send(self, number: int, message: Message) -> Any:
        function, args = message
        return self.hands.ask(number, function, self.name, *args)

    def _answers(
        self, tickets: dict[int, Any], messages: Sequence[Message], wait: Callable[..., Any]
    ) -> list[Any]:
        """Wait for the answers; workers that are lost are replaced, which changes their ticket."""
        lost: Counter[int] = Counter()
        while True:
            try:
                answers = wait(tickets)
                return [] if answers is None else [answers[number] for number in sorted(answers)]
            except WorkerLost as error:
                number = error.worker
                lost[number] += 1
                if lost[number] >= LIVES:
                    first, last = self.edges[number]
                    raise PgbnError(
                        f"{self.executor}: worker {number}, which has the rows from {first} to "
                        f"{last}, was lost {LIVES} times at one step: {error.reason}"
                    ) from error
                with suppress(WorkerLost):  # the next round notices it
                    tickets[number] = self._again(number, messages[number])

    def _again(self, number: int, message: Message) -> Any:
        """The ticket of a message to the worker that takes the place of a lost one."""
        if self._ages[number] == self.hands.age(number):
            self.hands.renew(number)
        logged = bool(self._log[number]) and self._log[number][-1] is message
        ticket = self._replay(number)
        return ticket if logged else self._send(number, message)

    def _catch_up(self, number: int) -> None:
        """Tell a worker that is new what the one before was told."""
        lives = LIVES
        while self._ages[number] != self.hands.age(number):
            try:
                self._replay(number)
            except WorkerLost:
                lives -= 1
                if not lives:
                    raise
                self.hands.renew(number)

    def _replay(self, number: int) -> Any:
        """From the last commit on, all messages again, of which all but the last must have been
        understood; the ticket of the last."""
        self._ages[number] = self.hands.age(number)
        messages = [self._first[number]]
        if self._committed is not None:
            (put, *loadings), tickets = self._committed
            messages += [put, (worker.restore, (tickets[number],)), *loadings]
        sent = [self._send(number, message) for message in (*messages, *self._log[number])]
        for ticket in sent[:-1]:
            self.hands.done({number: ticket})
        return sent[-1]


def _forget(hands: Hands, name: str, workers: int) -> None:
    """The chain is no longer needed."""
    with suppress(Exception):  # nor, perhaps, are the workers
        for number in range(workers):
            hands.ask(number, worker.forget_chain, name)


# ---- crew ---------------------------------------------------------------------------------------


PARTS = ("compute", "wait", "serialise", "commit")  # of the time of a sweep


def crew_of(program: Program, executor: Executor) -> ShardDriver | None:
    """Those who work on the rows of a program: the hands of an executor, if it has any and the
    rows can be told apart. From then on its tables fetch what they do not have."""
    plate = plate_of_rows(program) if hasattr(executor, "hands") else None
    hands = None if plate is None else hands_of(executor)
    crew = None if hands is None or plate is None else ShardDriver(program, executor, hands, plate)
    for name, cells in program.cells.items():
        if isinstance(cells, StoredCells) and (crew is None or name not in crew.cells):
            program.cells[name] = cells.part(0, cells.rows).read()  # the driver has all rows
    return crew


def executor_behind(program: Program) -> Executor:
    """The executor that a chain was given."""
    return program.executor if program.crew is None else program.crew.executor


class ShardDriver:
    """The workers of one chain. ``seconds``: what the sweeps so far took, by part."""

    def __init__(self, program: Program, executor: Executor, hands: Hands, plate: str) -> None:
        self.program, self.hands, self.plate = program, hands, plate
        self.executor = executor
        self.seconds: dict[str, float] = dict.fromkeys(PARTS, 0.0)
        self.cells = {n: c for n, c in program.cells.items() if plate in program.storage[n]}
        largest = max(self.cells.values(), key=lambda cells: cells.size)
        rows = program.sizes[plate]
        self.edges = shard_edges(largest.starts, rows, hands.number)
        self.tables = {name: RemoteTable(partial(self._fetch, name)) for name in TABLES}
        for name, table in self.tables.items():
            table.update(getattr(program, name))
            setattr(program, name, table)
        self.loadings: dict[str, Any] = {}  # topics that the workers do not have yet
        self._shared: dict[Place, NDArray[Any]] = {}  # what all workers have
        self._phi: dict[str, Any] = {}  # handles of the topics that they have
        self._sweeps = 0  # since the last commit
        self.gathers = False  # a worker could not write to the folder where the chain is saved
        self.mail = MessageLog(hands, self.edges, repr(executor))

    # ---- the beginning ----------------------------------------------------------------

    def layers(self, samplers: Mapping[str, FirstLayer]) -> dict[str, FirstLayer]:
        """The samplers of the first layer, their rows with the workers."""
        for observed, sampler in samplers.items():
            if observed in self.cells and sampler.pattern.index:
                raise NetworkError(
                    f"layer1={sampler.name!r} draws rows together that share "
                    f"{sampler.pattern.scores}, and cannot be spread over workers by "
                    f"{self.executor!r}; use layer1='general'"
                )
            if observed in self.cells and not sampler.by_rows:
                raise NetworkError(
                    f"layer1={sampler.name!r} draws over all rows in turn, and cannot be spread "
                    f"over workers by {self.executor!r}; use layer1='partial'"
                )
        return {name: RemoteLayer(own, self) if name in self.cells else own
                for name, own in samplers.items()}  # fmt: skip

    def takes(self, step: Step) -> bool:
        """Whether the workers run a step, which has just been made."""
        return is_shared_out(self.program, step, self.plate)

    def begin(self, schedule: tuple[Step, ...], seed: int, number: int) -> None:
        """Give each worker its rows of the data."""
        program = self.program
        layer1 = next((layer.name for layer in program.first_layers.values()), "composed")
        spec = self.hands.share(
            Spec(program.network, self.plate, program.sizes, layer1, program.kernels, schedule,
                 seed, number, self.hands.threads)
        )  # fmt: skip
        here = {name: array for name, array in program.cells.items() if name not in self.cells}
        layers = {n: s for n, s in program.first_layers.items() if isinstance(s, RemoteLayer)}
        begun = [name for name, layer in layers.items() if hasattr(layer.own, "topics_held")]
        rows = {name: self.mail.ask(worker.row_state, name) for name in begun}
        for table in self.tables.values():
            for key in table:
                table[key] = table[key]  # the workers will have nothing
        first = []
        for (start, stop), parts in zip(self.edges, self._own_cells(), strict=True):
            cells = parts | here
            indexes = {name: self._rows_of_index(name, start, stop) for name in program.indexes}
            first.append((worker.build, (spec, start, self.hands.share(cells), indexes)))
        self._shared, self._phi = {}, {}
        self.mail.begin(first)
        if begun:  # they go on in another order of the steps
            each = [{n: rows[n][w] for n in begun} for w in range(len(self.edges))]
            self.push()
            self.mail.note(worker.restore, own=[(({}, states),) for states in each])
            self.loadings = {name: layers[name].own.topics_held for name in begun}

    def _own_cells(self) -> list[dict[str, Any]]:
        """The data of each worker's rows. What is in a folder it reads itself if it can."""
        every: list[dict[str, Any]] = [
            {name: cells.part(*edge) for name, cells in self.cells.items()} for edge in self.edges
        ]
        if any(isinstance(cells, StoredCells) for cells in self.cells.values()):
            jobs = [([p for p in parts.values() if isinstance(p, StoredPart)],) for parts in every]
            for parts, seen in zip(every, hand_out(self.hands, worker.can_read, jobs), strict=True):
                for name, part in parts.items():
                    if isinstance(part, StoredPart) and not seen:
                        parts[name] = part.read()
        return every

    def _rows_of_index(self, name: str, first: int, last: int) -> NDArray[np.int64]:
        array = self.program.indexes[name]
        lookups = {
            lookup.name: lookup.dims
            for polynomial in self.program.wiring.polynomials.values()
            for term in polynomial.terms
            for factor in term.factors
            for lookup in factor.lookups
        }
        dims = lookups.get(name, ())
        if self.plate not in dims:
            return array
        return np.take(array, range(first, last), axis=dims.index(self.plate) + 1)

    def start(self, observed: str, key: int) -> None:
        """Begin a sampler of the first layer."""
        self.push()
        self._absorb(self.mail.tell(worker.start, observed, key))

    def restore_rows(self, observed: str, each: Sequence[Mapping[str, Any]]) -> None:
        """Put the rows of a sampler where they were."""
        self.push()
        self._absorb(
            self.mail.tell(worker.restore_rows, observed, own=[(state,) for state in each])
        )

    # ---- sweeps -----------------------------------------------------------------------

    def run(self, jobs: Sequence[tuple[int, int]]) -> None:
        """Let all workers take steps, known by the base of their turns, with these keys."""
        began = time.perf_counter()
        self.push()
        sent = time.perf_counter()
        replies = self.mail.tell(worker.run_turns, list(jobs))
        answered = time.perf_counter()
        self._absorb(replies)
        slowest = max(reply.seconds for reply in replies)
        self.seconds["compute"] += slowest
        self.seconds["wait"] += max(answered - sent - slowest, 0.0)
        self.seconds["serialise"] += sent - began + time.perf_counter() - answered

    def swept(self, sweep: int) -> None:
        """The end of a sweep: every few of them, the workers commit what they have."""
        self._sweeps += 1
        if self._sweeps >= self.hands.commit:
            began = time.perf_counter()
            self.mail.commit(self._base)
            self._sweeps = 0
            self.seconds["commit"] += time.perf_counter() - began

    def _base(self) -> list[Message]:
        """What a new worker is told around its `restore`, of what all workers have now."""
        shared, phi = dict(self._shared), dict(self._phi)
        return [
            (worker.put, (shared, {})),
            *((worker.put_loadings, each) for each in phi.items()),
        ]

    def _absorb(self, replies: Sequence[Reply]) -> None:
        for table, key in dict.fromkeys(place for reply in replies for place in reply.kept):
            self.tables[table].left(key)
        for table, key in replies[0].share:
            assert table == "counts", (table, key)
            parts = [reply.share[table, key] for reply in replies]
            assert all(part.dtype.kind in "iu" for part in parts), key
            self.tables[table][key] = np.asarray(sum(parts[1:], parts[0]))
        for observed in replies[0].topics:
            layer = self.program.first_layers[observed]
            assert isinstance(layer, RemoteLayer)
            layer.take_counts([reply.topics[observed] for reply in replies])

    def push(self) -> None:
        """Tell the workers what has changed here: what all share, and their rows of the rest."""
        shared: dict[Place, NDArray[Any]] = {}
        own: list[dict[Place, NDArray[Any]]] = [{} for _ in self.edges]
        for name, table in self.tables.items():
            for key in list(table.fresh):
                if self.axis(name, key) is not None:
                    for part, rows in zip(own, self._cut(name, key, table[key]), strict=True):
                        part[name, key] = rows
                    table.left(key)
                elif name in ("values", "drawn") and not self._is_held(name, key):
                    shared[name, key] = table[key]
                table.fresh.pop(key, None)
        if shared or own[0]:
            self._shared |= shared
            self.mail.note(worker.put, self.hands.share(shared), own=[(part,) for part in own])
        for observed, held in self.loadings.items():
            self._phi[observed] = self.hands.share(tuple(held.loadings))
            self.mail.note(worker.put_loadings, observed, self._phi[observed])
        self.loadings = {}

    def _is_held(self, table: str, key: Any) -> bool:
        """Whether it is φ of a first layer that has begun: its sampler has it in another form."""
        layers = self.program.first_layers.items()
        return table == "values" and (table, key) in self._shared and any(
            layer.pattern.loadings == key for name, layer in layers if name in self.cells
        )  # fmt: skip

    # ---- rows that are read here ------------------------------------------------------

    def axis(self, table: str, key: Any) -> int | None:
        """The axis of rows in an array of a table; None where it has none."""
        names = key if isinstance(key, tuple) else (key,)
        return axis_of(self.program, self.plate, table, names)

    def _fetch(self, table: str, key: Any) -> NDArray[Any]:
        axis = self.axis(table, key)
        assert axis is not None, (table, key)
        return np.concatenate(self.mail.ask(worker.read, table, key), axis=axis)

    def _cut(self, table: str, key: Any, array: NDArray[Any]) -> list[NDArray[Any]]:
        """The rows of each worker."""
        axis = self.axis(table, key)
        assert axis is not None
        if table == "latent_counts":
            cells = self.cells[key]
            each = cells.rows // self.program.sizes[self.plate]
            ends = [int(cells.starts[last * each]) for _, last in self.edges]
        else:
            ends = [last for _, last in self.edges]
        return np.split(array, ends[:-1], axis=axis)
