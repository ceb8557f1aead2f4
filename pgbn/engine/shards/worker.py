"""A worker has the rows of a shard, as a program of fewer rows, and runs its steps.

The messages to a worker are `build` (a shard), `call` (a method of it) and `forget`. The first
argument of each is the state of the worker, in which every chain has a `Shard` under its name. Only
the methods `Shard.follow` and `Shard.work` change a shard.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.products import PartSizes
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells, CoordinateCells
from pgbn.engine.data.reading import StoredCells
from pgbn.engine.first_layer.choice import samplers_of
from pgbn.engine.first_layer.samplers import FixedTopics
from pgbn.engine.run.bound_steps import BoundStep, arrange
from pgbn.engine.run.state import as_stored, sampler_path
from pgbn.network.network import Network
from pgbn.network.steps import Step
from pgbn.network.terms import Factor
from pgbn.samplers.executor import ROW_BLOCK, Threads
from pgbn.samplers.first_layer.loadings import Loadings
from pgbn.samplers.random import ShardRows
from pgbn.storage.archive import Group
from pgbn.storage.arrays import WrittenPart, write_part
from pgbn.storage.sparse import compact

TABLES = ("values", "counts", "drawn", "latent_counts")  # of a program
Place = tuple[str, Any]  # a table, and the key of an array in it
WorkerState = dict[str, "Shard"]
Worked = tuple[Collection[str] | None, dict[str, NDArray[Any]]]
LOADINGS, TOPICS, SAMPLER = "loadings", "topics", "sampler"  # places that are in no table


@dataclass(frozen=True)
class Spec:
    """The description of a chain that all workers need."""

    network: Network
    plate: str
    sizes: dict[str, int]
    sampler: str
    kernels: bool
    seed: int
    number: int
    threads: int


@dataclass(frozen=True)
class Reply:
    """The result of some work: the arrays of rows that the worker ``kept``, the counts of its rows
    for nodes that all rows ``share``, and the ``seconds`` that it took."""

    kept: list[Place]
    share: dict[Place, Any]
    seconds: float


class Shard:
    """The rows from ``first`` on. Its program has them alone, and draws as if it had all."""

    def __init__(
        self, spec: Spec, first: int, cells: Mapping[str, Cells], indexes: Mapping[str, Any]
    ) -> None:
        self.spec = spec
        rows = next(cell.shape[0] for cell in cells.values() if cell.dims[0] == spec.plate)
        self.rows = (first, first + rows)
        executor = ShardRows(first, rows, Threads(spec.threads))
        sizes = PartSizes(spec.sizes, spec.plate, rows)
        self.program = Program(spec.network, cells, sizes, 1, executor, indexes=indexes)
        self.program.kernels = spec.kernels
        self.program.first_layers = samplers_of(self.program, spec.sampler)
        self.begun: set[str] = set()  # samplers that have labels, or counts
        self.steps: dict[int, BoundStep] = {}  # by their bases

    @property
    def samplers(self) -> dict[str, FixedTopics]:
        """The samplers of data that have the plate, by the names of the data."""
        program, plate = self.program, self.spec.plate
        return {name: sampler for name, sampler in program.first_layers.items()
                if plate in program.storage[name] and isinstance(sampler, FixedTopics)}  # fmt: skip

    def follow(self, schedule: Iterable[Step]) -> None:
        """Take the steps of a schedule from now on."""
        steps, later = arrange(self.program, schedule, self.spec.seed, self.spec.number)
        self.steps = {s.base: s for s in (*steps, *later.values())}

    def places(self) -> list[tuple[Place, bool]]:
        """The arrays in the tables, and whether they have rows."""
        program, plate = self.program, self.spec.plate
        every = [(table, key) for table in TABLES for key in getattr(program, table)]
        return [(place, axis_of(program, plate, place) is not None) for place in every]

    def read(self, place: Place) -> NDArray[Any]:
        """The rows of an array of a table."""
        table, key = place
        return np.ascontiguousarray(getattr(self.program, table)[key])

    def put(self, arrays: Mapping[Place, Any]) -> None:
        """Take arrays. φ as it was drawn stays in memory that all workers of a machine read. All
        other arrays are copied, since kernels are compiled for writable arrays."""
        for (table, key), array in arrays.items():
            if table == LOADINGS:
                self.samplers[key].hand_over(Loadings(*array))
            else:
                getattr(self.program, table)[key] = np.array(array)

    # ---- work -------------------------------------------------------------------------

    def work(
        self,
        shared: Mapping[Place, Any],
        own: Mapping[Place, Any],
        method: Callable[..., Worked] | None = None,
        *args: Any,
    ) -> Reply:
        """Take arrays that all workers share, and rows of others; then call a ``method``, which
        gives the nodes whose steps were run (all, if None), and counts of topics."""
        began = time.perf_counter()
        self.put(shared)
        self.put(own)
        if method is None:
            return Reply([], {}, 0.0)
        nodes, topics = method(self, *args)
        kept, share = [], {(TOPICS, each): _sparse(counts) for each, counts in topics.items()}
        for (table, key), has_rows in self.places():
            node = key if isinstance(key, str) else key[0]
            if has_rows and (nodes is None or node in nodes):
                kept.append((table, key))
            elif not has_rows and table == "counts" and nodes is not None and node in nodes:
                share[table, key] = self.read((table, key))
        return Reply(kept, share, time.perf_counter() - began)

    def run_steps(self, jobs: Sequence[tuple[int, int]]) -> Worked:
        """Run steps, which are named by their bases, each with its key."""
        nodes: set[str] = set()
        topics: dict[str, NDArray[Any]] = {}
        for base, key in jobs:
            bound = self.steps[base]
            bound.run(key)
            nodes.add(bound.step.node)
            if isinstance(bound.run, FixedTopics):
                topics |= _topics(bound.run)
        return nodes, topics

    def start(self, observed: str, key: int) -> Worked:
        """Begin a sampler of the first layer."""
        self.program.first_layers[observed].start(key)
        self.begun.add(observed)
        return None, {}

    def restore(self, rows: Mapping[Place, Any], *shared: Mapping[Place, Any]) -> Worked:
        """Continue from a `row_state` and, after it, what all workers share."""
        self.put({place: array for place, array in rows.items() if place[0] != SAMPLER})
        topics: dict[str, NDArray[Any]] = {}
        for sampler in self.samplers.values():
            state = {key[1]: array for (table, key), array in rows.items()
                     if table == SAMPLER and key[0] == sampler.observed}  # fmt: skip
            if state:
                if sampler.observed not in self.begun:
                    sampler.hold(begun=False)
                    sampler.make_room()
                    self.begun.add(sampler.observed)
                sampler.restore_rows(state)
                topics |= _topics(sampler)
        for arrays in shared:
            self.put(arrays)
        return None, topics

    # ---- methods that change nothing --------------------------------------------------

    def row_state(self) -> dict[Place, NDArray[Any]]:
        """All arrays that have rows, from which `restore` continues. Counts that a sampler of the
        first layer computes from its own state are not among them."""
        made = {(s.observed, node) for s in self.samplers.values()
                for node in (s.pattern.loadings, s.pattern.scores)}  # fmt: skip
        out = {place: self.read(place) for place, has_rows in self.places()
               if has_rows and place[1] not in made}  # fmt: skip
        for sampler in self.samplers.values():
            if sampler.observed in self.begun:
                own = sampler.row_state().items()
                out |= {(SAMPLER, (sampler.observed, name)): array for name, array in own}
        return out

    def sampler_rows(self, observed: str) -> dict[str, NDArray[Any]]:
        """The rows of the state of a sampler of the first layer."""
        return self.samplers[observed].row_state()

    def write_state(
        self, probe: Path, stem: str, places: Mapping[str, Place]
    ) -> WrittenPart | None:
        """Write the rows of a state to a file in the folder of the probe: arrays of tables by their
        paths, and those of samplers of the first layer."""
        arrays = {path: compact(as_stored(place[0], self.read(place)))
                  for path, place in places.items()}  # fmt: skip
        for sampler in self.samplers.values():
            for name, array in sampler.row_state().items():
                arrays[sampler_path(self.program, sampler, name)] = compact(array)
        return write_part(probe, stem, self.rows, arrays)

    def write_data(self, probe: Path, stem: str, names: Sequence[str]) -> WrittenPart | None:
        """Write the cells of the rows; all parts together are as `cell_arrays` of all rows."""
        arrays: Group = {}
        for own in names:
            cells = self.program.cells[own]
            arrays |= cell_arrays(own, cells)
            starts = cells.starts + cells.before
            arrays[f"{own}/indptr"] = starts[1:] if self.rows[0] else starts
        return write_part(probe, stem, self.rows, arrays)


# ---- messages to a worker ----


def build(state: WorkerState, name: str, spec: Spec, first: int, cells: Any, indexes: Any) -> None:
    """Begin a chain; its arrays come later."""
    state[name] = Shard(spec, first, {n: own_cells(cell) for n, cell in cells.items()}, indexes)


def call(state: WorkerState, name: str, method: Callable[..., Any], *args: Any) -> Any:
    """The result of a method of the shard."""
    return method(state[name], *args)


def forget(state: WorkerState, name: str) -> None:
    """End a chain."""
    state.pop(name, None)


def can_read(state: WorkerState, parts: Sequence[StoredCells]) -> bool:
    """Whether this machine sees the folders of some data."""
    return all(part.can_be_read() for part in parts)


def _topics(sampler: FixedTopics) -> dict[str, NDArray[Any]]:
    return {} if sampler.is_given else {sampler.observed: sampler.n}


def _sparse(counts: NDArray[Any]) -> Any:
    """Counts as (places, numbers), if that is smaller."""
    flat = counts.reshape(-1)
    places = np.flatnonzero(flat)
    if 2 * places.size >= flat.size:
        return counts
    kind = np.int32 if flat.size < 2**31 else np.int64
    return places.astype(kind), flat[places]


def cell_arrays(name: str, cells: Cells) -> Group:
    """The cells of a node as arrays of a file."""
    out = {f"{name}/indptr": cells.starts, f"{name}/indices": compact(cells.indices)}
    if isinstance(cells, CoordinateCells):
        out[f"{name}/numbers"] = cells.numbers
    out[f"{name}/values"] = compact(cells.values)
    if cells.missing is not None:
        out[f"{name}/missing"] = cells.missing
    return out


def own_cells(cells: Cells) -> Cells:
    """Cells that are this worker's own; those in a folder are read."""
    if isinstance(cells, StoredCells):
        return cells.read()
    cells.starts, cells.indices = np.array(cells.starts), np.array(cells.indices)
    cells.values = np.array(cells.values)
    return cells


