"""Rows known by their content: the same draws wherever a row stands."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.samplers import vectorised
from pgbn.samplers.executor import ROW_BLOCK, SERIAL, Threads
from pgbn.samplers.random import ContentKeyed, ShardRows, Stream

HASHES = np.array([11, 22, 33, 22], np.uint64)


def draw(hashes, threads=1, key=7, shape=(2, 3, 4)):
    by_content = ContentKeyed(Threads(threads), np.asarray(hashes, np.uint64))
    return vectorised.gamma(Stream(key, (len(hashes), *shape), by_content), 2.0, 1.0)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_row_is_known_by_its_hash(threads):
    drawn = draw(HASHES, threads)
    assert np.array_equal(drawn[1], drawn[3])
    assert not np.array_equal(drawn[0], drawn[1])
    order = [2, 0, 3]
    assert np.array_equal(draw(HASHES[order], threads), drawn[order])
    assert np.array_equal(draw(HASHES[:1]), drawn[:1])


def test_lines_and_keys_have_streams_of_their_own():
    drawn = draw(HASHES[:3])
    assert np.unique(drawn).size == drawn.size
    assert not np.isin(draw(HASHES[:3], key=8), drawn).any()


def test_cells_are_known_by_their_row_and_number():
    by_content = ContentKeyed(SERIAL, np.array([5, 9, 5], np.uint64))
    cells = by_content.at_cells(np.array([0, 2, 5, 7]))
    words = cells.hashes
    assert np.array_equal(words[:2], words[5:])
    assert np.unique(words).size == 5


# ---- a part of the rows is drawn as it is among all ----

ROWS = 2 * ROW_BLOCK + 88
EDGES = [(0, ROW_BLOCK), (ROW_BLOCK, 2 * ROW_BLOCK), (2 * ROW_BLOCK, ROWS)]


@pytest.mark.parametrize("shape", [(1, 1, ROWS, 5), (1, ROWS, 3, 4), (1, 1, 1, ROWS)])
def test_parts_are_the_rows_of_the_whole(shape: tuple[int, ...]) -> None:
    axis = shape.index(ROWS)
    a = np.random.default_rng(0).gamma(0.5, size=shape)
    whole = vectorised.gamma(Stream(7, shape), a, 2.0)
    for first, last in EDGES:
        own = tuple(last - first if size == ROWS else size for size in shape)
        executor = ShardRows(first, last - first)
        rows = np.take(a, range(first, last), axis)
        part = vectorised.gamma(Stream(7, own, executor), rows, 2.0)
        assert np.array_equal(part, np.take(whole, range(first, last), axis))


@pytest.mark.parametrize("size", [2, ROW_BLOCK, ROW_BLOCK + 1, 3 * ROW_BLOCK])
def test_a_long_line_has_a_stream_for_each_block(size: int) -> None:
    line = vectorised.uniform(Stream(3, (2, 1, 1, size)))
    blocks = -(-size // ROW_BLOCK)
    rows = vectorised.uniform(Stream(3, (2, 1, blocks, ROW_BLOCK))).reshape(2, -1)
    assert np.array_equal(line.reshape(2, -1), rows[:, :size])


def test_a_draw_of_other_rows_is_refused() -> None:
    with pytest.raises(pgbn.NetworkError, match="a draw of 7 rows is not one of 5 rows"):
        ShardRows(256, 5)._row_key(1, 7)
