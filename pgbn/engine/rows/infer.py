"""The posterior of all that belongs to new rows, given the rest of a network.

    p(nodes with the plate | data of a row, nodes without it)

by Gibbs sampling with the nodes without the plate given. Rows are independent given these, and each
draws from streams of its own data (`pgbn.samplers.random`). The result for a row is bit-identical
alone, in any batch, in any order, on any number of threads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import is_finite_number
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import (
    Coords,
    bind_indexes,
    complete_sizes,
    given_arrays,
    given_coords,
    read_coords,
    read_data,
    read_stack,
)
from pgbn.engine.first_layer.choice import MOST_TOPICS, Pattern, plain_pattern
from pgbn.engine.rows.gamma_chain import by_kernels, find_law
from pgbn.engine.rows.independent import check_own_values, hash_indexes, row_indexes, row_network
from pgbn.engine.rows.new_rows import Found, GivenBlocks, NewRows, Quantity, RowTask, Wanted
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.generate import Given, to_axes
from pgbn.engine.shards.worker import own_cells
from pgbn.errors import DataError, did_you_mean
from pgbn.network.network import Network
from pgbn.samplers.documents.sweeps import hash_documents
from pgbn.samplers.executor import SERIAL, Executor, Threads, executor_of
from pgbn.samplers.random import word_of
from pgbn.storage.read_limits import check_bytes

BATCH = 1 << 26  # bytes that the values of a batch may need, about
MOST_LABELS = 1 << 20  # tokens of a row that get labels of their own


def infer_rows(
    network: Network,
    data: Mapping[str, Any],
    given: Any,
    rows: str | None = None,
    burn_in: int = 200,
    draws: int = 200,
    seed: int = 0,
    nodes: Iterable[str] | None = None,
    quantiles: Iterable[float] = (),
    keep: str = "moments",
    threads: int | None = None,
    executor: Executor | None = None,
    proportions: bool = False,
    kernels: bool = True,
) -> NewRows:
    """See `pgbn.Network.infer`. ``kernels=False`` uses the general rules alone."""
    worker = executor_of(threads, executor)
    provided = set(data) if isinstance(data, Mapping) else set()
    network, data = bind_indexes(network, data)
    plate = network[network.observed[0]].axes[0] if rows is None else rows
    every = check_own_values(row_network(network, plate), plate)
    known = known_data(network, every, data)
    local = seen_network(network, every, known, plate)
    wanted = _wanted(local, nodes, quantiles, keep, proportions)
    blocks = GivenBlocks(_given_stacks(network, local, given), burn_in, draws)
    read = read_data(local, known)
    law = find_law(local, plate, read, blocks.stacks) if kernels else None
    about = {
        "network": every, "data": read, "coords": row_coords(every, known, given, plate),
        "given": blocks.stacks | further_given(every, blocks, given),
        "attributes": {"seed": seed, "burn_in": burn_in, "draws": draws},
    }  # fmt: skip
    task = RowTask(local, plate, blocks, wanted, seed, law)
    return sample_rows(task, read, worker, provided, about)


def sample_rows(
    task: RowTask, data: Mapping[str, Cells], executor: Executor, provided: Collection[str] = (),
    about: Mapping[str, Any] | None = None,
) -> NewRows:  # fmt: skip
    """New rows whose data and given values are checked. ``provided`` are the names in the data,
    ``about`` further parts of the result."""
    cells = {name: by_row(each, task.plate) for name, each in data.items()}
    rows, plate = count_rows_of(cells), task.plate
    about = {"empty": _empty_rows(cells), **(about or {"network": task.network, "data": data})}
    local, indexes = row_indexes(task.network, plate, rows, provided)
    task = replace(task, network=local)
    shapes = {name: each.shape for name, each in cells.items()} | task.given.shapes
    sizes = complete_sizes(local, {plate: 1}, shapes)
    out = _empty_results(task, sizes | {plate: rows})
    found = by_kernels(task, cells, executor)
    if found is None:
        _run_batches(task, cells, indexes, sizes, executor, out)
    return _result(task, found or out, about)


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
    for name in network.given:
        if name not in values:
            raise DataError(
                f"given: no value of {name!r}, on which the rows depend; give posterior means or "
                f"draws, such as net.sample(..., keep=[{', '.join(map(repr, network.given))}])"
            )
    return Given(network, {name: values[name] for name in network.given}).stacks


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
    """The network of the rows without the observed nodes that have no data. A node without data,
    such as the labels of new documents, is no evidence about the rows: p(h | x) = ∫ p(h, y | x)
    dy."""
    unseen = [name for name in local.observed if isinstance(data, Mapping) and name not in data]
    if not unseen or len(unseen) == len(local.observed):
        return local
    return row_network(network, plate, [name for name in local.observed if name not in unseen])


def row_coords(network: Network, data: Mapping[str, Any], given: Any, plate: str) -> Coords:
    """The labels of the new rows, and those of other dims from ``given``. They are rejected if both
    name a dim differently: columns in another order are other columns."""
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


def further_given(network: Network, held: Given, given: Any) -> dict[str, NDArray[Any]]:
    """The given values that only data without these rows depend on, to predict these data."""
    values = given_arrays(given)
    names = [name for name in network.given if name not in held.stacks and name in values]
    stacks = {name: read_stack(network[name], values[name])[0] for name in names}
    return {name: stack for name, stack in stacks.items() if len(stack) in (1, held.count)}


# ---- data seen row by row: each row of a plate is a replicate, with a hash of its data ----------


def by_row(cells: Cells, rows: str) -> Cells:
    """The same data with a replicate for each row along the dim, which then has size 1."""
    axis = cells.dims.index(rows)
    shape = (*cells.shape[:axis], 1, *cells.shape[axis + 1 :])
    if axis == 0 and len(cells.shape) > 1:  # the rows are already one after another
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
        words = cells.values.astype(np.float64).view(np.uint64)  # integers or not, as the batch
        if cells.missing is not None:
            words = np.where(cells.missing, ~words, words)
        own = np.empty(cells.replicates, np.uint64)
        edges = np.ascontiguousarray(cells.indptr[::each])
        SERIAL.rows(hash_documents, cells.replicates, 0, edges, inside, words, own)
        total = (total + np.uint64(word_of(name))) * np.uint64(0x9E3779B97F4A7C15) ^ own
    return total


# ---- batches: rows that are run together, here or by a worker -----------------------------------


class RowBatch(NamedTuple):
    """The data of ``rows`` rows; a single row is repeated, so that sums are as in any batch."""

    cells: Mapping[str, Cells]
    hashes: NDArray[np.uint64]
    indexes: Mapping[str, NDArray[np.int64]]
    sampler: str
    rows: int


def _run_batches(
    task: RowTask, cells: Mapping[str, Cells], indexes: Mapping[str, NDArray[np.int64]],
    sizes: Mapping[str, int], executor: Executor, out: Mapping[Quantity, Found],
) -> None:  # fmt: skip
    """Write the results of all rows to ``out``. A batch depends on its own rows alone, and a row is
    identified by its content. The results of a row are bit-identical in every batch and on every
    worker."""
    hashes = hash_indexes(hash_rows(cells), indexes)
    batches = _batches(task, cells, sizes)

    def batch(sampler: str, chosen: NDArray[np.int64]) -> RowBatch:
        padded = np.repeat(chosen, 2) if chosen.size == 1 else chosen  # sums as in any batch
        part = {name: take_rows(each, padded) for name, each in cells.items()}
        numbers = {name: array[padded] for name, array in indexes.items()}
        return RowBatch(part, hashes[padded], numbers, sampler, chosen.size)

    def write(found: Mapping[Quantity, Found], chosen: NDArray[np.int64]) -> None:
        for quantity, part in found.items():
            axis = task.network[quantity.name].axes.index(task.plate)
            at: Any = (..., chosen, *[slice(None)] * (part.mean.ndim - 1 - axis))
            for target, value in zip(out[quantity], part, strict=True):
                if target is not None:
                    target[at] = value

    pool = executor.worker_pool()
    if pool is None:
        for sampler, chosen in batches:
            write(run_batch(task, batch(sampler, chosen), executor), chosen)
        return
    shared = pool.share(task)
    pieces = [(sampler, piece) for sampler, chosen in batches
              for piece in np.array_split(chosen, min(pool.number, chosen.size))]  # fmt: skip
    jobs = ((pool.threads, shared, batch(*piece)) for piece in pieces)
    for (_, chosen), found in zip(pieces, pool.map(run_remote_batch, jobs), strict=True):
        write(found, chosen)


def run_batch(task: RowTask, batch: RowBatch, executor: Executor) -> dict[Quantity, Found]:
    """Run a batch and return the wanted results of its rows."""
    given, wanted = task.given, task.wanted
    chain = Chain._of_rows(task.network, batch.cells, given, batch.hashes, task.seed, batch.sampler,
                          executor, batch.indexes)  # fmt: skip
    quantities = wanted.quantities
    mean: dict[Quantity, Any] = dict.fromkeys(quantities, 0.0)
    square: dict[Quantity, Any] = dict.fromkeys(quantities, 0.0)
    kept: dict[Quantity, list[Any]] = {each: [] for each in quantities if not each.share}
    done = 0
    for _ in range(given.count):
        chain.sweep(given.settle)
        for _ in range(given.each):
            chain.sweep()
            chain._refresh(wanted.names)
            done += 1
            for each in quantities:
                value = _rows_of(chain, each, task.plate, batch.rows)
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
    state: Any, threads: int, task: RowTask, batch: RowBatch
) -> dict[Quantity, Found]:
    """`run_batch` by a worker, which keeps nothing of it."""
    cells = {name: own_cells(each) for name, each in batch.cells.items()}
    return run_batch(task, batch._replace(cells=cells), Threads(threads))


def _rows_of(chain: Chain, quantity: Quantity, plate: str, number: int) -> NDArray[np.float64]:
    """The values of a node, with its rows, which are replicates, along its plate."""
    name = quantity.name
    axis = chain.network[name].axes.index(plate)
    value = to_axes(chain._program, name, chain._program.values[name])[:number]
    if quantity.share:
        total = value.sum(axis=tuple(range(1, value.ndim)), keepdims=True)
        value = value / np.maximum(total, np.finfo(np.float64).tiny)
    return np.moveaxis(value.take(0, axis + 1), 0, axis)


def _batches(
    task: RowTask, cells: Mapping[str, Cells], sizes: Mapping[str, int]
) -> list[tuple[str, NDArray[np.int64]]]:
    """Rows that are run together, and the sampler of their first layer. The choice depends on each
    row alone, so that it is the same in any batch. Rows with missing cells or very many tokens,
    which have no labels, are drawn by the general rules."""
    network, wanted, number = task.network, task.wanted, count_rows_of(cells)
    pattern, special = plain_pattern(network.wiring), np.zeros(number, bool)
    sampler, tokens = "general", np.zeros(number)
    if isinstance(pattern, Pattern) and sizes[pattern.topic] < MOST_TOPICS:
        sampler, own = "partial", cells[pattern.observed]
        edges = own.indptr[:: own.rows // own.replicates]
        running = np.concatenate(([0.0], np.cumsum(own.values, dtype=np.float64)))
        tokens = np.diff(running[edges])
        special |= tokens > MOST_LABELS
        if own.missing is not None:
            special |= np.diff(np.concatenate(([0], np.cumsum(own.missing)))[edges]) > 0
    elif isinstance(pattern, Pattern):
        sampler = "composed"
    each = sum(prod(sizes.get(d, 1) for d in network[n].axes) for n in network.free)
    stored = task.given.draws if wanted.levels or wanted.draws else 0
    stored *= sum(prod(sizes.get(d, 1) for d in network[n].axes) for n in wanted.names)
    stored_cells = sum(np.diff(c.indptr[:: c.rows // c.replicates]) for c in cells.values())
    need = 64.0 * each + 8.0 * stored + 64.0 * stored_cells + 24.0 * tokens
    out = []
    for kind, group in ((sampler, ~special), ("composed", special)):
        chosen = np.flatnonzero(group)
        batch = (np.cumsum(need[chosen]) // BATCH).astype(np.int64)
        out += [(kind, chosen[batch == which]) for which in np.unique(batch)]
    return out


# ---- results ------------------------------------------------------------------------------------


def _empty_rows(cells: Mapping[str, Cells]) -> NDArray[np.int64]:
    """The rows without any datum that is not 0."""
    stored = sum(np.diff(each.indptr[:: each.rows // each.replicates]) for each in cells.values())
    return np.flatnonzero(stored == 0)


def _empty_results(task: RowTask, sizes: Mapping[str, int]) -> dict[Quantity, Found]:
    """Zeros for all results, rejected if they do not fit into memory."""
    wanted, count = task.wanted, task.given.draws if task.wanted.draws else 0
    shapes = {n: tuple(sizes[dim] for dim in task.network[n].axes) for n in wanted.names}
    copies = 2 * (wanted.values + wanted.proportions) + len(wanted.levels) + count
    need = 8 * copies * sum(prod(shape) for shape in shapes.values())
    check_bytes(f"new rows of {', '.join(wanted.names)}", need,
                "give fewer rows at a time, or ask for fewer nodes (nodes=)")  # fmt: skip
    out = {}
    for each in wanted.quantities:
        shape, kept = shapes[each.name], not each.share
        quantiles = np.zeros((len(wanted.levels), *shape)) if kept and wanted.levels else None
        draws = np.zeros((count, *shape)) if kept and count else None
        out[each] = Found(np.zeros(shape), np.zeros(shape), quantiles, draws)
    return out


def _result(task: RowTask, found: Mapping[Quantity, Found], about: Mapping[str, Any]) -> NewRows:
    network, wanted = task.network, task.wanted
    values, shares = ({each.name: part for each, part in found.items() if each.share == share}
                      for share in (False, True))  # fmt: skip
    return NewRows(
        {name: part.mean for name, part in values.items()},
        {name: part.sd for name, part in values.items()},
        {name: network[name].axes for name in wanted.names},
        {n: part.quantiles for n, part in values.items() if part.quantiles is not None},
        {n: part.draws for n, part in values.items() if part.draws is not None},
        wanted.levels,
        network.left_out,
        proportions={name: part.mean for name, part in shares.items()},
        proportions_sd={name: part.sd for name, part in shares.items()},
        **about,
    )
