"""What a worker does: it has the rows of a shard, as a program of fewer rows, and runs its steps.

Every function takes the worker's room first, in which each chain has a `Shard` under its name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import PartSizes
from pgbn.engine.compile.program import Program
from pgbn.engine.data.nonzero import Cells, CoordinateCells
from pgbn.engine.data.stored_cells import StoredPart
from pgbn.engine.first_layer.choice import FirstCounts, samplers_of
from pgbn.engine.run.bound_steps import BoundStep, arrange
from pgbn.network.network import Network
from pgbn.network.steps import Step
from pgbn.network.terms import Factor
from pgbn.nodes.rules.registry import is_own, is_own_rule
from pgbn.samplers.executor import ROW_BLOCK, Threads
from pgbn.samplers.first_layer.value_lists import Loadings
from pgbn.samplers.shard import ShardRows

# ---- plate --------------------------------------------------------------------------------------
#
# The plate: the dim whose rows are spread, and where its shards begin.
#
# A step goes to the workers if it is local along the plate (`Step.local`), if what makes it can
# draw a part of the rows (`pgbn.engine.plan`), and if no rule of a user has a say in it. All
# others are run by the driver, with the rows that they read.


def plate_of_rows(program: Program) -> str | None:
    """The first dim of the largest data, if rows along it can be told apart wherever it stands."""
    cells = program.cells
    if program.replicates != 1 or not cells:
        return None
    largest = max(cells, key=lambda name: cells[name].size)
    plate = next(iter(program.storage[largest]), "")
    seen = [name for name in cells if plate in program.storage[name]]
    plain = all(
        program.storage[name][0] == plate and len(program.storage[name]) > 1
        and not isinstance(cells[name], CoordinateCells)
        for name in seen
    )  # fmt: skip
    factors = [
        factor
        for polynomial in program.wiring.polynomials.values()
        for term in polynomial.terms
        for factor in term.factors
    ]
    return plate if seen and plain and not any(_mixes(plate, f) for f in factors) else None


def _mixes(plate: str, factor: Factor) -> bool:
    """Whether a factor has the plate as a constant, a relation, by another name or by numbers of
    rows."""
    if not factor.is_node:
        return plate in factor.dims
    if factor.previous or any(lookup.dim == plate for lookup in factor.lookups):
        return plate in (*factor.dims, *factor.own_dims, *factor.entries)
    own = factor.own_dims or factor.dims
    return any((here == plate) != (mine == plate)
               for here, mine in zip(factor.dims, own, strict=True))  # fmt: skip


def is_shared_out(program: Program, step: Step, plate: str) -> bool:
    """Whether a step, which has just been made, can be run by the workers."""
    node, wiring = program.network.nodes[step.node], program.wiring
    rules = wiring.connections.rules_of(node).values() if step.upward else ()
    sources = () if step.upward else wiring.sources[node.name]
    return (
        program.by_rows
        and step.local(plate)
        and program.storage[node.name][0] == plate
        and not is_own(type(node))
        and not any(is_own_rule(rule) for rule in (*rules, *(s.rule for s in sources)))
        and all(rule.drawn is None or plate in rule.drawn(node) for rule in rules)
    )


def axis_of(program: Program, plate: str, table: str, key: tuple[str, ...]) -> int | None:
    """The axis of the plate, from the end, in an array of one of the tables of a program; None
    where it has none. Numbers of cells have one axis, that of the cells of all rows."""
    name = key[0] if table != "counts" else key[-1]
    dims = program.storage.get(name, ())
    if table == "latent_counts":
        return -1 if plate in dims else None
    if table == "drawn":
        rule = program.wiring.rules[key[0], key[1]]
        assert rule.drawn is not None
        if plate not in rule.drawn(program.network.nodes[name]):
            return None
    return dims.index(plate) - len(dims) if plate in dims else None


def shard_edges(starts: NDArray[np.int64], rows: int, workers: int) -> list[tuple[int, int]]:
    """``range(rows)`` in at most so many ranges of about as many cells each, which begin with a
    block; ``starts`` says where the cells of each row begin. No range has a single row, whose
    arrays would look like those of nodes without the plate."""
    each = (starts.size - 1) // rows
    blocks = list(range(0, rows, ROW_BLOCK))
    if rows - blocks[-1] < 2 and len(blocks) > 1:
        blocks.pop()
    before = np.array([starts[row * each] + row for row in blocks])  # empty rows cost something too
    total, cuts, workers = int(starts[-1]) + rows, [0], min(workers, len(blocks))
    for worker in range(1, workers):
        wanted = total * worker / workers
        place = int(np.abs(before - wanted).argmin())
        if blocks[place] > cuts[-1]:
            cuts.append(blocks[place])
    return list(pairwise([*cuts, rows]))


# ---- tables -------------------------------------------------------------------------------------
#
# Tables of arrays that are here, with the workers, or both.


class RemoteTable(MutableMapping[Any, NDArray[Any]]):
    """The driver's table of arrays, of which some are with the workers: they are fetched when they
    are read. What is set here is among the ``fresh``, which the workers do not have yet.

    Invariant: what is read is what the last step that drew it left, whoever ran it.
    """

    def __init__(self, fetch: Callable[[Any], NDArray[Any]]) -> None:
        self._fetch = fetch
        self._here: dict[Any, NDArray[Any]] = {}
        self._keys: dict[Any, None] = {}
        self.fresh: dict[Any, None] = {}

    def __getitem__(self, key: Any) -> NDArray[Any]:
        if key not in self._here:
            if key not in self._keys:
                raise KeyError(key)
            self._here[key] = self._fetch(key)
        return self._here[key]

    def __setitem__(self, key: Any, value: NDArray[Any]) -> None:
        self._here[key] = value
        self._keys[key] = self.fresh[key] = None

    def __delitem__(self, key: Any) -> None:
        del self._keys[key]
        self._here.pop(key, None)
        self.fresh.pop(key, None)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def left(self, key: Any) -> None:
        """The workers have it, and what was here is old or no longer needed."""
        self._here.pop(key, None)
        self.fresh.pop(key, None)
        self._keys[key] = None


class WrittenTable(dict[Any, NDArray[Any]]):
    """A worker's table, which remembers what was set."""

    def __init__(self) -> None:
        super().__init__()
        self.written: dict[Any, None] = {}

    def __setitem__(self, key: Any, value: NDArray[Any]) -> None:
        super().__setitem__(key, value)
        self.written[key] = None

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            self[key] = value


