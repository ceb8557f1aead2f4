"""Which rows can be spread, and where shards begin."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.engine.shards.plate import shard_edges
from pgbn.samplers.executor import ROW_BLOCK


@pytest.mark.parametrize(
    ("rows", "workers", "edges"),
    [
        (10, 3, [(0, 10)]),
        (256, 2, [(0, 256)]),
        (257, 2, [(0, 257)]),  # no shard of one row
        (258, 2, [(0, 256), (256, 258)]),
        (1024, 2, [(0, 512), (512, 1024)]),
        (1024, 4, [(0, 256), (256, 512), (512, 768), (768, 1024)]),
        (1024, 9, [(0, 256), (256, 512), (512, 768), (768, 1024)]),
    ],
)
def test_edges(rows: int, workers: int, edges: list[tuple[int, int]]) -> None:
    assert shard_edges(np.arange(rows + 1) * 3, rows, workers) == edges


def test_shards_have_about_as_many_cells() -> None:
    lengths = np.repeat([90, 10], 5 * ROW_BLOCK)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    (_, middle), _ = shard_edges(starts, lengths.size, 2)
    assert middle == 3 * ROW_BLOCK
