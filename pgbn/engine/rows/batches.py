"""Rows that are run together, here or by a worker: what is asked of them, and what is found.

A batch depends on its own rows alone, and a row is known by its content: whoever runs it, beside
whichever others, finds the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.data.cells import Cells
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.generate import to_axes
from pgbn.engine.run.given import Given
from pgbn.engine.shards.worker import own_cells
from pgbn.network.network import Network
from pgbn.samplers.executor import Executor, Threads

__all__ = ["Found", "GivenBlocks", "RowBatch", "Wanted", "run_batch", "run_batch_afar"]


@dataclass(frozen=True)
class Wanted:
    """What is asked for: the names of nodes, the levels of quantiles, whether all draws."""

    names: tuple[str, ...]
    levels: tuple[float, ...]
    draws: bool


class GivenBlocks(Given):
    """Draws of what is given, each for a block of sweeps: some to settle, then the samples."""

    def plan(self, burn_in: int, samples: int) -> None:
        """``samples`` in all, shared out among the draws, after ``burn_in`` sweeps and, for each
        further draw, after its share of as many again."""
        self.each = -(-samples // self.count)
        self.burn_in, self.settle = burn_in, -(-burn_in // self.count)

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
) -> dict[str, Found]:
    """Run a batch; what is asked for of its rows, by the name of the node."""
    chain = Chain.of_rows(network, batch.cells, held, batch.hashes, seed, batch.layer1, executor,
                          batch.indexes)  # fmt: skip
    mean: dict[str, Any] = dict.fromkeys(wanted.names, 0.0)
    square: dict[str, Any] = dict.fromkeys(wanted.names, 0.0)
    kept: dict[str, list[Any]] = {name: [] for name in wanted.names}
    done = 0
    for settle in held.runs():
        chain.sweep(settle)
        for _ in range(held.each):
            chain.sweep()
            chain.refresh(wanted.names)
            done += 1
            for name in wanted.names:
                value = _rows_of(chain, name, plate, batch.rows)
                change = value - mean[name]
                mean[name] = mean[name] + change / done
                square[name] = square[name] + change * (value - mean[name])
                if wanted.levels or wanted.draws:
                    kept[name].append(value)
    return {
        name: Found(
            mean[name],
            np.sqrt(square[name] / done),
            np.quantile(kept[name], wanted.levels, axis=0) if wanted.levels else None,
            np.stack(kept[name]) if wanted.draws else None,
        )
        for name in wanted.names
    }


def run_batch_afar(
    room: Any, threads: int, about: tuple[Network, str, GivenBlocks, Wanted, int], batch: RowBatch
) -> dict[str, Found]:
    """`run_batch` by a worker, which keeps nothing of it."""
    cells = {name: own_cells(each) for name, each in batch.cells.items()}
    return run_batch(*about, batch._replace(cells=cells), Threads(threads))


def _rows_of(chain: Chain, name: str, plate: str, number: int) -> NDArray[np.float64]:
    """The values of a node, with its rows, which are replicates, along its plate."""
    axis = chain.network[name].axes.index(plate)
    value = to_axes(chain.program, name, chain.program.values[name])[:number]
    return np.moveaxis(value.take(0, axis + 1), 0, axis)
