"""The posterior of all that belongs to new rows, given the rest of a network.

    p(nodes with the plate | data of a row, nodes without it)

by Gibbs sampling with the nodes without the plate held. Rows are independent given these, and each
draws from streams of its own data (`pgbn.samplers.content`): the result for a row is the same
bits alone, in any batch, in any order, on any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, check_seed, is_finite_number
from pgbn.engine.compile.sizes import complete_sizes
from pgbn.engine.data.cells import Cells, read_data
from pgbn.engine.data.indexes import bind_indexes
from pgbn.engine.data.stacked import given_arrays
from pgbn.engine.first_layer.choice import MOST_TOPICS
from pgbn.engine.first_layer.marginal import plain_pattern
from pgbn.engine.first_layer.pattern import Pattern
from pgbn.engine.rows.batches import (
    Found,
    GivenBlocks,
    RowBatch,
    Wanted,
    run_batch,
    run_batch_afar,
)
from pgbn.engine.rows.categories import row_indexes
from pgbn.engine.rows.cells import by_row, count_rows_of, hash_rows, take_rows
from pgbn.engine.rows.gamma_chain import find_chain
from pgbn.engine.rows.independent import check_own_values, row_network
from pgbn.engine.rows.known import beside, known_data, row_coords, seen_network
from pgbn.engine.rows.result import NewRows
from pgbn.errors import DataError, did_you_mean
from pgbn.network.network import Network
from pgbn.samplers.documents.scratch import Sweeps
from pgbn.samplers.executor import Executor, executor_of
from pgbn.samplers.hands import hand_out, hands_of
from pgbn.storage.memory import check_bytes

__all__ = ["infer_rows"]

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
) -> NewRows:
    """See `pgbn.Network.infer`."""
    check_integer("burn_in", burn_in, 0)
    check_integer("samples", samples, 1)
    seed, worker = check_seed(seed), executor_of(threads, executor)
    told = set(data) if isinstance(data, Mapping) else set()
    network, data = bind_indexes(network, data)
    plate = network[network.observed[0]].axes[0] if rows is None else rows
    whole = check_own_values(row_network(network, plate), plate)
    known = known_data(network, whole, data)
    local = seen_network(network, whole, known, plate)
    wanted = _wanted(local, nodes, quantiles, keep)
    held = _held(network, local, given)
    held.plan(burn_in, samples)
    read = read_data(local, known)
    cells = {name: by_row(each, plate) for name, each in read.items()}
    local, indexes = row_indexes(local, plate, count_rows_of(cells), told)
    sizes = complete_sizes(local, {plate: 1}, {n: c.shape for n, c in cells.items()} | held.shapes)
    out = _Collected(local, wanted, sizes, plate, count_rows_of(cells), held)
    about = {
        "network": whole, "data": read, "coords": row_coords(whole, known, given, plate),
        "held": held.stacks | beside(whole, held, given),
        "attributes": {"seed": seed, "burn_in": burn_in, "samples": samples},
    }  # fmt: skip
    if kernels and out.by_kernels(cells, seed, worker):
        return out.result(about)
    hashes = indexes.hashed(hash_rows(cells))
    hands = hands_of(worker)
    batches = _batches(local, cells, sizes, wanted, held)
    shared = local, plate, held, wanted, seed

    def batch(layer1: str, chosen: NDArray[np.int64]) -> RowBatch:
        padded = np.repeat(chosen, 2) if chosen.size == 1 else chosen  # sums as in any batch
        part = {name: take_rows(each, padded) for name, each in cells.items()}
        return RowBatch(part, hashes[padded], indexes.take(padded), layer1, chosen.size)

    if hands is None:
        for layer1, chosen in batches:
            out.take(run_batch(*shared, batch(layer1, chosen), worker), chosen)
    else:
        about_all = hands.share(shared)
        pieces = [(layer1, piece) for layer1, chosen in batches
                  for piece in np.array_split(chosen, min(hands.number, chosen.size))]  # fmt: skip
        jobs = ((hands.threads, about_all, batch(*piece)) for piece in pieces)
        for (_, chosen), found in zip(pieces, hand_out(hands, run_batch_afar, jobs), strict=True):
            out.take(found, chosen)
    return out.result(about)


def _wanted(
    network: Network, nodes: Iterable[str] | None, quantiles: Iterable[float], keep: str
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
    return Wanted(tuple(names), tuple(map(float, levels)), keep == "draws")


def _held(whole: Network, network: Network, given: Any) -> GivenBlocks:
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
    return GivenBlocks(network, {name: values[name] for name in network.held})


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


class _Collected:
    """Moments, quantiles and draws, filled batch by batch."""

    def __init__(
        self,
        network: Network,
        wanted: Wanted,
        sizes: Mapping[str, int],
        plate: str,
        rows: int,
        held: GivenBlocks,
    ) -> None:
        self.network, self.wanted, self.plate, self.held = network, wanted, plate, held
        self.count = held.each * held.count
        shapes = {
            name: tuple(rows if dim == plate else sizes[dim] for dim in network[name].axes)
            for name in wanted.names
        }
        copies = 2 + len(wanted.levels) + (self.count if wanted.draws else 0)
        need = 8 * copies * sum(prod(shape) for shape in shapes.values())
        check_bytes(f"{rows} rows of {', '.join(wanted.names)}", need,
                    "give fewer rows at a time, or ask for fewer nodes (nodes=)")  # fmt: skip
        self.mean, self.sd = ({n: np.zeros(s) for n, s in shapes.items()} for _ in range(2))
        self.quantiles = {n: np.zeros((len(wanted.levels), *s)) for n, s in shapes.items()}
        self.draws = {n: np.zeros((self.count, *s)) for n, s in shapes.items() if wanted.draws}

    def take(self, found: Mapping[str, Found], chosen: NDArray[np.int64]) -> None:
        """Write what was found in a batch to its rows."""
        for name, each in found.items():
            at: Any = self._at(name, chosen)
            self.mean[name][at] = each.mean
            self.sd[name][at] = each.sd
            if each.quantiles is not None:
                self.quantiles[name][:, *at] = each.quantiles
            if each.draws is not None:
                self.draws[name][:, *at] = each.draws

    def by_kernels(self, cells: Mapping[str, Cells], seed: int, executor: Executor) -> bool:
        """Fill the moments by the kernels of a chain of gamma layers; False where there is none,
        or where more is asked for."""
        if self.wanted.levels or self.wanted.draws:
            return False
        pattern = find_chain(self.network, self.plate)
        if isinstance(pattern, str) or not set(self.wanted.names) <= set(pattern.scores):
            return False
        own = cells[pattern.observed]
        chains = [pattern.chain(self.held.values(number)) for number in range(self.held.count)]
        if own.missing is not None or not all(chain.explains(own) for chain in chains):
            return False
        square = {name: np.zeros(mean.shape) for name, mean in self.mean.items()}
        for number, (chain, settle) in enumerate(zip(chains, self.held.runs(), strict=True)):
            found = chain.layer_moments(own, Sweeps(settle, self.held.each), seed, executor, number)
            for t, name in enumerate(pattern.scores):
                if name in self.mean:
                    self.mean[name] += found[t][0] / self.held.count
                    square[name] += found[t][1] / self.held.count
        for name, mean in self.mean.items():
            self.sd[name][...] = np.sqrt(np.maximum(square[name] - mean**2, 0.0))
        return True

    def _at(self, name: str, chosen: NDArray[np.int64]) -> tuple[Any, ...]:
        axis = self.network[name].axes.index(self.plate)
        return (*[slice(None)] * axis, chosen)

    def result(self, about: Mapping[str, Any]) -> NewRows:
        """All of it, and what is known beside."""
        names, network = self.wanted.names, self.network
        return NewRows(
            self.mean,
            self.sd,
            {name: network[name].axes for name in names},
            self.quantiles if self.wanted.levels else {},
            self.draws,
            self.wanted.levels,
            network.held,
            network.left_out,
            **about,
        )
