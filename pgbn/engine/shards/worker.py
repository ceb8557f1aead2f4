"""What a worker does: it has the rows of a shard, as a program of fewer rows, and runs its steps.

Every function takes the worker's room first, in which each chain has a `Shard` under its name.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import PartSizes
from pgbn.engine.compile.program import Program
from pgbn.engine.data.nonzero import Cells
from pgbn.engine.data.stored_cells import StoredPart
from pgbn.engine.first_layer.choice import samplers_of
from pgbn.engine.first_layer.makers import FirstCounts
from pgbn.engine.run.turns import Turn, arrange
from pgbn.engine.shards.plate import axis_of
from pgbn.engine.shards.tables import WrittenTable
from pgbn.network.network import Network
from pgbn.network.steps import Step
from pgbn.samplers.executor import Threads
from pgbn.samplers.first_layer.value_lists import Loadings
from pgbn.samplers.shard import ShardRows

__all__ = [
    "TABLES",
    "Reply",
    "Spec",
    "build",
    "can_read",
    "commit",
    "forget_chain",
    "own_cells",
    "put",
    "put_loadings",
    "read",
    "restore",
    "restore_rows",
    "row_state",
    "run_turns",
    "start",
]

Room = dict[str, "Shard"]
Place = tuple[str, Any]  # a table, and the key of an array in it

TABLES = ("values", "counts", "drawn", "latent_counts")


@dataclass(frozen=True)
class Spec:
    """What all workers need to know of a chain."""

    network: Network
    plate: str
    sizes: dict[str, int]
    layer1: str
    kernels: bool
    schedule: tuple[Step, ...]
    seed: int
    number: int
    threads: int


@dataclass(frozen=True)
class Reply:
    """What a worker tells of the steps that it ran: the arrays of rows that it ``kept``, the
    counts that its rows have of what all rows ``share``, those of the ``topics`` of a first layer,
    by its data, and the ``seconds`` that it took."""

    kept: list[Place]
    share: dict[Place, NDArray[Any]]
    topics: dict[str, Any]
    seconds: float


class Shard:
    """The rows from ``first`` on. Its program has them alone, and draws as if it had all."""

    def __init__(
        self, spec: Spec, first: int, cells: Mapping[str, Cells], indexes: Mapping[str, Any]
    ) -> None:
        rows = next(cell.shape[0] for cell in cells.values() if cell.dims[0] == spec.plate)
        sizes, self.plate = PartSizes(spec.sizes, spec.plate, rows), spec.plate
        self.rows = (first, first + rows)
        executor = ShardRows(first, rows, Threads(spec.threads))
        self.program = Program(spec.network, cells, sizes, 1, executor, indexes=indexes)
        self.program.sizes = sizes
        for table in TABLES:
            setattr(self.program, table, WrittenTable())
        self.program.kernels = spec.kernels
        self.program.first_layers = samplers_of(self.program, spec.layer1)
        turns, later = arrange(self.program, spec.schedule, spec.seed, spec.number)
        self.turns: dict[int, Turn] = {turn.base: turn for turn in (*turns, *later.values())}
        self.written()

    def table(self, name: str) -> WrittenTable:
        found = getattr(self.program, name)
        assert isinstance(found, WrittenTable)
        return found

    def written(self) -> list[Place]:
        """What was set since the last call."""
        out = []
        for name in TABLES:
            table = self.table(name)
            out += [(name, key) for key in table.written]
            table.written.clear()
        return out

    def has_rows(self, place: Place) -> bool:
        table, key = place
        names = key if isinstance(key, tuple) else (key,)
        return axis_of(self.program, self.plate, table, names) is not None

    def reply(self, topics: dict[str, Any], began: float) -> Reply:
        kept, share = [], {}
        for place in self.written():
            if self.has_rows(place):
                kept.append(place)
            else:
                share[place] = np.asarray(self.table(place[0])[place[1]])
        return Reply(kept, share, topics, time.perf_counter() - began)


def build(room: Room, name: str, spec: Spec, first: int, cells: Any, indexes: Any) -> None:
    """Begin a chain; its arrays come later."""
    room[name] = Shard(spec, first, {n: own_cells(cell) for n, cell in cells.items()}, indexes)


def can_read(room: Room, parts: Sequence[StoredPart]) -> bool:
    """Whether the folders of some data are seen here."""
    return all(part.can_be_read() for part in parts)


def forget_chain(room: Room, name: str) -> None:
    """End a chain."""
    room.pop(name, None)


def put(room: Room, name: str, shared: Mapping[Place, Any], own: Mapping[Place, Any]) -> None:
    """Take arrays that all workers share, and rows of others. Small ones are copied: what is read
    only is of another type for kernels."""
    shard = room[name]
    for (table, key), array in (*shared.items(), *own.items()):
        shard.table(table)[key] = np.array(array)
    shard.written()


def put_loadings(room: Room, name: str, observed: str, parts: Sequence[NDArray[Any]]) -> None:
    """Take φ as it was drawn; it stays in memory that all workers of a machine read."""
    loadings = Loadings(*(_unlocked(part) for part in parts))
    room[name].program.first_layers[observed].topics_held.hand_over(loadings)


def run_turns(room: Room, name: str, jobs: Sequence[tuple[int, int]]) -> Reply:
    """Run turns, which are known by their bases, each with its key."""
    shard, began, topics = room[name], time.perf_counter(), {}
    for turn, key in jobs:
        step = shard.turns[turn].run
        step(key)
        if isinstance(step, FirstCounts) and not step.sampler.is_given:
            topics[step.sampler.observed] = _sparse(step.sampler.topics_held.n)
    return shard.reply(topics, began)


def start(room: Room, name: str, observed: str, key: int) -> Reply:
    """Begin a sampler of the first layer."""
    shard, began = room[name], time.perf_counter()
    shard.program.first_layers[observed].start(key)
    return shard.reply({}, began)


def read(room: Room, name: str, table: str, key: Any) -> NDArray[Any]:
    """The rows of an array."""
    return np.ascontiguousarray(room[name].table(table)[key])


def row_state(room: Room, name: str, observed: str) -> dict[str, NDArray[Any]]:
    """The rows of the state of a sampler of the first layer."""
    return room[name].program.first_layers[observed].row_state()


def restore_rows(room: Room, name: str, observed: str, state: Mapping[str, NDArray[Any]]) -> Reply:
    """Go on from a row_state."""
    shard, began = room[name], time.perf_counter()
    sampler = shard.program.first_layers[observed]
    sampler.restore_rows(state)
    topics = {} if sampler.is_given else {observed: _sparse(sampler.topics_held.n)}
    return shard.reply(topics, began)


def commit(room: Room, name: str) -> tuple[dict[Place, Any], dict[str, Any]]:
    """All that has rows, from which `restore` goes on."""
    shard = room[name]
    samplers = shard.program.first_layers.values()
    own = {(s.observed, node) for s in samplers for node in (s.pattern.loadings, s.pattern.scores)}
    arrays = {
        (table, key): array
        for table in TABLES
        for key, array in shard.table(table).items()
        if shard.has_rows((table, key)) and key not in own
    }
    return arrays, {s.observed: s.row_state() for s in samplers if s.by_rows}


def restore(room: Room, name: str, committed: tuple[dict[Place, Any], dict[str, Any]]) -> None:
    """Go on from a `commit`, after `build` and `put`; φ comes after it."""
    arrays, states = committed
    put(room, name, {}, arrays)
    for observed, state in states.items():
        sampler = room[name].program.first_layers[observed]
        sampler.hold(begun=False)
        sampler.make_room()
        sampler.restore_rows(state)
    room[name].written()


def _sparse(counts: NDArray[Any]) -> Any:
    """Counts as (places, numbers), where that is smaller."""
    flat = counts.reshape(-1)
    places = np.flatnonzero(flat)
    if 2 * places.size >= flat.size:
        return counts
    kind = np.int32 if flat.size < 2**31 else np.int64
    return places.astype(kind), flat[places]


def own_cells(cells: Cells | StoredPart) -> Cells:
    """Cells whose arrays kernels take as they are; those in a folder are read."""
    if isinstance(cells, StoredPart):
        return cells.read()
    cells.starts, cells.indices = _unlocked(cells.starts), _unlocked(cells.indices)
    cells.values = _unlocked(cells.values)
    return cells


class _Unlocked:
    """An array that says of itself that it may be written to; nobody does."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array  # which is kept as long as it is read
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def _unlocked(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory, not read only: kernels are compiled for arrays that may be written to, and
    would be compiled again for others."""
    if array.flags.writeable:
        return array
    return np.asarray(_Unlocked(array)) if array.size else array.copy()