# ---- the plate: the dim whose rows are spread over workers, and where its shards begin ----


def plate_of_rows(program: Program) -> str | None:
    """The first dim of the largest data, if its rows can be separated everywhere."""
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
    mixed = any(_mixes(plate, factor) for factor in factors_of(program))
    return plate if seen and plain and not mixed else None


def factors_of(program: Program) -> list[Factor]:
    """All factors of all slots."""
    polynomials = program.wiring.polynomials.values()
    return [factor for each in polynomials for term in each.terms for factor in term.factors]


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


def axis_of(program: Program, plate: str, place: Place) -> int | None:
    """The axis of the plate, from the end, in an array of a table; None if it has none. Numbers of
    cells have one axis, that of the cells of all rows."""
    table, key = place
    name = key if isinstance(key, str) else key[-1] if table == "counts" else key[0]
    dims = program.storage.get(name, ())
    if table == "latent_counts":
        return -1 if plate in dims else None
    if table == "drawn":
        rule = program.wiring.rules[key]
        assert rule.drawn is not None
        if plate not in rule.drawn(program.network.nodes[name]):
            return None
    return dims.index(plate) - len(dims) if plate in dims else None


def shard_edges(starts: NDArray[np.int64], rows: int, workers: int) -> list[tuple[int, int]]:
    """``range(rows)`` in a limited number of ranges with about as many cells each. A range begins
    with a block; ``starts`` says where the cells of each row begin. No range has a single row,
    whose arrays would look like those of nodes without the plate."""
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
