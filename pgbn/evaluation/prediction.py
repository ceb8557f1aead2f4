"""Data as the model predicts them: replicates of the data, new rows, draws from the prior.

    x_rep ~ p(x | θ^s),   θ^s ~ p(θ | data),   s = 1 … S

Rows are generated a block at a time. A replicate is a sparse matrix, or whatever a statistic makes
of it: all of them as one dense array are made only where that is small or asked for.
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
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.replay import Replay
from pgbn.errors import DataError
from pgbn.samplers.random import stream_key, word_of
from pgbn.storage.memory import check_bytes, gigabytes

__all__ = ["SMALL", "predict"]

SMALL = 2**30  # bytes of an array that is made without asking


def predict(
    draws: Draws,
    name: str,
    *,
    statistic: Callable[[Any], Any] | None = None,
    sparse: bool | None = None,
    sizes: Mapping[str, int] | None = None,
    indexes: Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Any:
    """A replicate of an observed node for every draw. See `Draws.predict`."""
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
    for chain, draw in ((c, d) for c in range(chains) for d in range(number)):
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
