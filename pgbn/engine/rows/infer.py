"""The posterior of all that belongs to new rows, given the rest of a network.

    p(nodes with the plate | data of a row, nodes without it)

by Gibbs sampling with the nodes without the plate held. Rows are independent given these, and each
draws from streams of its own data (`pgbn.samplers.content`): the result for a row is the same
bits alone, in any batch, in any order, on any number of threads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import is_finite_number
from pgbn.engine.compile.sizes import complete_sizes
from pgbn.engine.data.cells import read_data
from pgbn.engine.data.coords import (
    Coords,
    bind_indexes,
    given_arrays,
    given_coords,
    read_coords,
    read_stack,
)
from pgbn.engine.data.nonzero import Cells
from pgbn.engine.first_layer.choice import MOST_TOPICS
from pgbn.engine.first_layer.pattern import Pattern, plain_pattern
from pgbn.engine.rows.gamma_chain import CountLaw, chain_moments, find_chain, find_law
from pgbn.engine.rows.independent import check_own_values, row_indexes, row_network
from pgbn.engine.rows.new_rows import NewRows
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.generate import Given, to_axes
from pgbn.engine.shards.worker import own_cells
from pgbn.errors import DataError, did_you_mean
from pgbn.network.network import Network
from pgbn.samplers.documents.scratch import Sweeps
from pgbn.samplers.documents.sweeps import hash_documents
from pgbn.samplers.executor import SERIAL, Executor, Threads, executor_of
from pgbn.samplers.random import word_of
from pgbn.storage.read_limits import check_bytes

# ---- batches ------------------------------------------------------------------------------------
#
# Rows that are run together, here or by a worker: what is asked of them, and what is found.
#
# A batch depends on its own rows alone, and a row is known by its content: whoever runs it, beside
# whichever others, finds the same bits.


class Quantity(NamedTuple):
    """The value of a node, or each row of it divided by its sum, as θ_j / θ_·j."""

    name: str
    share: bool


@dataclass(frozen=True)
class Wanted:
    """What is asked for: the names of nodes, the levels of quantiles, whether all draws, and the
    moments of ``proportions``, of ``values``, or of both."""

    names: tuple[str, ...]
    levels: tuple[float, ...] = ()
    draws: bool = False
    proportions: bool = False
    values: bool = True

    @property
    def quantities(self) -> list[Quantity]:
        """All quantities with moments."""
        kinds = [False] * self.values + [True] * self.proportions
        return [Quantity(name, share) for name in self.names for share in kinds]


class GivenBlocks(Given):
    """Draws of what is given, each for a block of sweeps: some to settle, then the samples.

    There are ``samples`` in all, an equal number for each draw, after ``burn_in`` sweeps given the
    first draw and after ``settle`` sweeps, its share of them, given each further one.
    """

    def __init__(
        self, stacks: dict[str, NDArray[Any]], burn_in: int, samples: int, settle: int | None = None
    ) -> None:
        self.stacks = stacks
        self.count = max(map(len, stacks.values()), default=1)
        self.each, self.burn_in = -(-samples // self.count), burn_in
        self.settle = -(-burn_in // self.count) if settle is None else settle

    def number(self, sweep: int) -> int:
        beyond = sweep - self.burn_in - self.each
        return 0 if beyond <= 0 else (beyond - 1) // (self.settle + self.each) + 1

    def runs(self) -> list[int]:
        """The sweeps to settle before the samples of each draw."""
        return [self.burn_in, *[self.settle] * (self.count - 1)]


class RowBatch(NamedTuple):
    """The data of ``rows`` rows; a single one stands there twice, so that sums are as in any
    batch."""

    cells: Mapping[str, Cells]
    hashes: NDArray[np.uint64]
    indexes: Mapping[str, NDArray[np.int64]]
    layer1: str
    rows: int


class Found(NamedTuple):
    """Of one node: moments, and quantiles and draws if they were asked for."""

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    quantiles: NDArray[np.float64] | None
    draws: NDArray[np.float64] | None


def run_batch(
    network: Network,
    plate: str,
    held: GivenBlocks,
    wanted: Wanted,
    seed: int,
    batch: RowBatch,
    executor: Executor,
) -> dict[Quantity, Found]:
    """Run a batch; what is asked for of its rows."""
    chain = Chain.of_rows(network, batch.cells, held, batch.hashes, seed, batch.layer1, executor,
                          batch.indexes)  # fmt: skip
    quantities = wanted.quantities
    mean: dict[Quantity, Any] = dict.fromkeys(quantities, 0.0)
    square: dict[Quantity, Any] = dict.fromkeys(quantities, 0.0)
    kept: dict[Quantity, list[Any]] = {each: [] for each in quantities if not each.share}
    done = 0
    for settle in held.runs():
        chain.sweep(settle)
        for _ in range(held.each):
            chain.sweep()
            chain.refresh(wanted.names)
            done += 1
            for each in quantities:
                value = _rows_of(chain, each, plate, batch.rows)
                change = value - mean[each]
                mean[each] = mean[each] + change / done
                square[each] = square[each] + change * (value - mean[each])
                if each in kept and (wanted.levels or wanted.draws):
                    kept[each].append(value)
    return {
        each: Found(
            mean[each],
            np.sqrt(square[each] / done),
            np.quantile(kept[each], wanted.levels, axis=0) if kept.get(each) and wanted.levels
            else None,
            np.stack(kept[each]) if kept.get(each) and wanted.draws else None,
        )
        for each in quantities
    }  # fmt: skip


def run_remote_batch(
    state: Any, threads: int, about: tuple[Network, str, GivenBlocks, Wanted, int], batch: RowBatch
) -> dict[Quantity, Found]:
    """`run_batch` by a worker, which keeps nothing of it."""
    cells = {name: own_cells(each) for name, each in batch.cells.items()}
    return run_batch(*about, batch._replace(cells=cells), Threads(threads))


def _rows_of(chain: Chain, quantity: Quantity, plate: str, number: int) -> NDArray[np.float64]:
    """The values of a node, with its rows, which are replicates, along its plate."""
    name = quantity.name
    axis = chain.network[name].axes.index(plate)
    value = to_axes(chain.program, name, chain.program.values[name])[:number]
    if quantity.share:
        total = value.sum(axis=tuple(range(1, value.ndim)), keepdims=True)
        value = value / np.maximum(total, np.finfo(np.float64).tiny)
    return np.moveaxis(value.take(0, axis + 1), 0, axis)


# ---- what is given of new rows ------------------------------------------------------------------
#
# What is known of new rows: their data, and the labels along their dims.
#
# An observed node of which nothing is known for new rows, such as the labels of new documents,
# tells nothing about them: p(h | x) = ∫ p(h, y | x) dy, and y is left out.


def known_data(network: Network, local: Network, data: Any) -> Any:
    """The data of the rows among ``data``, which may hold those of other plates and, as
    `Network.generate` returns them, values of latent nodes."""
    if not isinstance(data, Mapping):
        return data
    for name in data:
        if name not in network.declared:
            raise DataError(f"data: no node {name!r}.{did_you_mean(name, local.observed)}")
    return {name: value for name, value in data.items() if name in local.observed}


def seen_network(network: Network, local: Network, data: Any, plate: str) -> Network:
    """The network of the rows without the observed nodes that have no data."""
    unseen = [name for name in local.observed if isinstance(data, Mapping) and name not in data]
    if not unseen or len(unseen) == len(local.observed):
        return local
    return row_network(network, plate, [name for name in local.observed if name not in unseen])


def row_coords(network: Network, data: Mapping[str, Any], given: Any, plate: str) -> Coords:
    """The labels of the new rows, and of other dims those that ``given`` brings with it. Refused
    where both name a dim, and not alike: columns in another order are other columns."""
    out = read_coords(network, data)
    values = given_arrays(given)
    names = [n for n in values if n in network.nodes and plate not in network.nodes[n].axes]
    known = given_coords(network, given, names)
    for dim in known:
        if out.setdefault(dim, known[dim]) != known[dim]:
            raise DataError(
                f"data: the labels along {dim!r} are not those of the draws in given=; bring the "
                "new data into their order, or give arrays without labels"
            )
    return out


def beside(network: Network, held: Given, given: Any) -> dict[str, NDArray[Any]]:
    """The given values of what only data depend on that the rows do not have: to predict these."""
    values = given_arrays(given)
    names = [name for name in network.held if name not in held.stacks and name in values]
    stacks = {name: read_stack(network[name], values[name])[0] for name in names}
    return {name: stack for name, stack in stacks.items() if len(stack) in (1, held.count)}


# ---- cells --------------------------------------------------------------------------------------
#
# Data seen row by row: each row of a plate is a replicate, known by a hash of its data.


def by_row(cells: Cells, rows: str) -> Cells:
    """The same data with a replicate for each row along the dim, which then has size 1."""
    axis = cells.dims.index(rows)
    shape = (*cells.shape[:axis], 1, *cells.shape[axis + 1 :])
    if axis == 0 and len(cells.shape) > 1:  # the rows lie one after another as it is
        return Cells(cells.dims, shape, cells.shape[0], cells.indptr, cells.indices, cells.values,
                     cells.missing)  # fmt: skip
    place = list(np.unravel_index(cells.cell_rows() * cells.columns + cells.indices, cells.shape))
    replicate, place[axis] = place[axis], np.zeros_like(place[axis])
    columns = shape[-1]
    inside = np.ravel_multi_index(tuple(place), shape)
    lines = prod(shape) // columns
    row, column = replicate * lines + inside // columns, inside % columns
    order = np.lexsort((column, row))
    indptr = np.zeros(cells.shape[axis] * lines + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=indptr.size - 1), out=indptr[1:])
    missing = None if cells.missing is None else cells.missing[order]
    return Cells(cells.dims, shape, cells.shape[axis], indptr, column[order].astype(np.int32),
                 cells.values[order], missing)  # fmt: skip


def count_rows_of(data: Mapping[str, Cells]) -> int:
    """How many rows there are: the same number in all data."""
    counts = {cells.replicates: name for name, cells in data.items()}
    if len(counts) > 1:
        (one, first), (other, second), *_ = counts.items()
        raise DataError(f"data: {one} rows of {first!r}, but {other} of {second!r}; give as many")
    return next(iter(counts))


def take_rows(cells: Cells, chosen: NDArray[np.int64]) -> Cells:
    """Some of the rows, in this order."""
    each = cells.rows // cells.replicates
    lines = (chosen[:, None] * each + np.arange(each)).reshape(-1)
    length = np.diff(cells.indptr)[lines]
    indptr = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
    places = np.arange(indptr[-1]) + np.repeat(cells.indptr[lines] - indptr[:-1], length)
    missing = None if cells.missing is None else cells.missing[places]
    if missing is not None and not missing.any():
        missing = None
    return Cells(cells.dims, cells.shape, len(chosen), indptr, cells.indices[places],
                 cells.values[places], missing)  # fmt: skip


def hash_rows(data: Mapping[str, Cells]) -> NDArray[Any]:
    """A hash of the data of each row: of all nodes, their cells, and which are missing."""
    total = np.zeros(count_rows_of(data), np.uint64)
    for name, cells in data.items():
        each = cells.rows // cells.replicates
        inside = cells.cell_rows() % each * cells.columns + cells.indices
        words = cells.values.astype(np.float64).view(np.uint64)  # whole or not, as the batch is
        if cells.missing is not None:
            words = np.where(cells.missing, ~words, words)
        own = np.empty(cells.replicates, np.uint64)
        edges = np.ascontiguousarray(cells.indptr[::each])
        SERIAL.rows(hash_documents, cells.replicates, 0, edges, inside, words, own)
        total = (total + np.uint64(word_of(name))) * np.uint64(0x9E3779B97F4A7C15) ^ own
    return total


# ---- infer --------------------------------------------------------------------------------------


BATCH = 1 << 26  # bytes that the values of a batch may need, about
MOST_LABELS = 1 << 20  # tokens of a row that get labels of their own


def infer_rows(
    network: Network,
    data: Mapping[str, Any],
    given: Any,
    rows: str | None = None,
    burn_in: int = 200,
    samples: int = 200,
    seed: int = 0,
    nodes: Iterable[str] | None = None,
    quantiles: Iterable[float] = (),
    keep: str = "moments",
    threads: int | None = None,
    executor: Executor | None = None,
    kernels: bool = True,
    proportions: bool = False,
) -> NewRows:
    """See `pgbn.Network.infer`."""
    worker = executor_of(threads, executor)
    told = set(data) if isinstance(data, Mapping) else set()
    network, data = bind_indexes(network, data)
    plate = network[network.observed[0]].axes[0] if rows is None else rows
    whole = check_own_values(row_network(network, plate), plate)
    known = known_data(network, whole, data)
    local = seen_network(network, whole, known, plate)
    wanted = _wanted(local, nodes, quantiles, keep, proportions)
    held = GivenBlocks(_given_stacks(network, local, given), burn_in, samples)
    read = read_data(local, known)
    about = {
        "network": whole, "data": read, "coords": row_coords(whole, known, given, plate),
        "held": held.stacks | beside(whole, held, given),
        "attributes": {"seed": seed, "burn_in": burn_in, "samples": samples},
    }  # fmt: skip
    law = find_law(local, plate, read, held.stacks) if kernels else None
    return sample_rows(local, plate, read, held, wanted, seed, worker, law, told, about)


def sample_rows(
    local: Network,
    plate: str,
    data: Mapping[str, Cells],
    held: GivenBlocks,
    wanted: Wanted,
    seed: int,
    executor: Executor,
    law: CountLaw | None,
    told: Collection[str] = (),
    about: Mapping[str, Any] | None = None,
) -> NewRows:
    """New rows of a `row_network`, whose data and given values are checked. ``law`` is how kernels
    draw the counts behind the data; None: no kernel. ``about`` are further parts of the result."""
    cells = {name: by_row(each, plate) for name, each in data.items()}
    rows = count_rows_of(cells)
    about = {"empty": _empty_rows(cells), **(about or {"network": local, "data": data})}
    local, indexes = row_indexes(local, plate, rows, told)
    sizes = complete_sizes(local, {plate: 1}, {n: c.shape for n, c in cells.items()} | held.shapes)
    shapes = _shapes(local, wanted, sizes | {plate: rows}, held)
    found = None if law is None else by_kernels(local, plate, cells, held, wanted, seed, executor,
                                                law)  # fmt: skip
    if found is not None:
        return _result(local, wanted, found, about)
    out = _Collected(local, wanted, shapes, plate, held.each * held.count)
    hashes = indexes.hashed(hash_rows(cells))
    pool = executor.worker_pool()
    batches = _batches(local, cells, sizes, wanted, held)
    shared = local, plate, held, wanted, seed

    def batch(layer1: str, chosen: NDArray[np.int64]) -> RowBatch:
        padded = np.repeat(chosen, 2) if chosen.size == 1 else chosen  # sums as in any batch
        part = {name: take_rows(each, padded) for name, each in cells.items()}
        return RowBatch(part, hashes[padded], indexes.take(padded), layer1, chosen.size)

    if pool is None:
        for layer1, chosen in batches:
            out.take(run_batch(*shared, batch(layer1, chosen), executor), chosen)
    else:
        about_all = pool.share(shared)
        pieces = [(layer1, piece) for layer1, chosen in batches
                  for piece in np.array_split(chosen, min(pool.number, chosen.size))]  # fmt: skip
        jobs = ((pool.threads, about_all, batch(*piece)) for piece in pieces)
        for (_, chosen), found in zip(pieces, pool.map(run_remote_batch, jobs), strict=True):
            out.take(found, chosen)
    return _result(local, wanted, out.found, about)


def _wanted(
    network: Network,
    nodes: Iterable[str] | None,
    quantiles: Iterable[float],
    keep: str,
    proportions: bool,
) -> Wanted:
    names = network.free if nodes is None else [nodes] if isinstance(nodes, str) else list(nodes)
    for name in names:
        if name not in network.free:
            raise DataError(
                f"nodes: {name!r} does not belong to the rows.{did_you_mean(name, network.free)}"
            )
    levels = tuple(quantiles) if np.iterable(quantiles) else (quantiles,)
    for level in levels:
        if not is_finite_number(level) or not 0 <= level <= 1:
            raise DataError(f"quantiles: {level!r} must be a number from 0 to 1, such as 0.05")
    if keep not in ("moments", "draws"):
        raise DataError(f"keep={keep!r}: must be 'moments' or 'draws'")
    return Wanted(tuple(names), tuple(map(float, levels)), keep == "draws", proportions)


def _given_stacks(whole: Network, network: Network, given: Any) -> dict[str, NDArray[Any]]:
    """The values of the nodes without the plate; those of nodes with it belong to other rows."""
    values = given_arrays(given)
    for name in values:
        if name not in whole.declared and isinstance(given, Mapping):
            raise DataError(f"given: no node {name!r}.{did_you_mean(name, whole.declared)}")
    for name in network.held:
        if name not in values:
            raise DataError(
                f"given: no value of {name!r}, on which the rows depend; give posterior means or "
                f"draws, such as net.sample(..., keep=[{', '.join(map(repr, network.held))}])"
            )
    return Given(network, {name: values[name] for name in network.held}).stacks


def _batches(
    network: Network,
    cells: Mapping[str, Cells],
    sizes: Mapping[str, int],
    wanted: Wanted,
    held: GivenBlocks,
) -> list[tuple[str, NDArray[np.int64]]]:
    """Rows that are run together, and the sampler of their first layer. That goes by a row alone,
    so that it is the same in any batch: rows with missing cells or very many tokens, which have no
    labels, are drawn by the general rules."""
    number = count_rows_of(cells)
    pattern, special = plain_pattern(network.wiring), np.zeros(number, bool)
    layer1, tokens = "general", np.zeros(number)
    if isinstance(pattern, Pattern) and _topics(network, pattern, sizes) < MOST_TOPICS:
        layer1, own = "partial", cells[pattern.observed]
        edges = own.indptr[:: own.rows // own.replicates]
        running = np.concatenate(([0.0], np.cumsum(own.values, dtype=np.float64)))
        tokens = np.diff(running[edges])
        special |= tokens > MOST_LABELS
        if own.missing is not None:
            special |= np.diff(np.concatenate(([0], np.cumsum(own.missing)))[edges]) > 0
    elif isinstance(pattern, Pattern):
        layer1 = "composed"
    each = sum(prod(sizes.get(d, 1) for d in network[n].axes) for n in network.free)
    stored = held.each * held.count if wanted.levels or wanted.draws else 0
    stored *= sum(prod(sizes.get(d, 1) for d in network[n].axes) for n in wanted.names)
    stored_cells = sum(np.diff(c.indptr[:: c.rows // c.replicates]) for c in cells.values())
    need = 64.0 * each + 8.0 * stored + 64.0 * stored_cells + 24.0 * tokens
    out = []
    for kind, group in ((layer1, ~special), ("composed", special)):
        chosen = np.flatnonzero(group)
        batch = (np.cumsum(need[chosen]) // BATCH).astype(np.int64)
        out += [(kind, chosen[batch == which]) for which in np.unique(batch)]
    return out


def _topics(network: Network, pattern: Pattern, sizes: Mapping[str, int]) -> int:
    axes = network[pattern.scores].axes
    return sizes[axes[-1]]


def _empty_rows(cells: Mapping[str, Cells]) -> NDArray[np.int64]:
    """The rows without any datum that is not 0."""
    stored = sum(np.diff(each.indptr[:: each.rows // each.replicates]) for each in cells.values())
    return np.flatnonzero(stored == 0)


def _shapes(
    network: Network, wanted: Wanted, sizes: Mapping[str, int], held: GivenBlocks
) -> dict[str, tuple[int, ...]]:
    """The shapes of all that is asked for, rejected where memory has no place for it."""
    shapes = {name: tuple(sizes[dim] for dim in network[name].axes) for name in wanted.names}
    copies = 2 * (wanted.values + wanted.proportions) + len(wanted.levels)
    copies += held.each * held.count if wanted.draws else 0
    need = 8 * copies * sum(prod(shape) for shape in shapes.values())
    plates = ", ".join(wanted.names)
    check_bytes(f"new rows of {plates}", need,
                "give fewer rows at a time, or ask for fewer nodes (nodes=)")  # fmt: skip
    return shapes


class _Collected:
    """Moments, quantiles and draws, filled batch by batch."""

    def __init__(
        self,
        network: Network,
        wanted: Wanted,
        shapes: Mapping[str, tuple[int, ...]],
        plate: str,
        count: int,
    ) -> None:
        self.network, self.plate = network, plate
        self.found: dict[Quantity, Found] = {}
        for each in wanted.quantities:
            shape, kept = shapes[each.name], not each.share
            self.found[each] = Found(
                np.zeros(shape),
                np.zeros(shape),
                np.zeros((len(wanted.levels), *shape)) if kept and wanted.levels else None,
                np.zeros((count, *shape)) if kept and wanted.draws else None,
            )

    def take(self, found: Mapping[Quantity, Found], chosen: NDArray[np.int64]) -> None:
        """Write what was found in a batch to its rows."""
        for quantity, part in found.items():
            axis = self.network[quantity.name].axes.index(self.plate)
            at: Any = (..., chosen, *[slice(None)] * (part.mean.ndim - 1 - axis))
            for target, value in zip(self.found[quantity], part, strict=True):
                if target is not None:
                    target[at] = value


def by_kernels(
    network: Network,
    plate: str,
    cells: Mapping[str, Cells],
    held: GivenBlocks,
    wanted: Wanted,
    seed: int,
    executor: Executor,
    law: CountLaw,
) -> dict[Quantity, Found] | None:
    """The moments by the kernels of a chain of gamma layers; None where there is no such chain, or
    where more is asked for."""
    pattern = find_chain(network, plate)
    if isinstance(pattern, str) or not set(wanted.names) <= set(pattern.scores):
        return None
    if wanted.levels or wanted.draws:
        return None
    own = cells[pattern.observed]
    chains = [pattern.chain(held.values(number), law) for number in range(held.count)]
    widths = [len(each) if name in wanted.names else 0
              for name, each in zip(pattern.scores, chains[0].phi, strict=True)]  # fmt: skip
    moments = chain_moments(own, widths, wanted.proportions, wanted.values)
    for number, (chain, settle) in enumerate(zip(chains, held.runs(), strict=True)):
        chain.run(own, Sweeps(settle, held.each), moments, seed, executor, number)
    found = {}
    for each in wanted.quantities:
        start = moments.column[pattern.scores.index(each.name)]
        place = slice(start, start + widths[pattern.scores.index(each.name)])
        both = (moments.share, moments.share_square) if each.share else (
            moments.unit, moments.unit_square)  # fmt: skip
        mean, square = (sums[:, place] / held.count for sums in both)
        found[each] = Found(mean, np.sqrt(np.maximum(square - mean**2, 0.0)), None, None)
    return found


def _result(
    network: Network, wanted: Wanted, found: Mapping[Quantity, Found], about: Mapping[str, Any]
) -> NewRows:
    values, shares = ({each.name: part for each, part in found.items() if each.share == share}
                      for share in (False, True))  # fmt: skip
    return NewRows(
        {name: part.mean for name, part in values.items()},
        {name: part.sd for name, part in values.items()},
        {name: network[name].axes for name in wanted.names},
        {n: part.quantiles for n, part in values.items() if part.quantiles is not None},
        {n: part.draws for n, part in values.items() if part.draws is not None},
        wanted.levels,
        network.held,
        network.left_out,
        proportions={name: part.mean for name, part in shares.items()},
        proportions_sd={name: part.sd for name, part in shares.items()},
        **about,
    )
