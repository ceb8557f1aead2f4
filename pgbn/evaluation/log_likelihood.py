"""Replicates of the data, and the log likelihood of every cell, for every draw.

    x_rep ~ p(x | θ^s),     log p(x_i | θ^s),     θ^s ~ p(θ | data),  s = 1 … S

The second is what PSIS-LOO weighs draws by (arviz_stats.loo). Leaving out one cell leaves the other
cells of its row: the row's own latent values are still informed. For leaving out complete rows see
`pgbn.evaluation.row_likelihood`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_mapping, check_seed
from pgbn.engine.compile.by_cell import ByCell, row_blocks
from pgbn.engine.compile.density import log_density
from pgbn.engine.compile.program import Program
from pgbn.engine.compile.sizes import complete_sizes
from pgbn.engine.data.nonzero import Cells
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.generate import to_storage
from pgbn.engine.run.replay import Replay
from pgbn.errors import DataError
from pgbn.samplers.random import stream_key, word_of
from pgbn.storage.read_limits import check_bytes, gigabytes

SMALL = 2**30  # bytes of an array that is made without asking


def predict(
    draws: Draws,
    name: str,
    statistic: Callable[[Any], Any] | None,
    sparse: bool | None,
    sizes: Mapping[str, int] | None,
    indexes: Mapping[str, Any] | None,
    seed: int,
    threads: int | None,
) -> Any:
    """A replicate of an observed node for every draw, generated a block of rows at a time. See
    `Draws.predict`."""
    numbers = check_mapping("indexes", indexes)
    if numbers and draws.network is not None:
        draws = replace(draws, network=draws.network.with_indexes(**numbers))
    if statistic is not None and not callable(statistic):
        raise DataError(f"statistic={statistic!r}: give a function of one replicate of the data")
    replay = Replay(draws, name, "predict", sizes, threads)
    by_cell, seed = ByCell(replay.program, name), check_seed(seed)
    chains, number = replay.shape
    if sparse and len(by_cell.shape) != 2:
        raise DataError(f"predict: sparse=True is for arrays of two dims, and {name!r} has "
                        f"{len(by_cell.shape)}; give statistic=")  # fmt: skip
    _check_room(by_cell, chains * number, statistic is None, sparse)
    results = []
    for chain, draw in np.ndindex(chains, number):
        replay.at(chain, draw, seed)
        key = stream_key(seed, word_of("predict"), word_of(name), chain, draw)
        replicate = _replicate(by_cell, replay, key, bool(sparse))
        results.append(replicate if statistic is None else np.asarray(statistic(replicate)))
    if sparse and statistic is None:
        return [results[c * number : (c + 1) * number] for c in range(chains)]
    try:
        stacked = np.stack(results)
    except ValueError:
        raise DataError("statistic: it returned arrays of unequal shapes") from None
    return stacked.reshape(chains, number, *stacked.shape[1:])


def _check_room(by_cell: ByCell, number: int, whole: bool, sparse: bool | None) -> None:
    cells, name = 8 * prod(by_cell.shape), by_cell.node.name
    one = f"predict: a dense replicate of {name!r}, {' × '.join(map(str, by_cell.shape))}"
    if not sparse:
        check_bytes(one, cells, "give sparse=True")
    if not whole or sparse:
        return
    what = f"predict: {number} dense replicates of {name!r}"
    check_bytes(what, cells * number, "give sparse=True, a statistic=, or keep fewer draws")
    if sparse is None and cells * number > SMALL:
        raise DataError(
            f"{what} would need {gigabytes(cells * number)}; give sparse=True for a sparse matrix "
            "for each draw, statistic= for a number or array that is made of each, or sparse=False "
            "to have them all"
        )


def _replicate(by_cell: ByCell, replay: Replay, key: int, sparse: bool) -> Any:
    blocks: list[Any] = []
    for start, stop in row_blocks(by_cell.rows, by_cell.columns):
        rows = by_cell.generate(stream_key(key, start), start, stop, replay.data)
        blocks.append(sp.csr_array(rows) if sparse else rows)
    if sparse:
        return sp.vstack(blocks, format="csr")
    whole: NDArray[Any] = np.concatenate(blocks)
    return whole.reshape(by_cell.shape)


def cell_log_likelihood(draws: Draws, name: str, threads: int | None = None) -> NDArray[np.float64]:
    """(chain, draw, *dims): log p of every cell given the latent values of a draw.

    Of a multinomial the cells of a vector are one observation: the dim that sums up is left out.
    Cells whose data are missing have 0.
    """
    replay = Replay(draws, name, "log_likelihood", None, threads)
    data, by_cell = _data(replay), ByCell(replay.program, name)
    chains, number = replay.shape
    shape = by_cell.shape if by_cell.node.simplex is None else by_cell.shape[:-1]
    need = 8 * chains * number * prod(shape)
    what = f"log_likelihood: {chains * number} draws of {prod(shape)} cells of {name!r}"
    remedy = 'by="row", or give arviz_stats.loo_subsample the function that ' \
        "Draws.log_likelihood_function returns"  # fmt: skip
    check_bytes(what, need, remedy)
    if need > SMALL:
        raise DataError(f"{what} would need {gigabytes(need)}; {remedy}")
    out = np.empty((chains, number, prod(shape)))
    blocks = row_blocks(by_cell.rows, by_cell.columns)
    cells = [by_cell.block(start, stop, data) for start, stop in blocks]
    for chain, draw in replay:
        out[chain, draw] = np.concatenate([by_cell.log_density(each) for each in cells])
    if data.missing is not None:
        out[..., data.dense(data.missing).ravel()] = 0.0
    return out.reshape(chains, number, *shape)


def _data(replay: Replay) -> Cells:
    if replay.data is None:
        raise DataError(f"log_likelihood: these draws do not know the data of {replay.name!r}")
    return replay.data


def log_likelihood_function(draws: Draws, name: str) -> Callable[[Any, Any], Any]:
    """``f(observed, data)`` as ``arviz_stats.loo_i`` and ``loo_subsample`` take it: the log
    likelihood (chain, draw, …) of the cells that the coords of ``observed`` name."""
    replay = Replay(draws, name, "log_likelihood", None)
    data, by_cell = _data(replay), ByCell(replay.program, name)
    if by_cell.node.simplex is not None:
        raise DataError(
            f"log_likelihood_function: the vectors of {name!r} are the observations, of which "
            "Draws.log_likelihood gives an array"
        )
    axes = by_cell.node.axes
    places = {
        dim: {label: i for i, label in enumerate(draws.coords[dim])}
        for dim in axes
        if dim in draws.coords
    }

    def log_lik(observed: Any, _data: Any) -> Any:
        numbers = []
        for dim in axes:
            labels = np.atleast_1d(observed.coords[dim].values).tolist()
            known = places.get(dim)
            numbers.append([known[label] if known else int(label) for label in labels])
        index = np.array([axis.ravel() for axis in np.meshgrid(*numbers, indexing="ij")], np.int64)
        cells, order = _cells_at(by_cell, data, index)
        chains, draws_each = replay.shape
        out = np.empty((chains, draws_each, index.shape[1]))
        for chain, draw in replay:
            out[chain, draw, order] = by_cell.log_density(cells)
        kept = [len(each) for dim, each in zip(axes, numbers, strict=True) if dim in observed.dims]
        return out.reshape(chains, draws_each, *kept)

    return log_lik


def _cells_at(
    by_cell: ByCell, data: Cells, index: NDArray[np.int64]
) -> tuple[Cells, NDArray[np.int64]]:
    """Some cells, by their numbers along each dim, in the order of rows."""
    rows = np.zeros(index.shape[1], np.int64)
    for size, each in zip(by_cell.shape[:-1], index[:-1], strict=True):
        rows = rows * size + each
    order = np.lexsort((index[-1], rows))
    rows, columns = rows[order], index[-1][order]
    numbers = data.cell_rows() * data.columns + data.indices  # ascending
    wanted = rows * data.columns + columns
    at = np.minimum(np.searchsorted(numbers, wanted), numbers.size - 1)
    found = np.where(numbers[at] == wanted, data.values[at], 0) if numbers.size else 0 * wanted
    indptr = np.searchsorted(rows, np.arange(by_cell.rows + 1))
    axes, shape = by_cell.node.axes, by_cell.shape
    return Cells(axes, shape, 1, indptr, columns.astype(np.int32), found), order


def log_joint(draws: Draws) -> NDArray[np.float64]:
    """(chain, draw): the log density of the data and all latent values together, given what is
    held: of that, what has a parent that was drawn."""
    network = draws.network
    assert network is not None
    sizes = complete_sizes(network, draws.sizes, {})
    free = set(network.free)
    received = [
        name for name in network.held if free.intersection(network.graph.predecessors(name))
    ]
    said = [name for name in network.nodes if name in {*free, *draws.data, *received}]
    program = Program(network, draws.data, sizes)
    chains, number = next(iter(draws.values.values())).shape[:2]
    out = np.empty((chains, number))
    for chain, draw in np.ndindex(chains, number):
        for name in network.latent:
            value = np.asarray(draws.values[name][chain, draw])[None]
            program.values[name] = np.array(to_storage(program, name, value), np.float64)
        out[chain, draw] = sum(log_density(program, name)[0] for name in said)
    return out


def observed_array(draws: Draws, name: str) -> NDArray[Any]:
    """The data of a node as a dense array; NaN where they are missing."""
    data = draws.data[name]
    check_bytes(f"the data of {name!r} as a dense array", 8 * prod(data.shape), "leave them out")
    whole = data.dense()[0]
    missing = data.missing
    return np.asarray(whole) if missing is None else np.where(data.dense(missing)[0], np.nan, whole)