# ---- worker -------------------------------------------------------------------------------------


WorkerState = dict[str, "Shard"]
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
        self.turns: dict[int, BoundStep] = {turn.base: turn for turn in (*turns, *later.values())}
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


def build(room: WorkerState, name: str, spec: Spec, first: int, cells: Any, indexes: Any) -> None:
    """Begin a chain; its arrays come later."""
    room[name] = Shard(spec, first, {n: own_cells(cell) for n, cell in cells.items()}, indexes)


def can_read(room: WorkerState, parts: Sequence[StoredPart]) -> bool:
    """Whether the folders of some data are seen here."""
    return all(part.can_be_read() for part in parts)


def forget_chain(room: WorkerState, name: str) -> None:
    """End a chain."""
    room.pop(name, None)


def put(
    room: WorkerState, name: str, shared: Mapping[Place, Any], own: Mapping[Place, Any]
) -> None:
    """Take arrays that all workers share, and rows of others. Small ones are copied: what is read
    only is of another type for kernels."""
    shard = room[name]
    for (table, key), array in (*shared.items(), *own.items()):
        shard.table(table)[key] = np.array(array)
    shard.written()


def put_loadings(
    room: WorkerState, name: str, observed: str, parts: Sequence[NDArray[Any]]
) -> None:
    """Take φ as it was drawn; it stays in memory that all workers of a machine read."""
    loadings = Loadings(*(_unlocked(part) for part in parts))
    room[name].program.first_layers[observed].topics_held.hand_over(loadings)


def run_turns(room: WorkerState, name: str, jobs: Sequence[tuple[int, int]]) -> Reply:
    """Run turns, which are known by their bases, each with its key."""
    shard, began, topics = room[name], time.perf_counter(), {}
    for turn, key in jobs:
        step = shard.turns[turn].run
        step(key)
        if isinstance(step, FirstCounts) and not step.sampler.is_given:
            topics[step.sampler.observed] = _sparse(step.sampler.topics_held.n)
    return shard.reply(topics, began)


def start(room: WorkerState, name: str, observed: str, key: int) -> Reply:
    """Begin a sampler of the first layer."""
    shard, began = room[name], time.perf_counter()
    shard.program.first_layers[observed].start(key)
    return shard.reply({}, began)


def read(room: WorkerState, name: str, table: str, key: Any) -> NDArray[Any]:
    """The rows of an array."""
    return np.ascontiguousarray(room[name].table(table)[key])


def row_state(room: WorkerState, name: str, observed: str) -> dict[str, NDArray[Any]]:
    """The rows of the state of a sampler of the first layer."""
    return room[name].program.first_layers[observed].row_state()


def restore_rows(
    room: WorkerState, name: str, observed: str, state: Mapping[str, NDArray[Any]]
) -> Reply:
    """Go on from a row_state."""
    shard, began = room[name], time.perf_counter()
    sampler = shard.program.first_layers[observed]
    sampler.restore_rows(state)
    topics = {} if sampler.is_given else {observed: _sparse(sampler.topics_held.n)}
    return shard.reply(topics, began)


def commit(room: WorkerState, name: str) -> tuple[dict[Place, Any], dict[str, Any]]:
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


def restore(
    room: WorkerState, name: str, committed: tuple[dict[Place, Any], dict[str, Any]]
) -> None:
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
