"""Keyed streams, the normal and exponential variates drawn from them, and rows with own streams."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from scipy import stats

import pgbn
from pgbn.errors import NetworkError
from pgbn.samplers import random, vectorised
from pgbn.samplers.executor import ROW_BLOCK, SERIAL, Threads
from pgbn.samplers.random import (
    _NORMAL_WIDTH,
    ContentKeyed,
    ShardRows,
    Stream,
    _normal_tail,
    exponential,
    normal,
    restart,
)
from tests.helpers.laws import assert_follows, assert_moments, sampler_of

sample_normal = sampler_of(normal, np.float64)
sample_exponential = sampler_of(exponential, np.float64)


def test_normal() -> None:
    draws = sample_normal(size=1_000_000)
    assert_follows(draws, stats.norm.cdf)
    assert_moments(draws, 0.0, 1.0)
    assert_follows(draws[draws > 3.0], stats.truncnorm(3.0, np.inf).cdf)
    assert_follows(draws[abs(draws) < 0.1], stats.uniform(-0.1, 0.2).cdf)  # flat to 1/400


def test_exponential() -> None:
    draws = sample_exponential(size=1_000_000)
    assert (draws > 0.0).all()
    assert_follows(draws, stats.expon.cdf)
    assert_moments(draws, 1.0, 1.0, kurtosis=9.0)
    assert_follows(draws[draws > 7.0] - 7.0, stats.expon.cdf)


def test_distinct_rows_are_uncorrelated() -> None:
    rows = np.array([sample_normal(size=200, row=row) for row in range(500)])
    neighbours = np.mean(rows[1:] * rows[:-1]) * math.sqrt(rows[1:].size)
    assert abs(neighbours) < 4.0
    assert abs(rows[:, 0].mean()) * math.sqrt(500) < 4.0


@pytest.mark.parametrize("law", ["NORMAL", "EXPONENTIAL"])
def test_the_layers_of_a_ziggurat_have_one_area(law: str) -> None:
    """Nor can the base layer end earlier: the last one would pass the top, where the density is 1."""
    width, density = (getattr(random, f"_{law}_{part}") for part in ("WIDTH", "DENSITY"))
    assert width.size == density.size == 257
    assert density[256] == 1.0
    area = width[:256] * (density[1:] - np.append(0.0, density[1:256]))
    np.testing.assert_allclose(area, area[0], rtol=1e-12)
    assert area[255] >= area[1]


@njit
def _tails(rng: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = _normal_tail(rng)


def test_the_tail_of_the_normal() -> None:
    rng, out = np.empty(2, np.uint64), np.empty(50_000)
    restart(rng, np.uint64(1), 0)
    _tails(rng, out)
    beyond = stats.norm.sf(_NORMAL_WIDTH[1])
    assert stats.kstest(stats.norm.sf(out) / beyond, "uniform").pvalue > 1e-4


def _mixed(word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def test_streams_whose_increments_have_few_changes() -> None:
    """The paper replaces increments in which fewer than 24 neighbouring bits differ; here they stay.
    The words of such streams: every bit of neighbours, and the number of bits that change."""
    rng, starts = np.empty(2, np.uint64), []
    for row in range(140_000):
        restart(rng, np.uint64(5), row)
        if (int(rng[1]) ^ (int(rng[1]) >> 1)).bit_count() < 24:
            starts.append(rng.copy())
    assert len(starts) / 140_000 == pytest.approx(stats.binom.cdf(23, 63, 0.5), rel=0.1)
    state, step = np.array(starts).T[..., None]
    words = _mixed(state + step * np.arange(1, 4097, dtype=np.uint64))
    rng[:] = starts[0]
    assert [random.bits(rng) for _ in range(3)] == words[0, :3].tolist()
    changed = (words[:, 1:] ^ words[:, :-1]).ravel()
    ones = np.array([np.count_nonzero(changed & np.uint64(1 << bit)) for bit in range(64)])
    assert abs(ones / changed.size - 0.5).max() * 2 * math.sqrt(changed.size) < 4.5
    number = np.zeros(changed.size, np.int64)
    for byte in changed.view(np.uint8).reshape(-1, 8).T:
        number += np.array([each.bit_count() for each in range(256)])[byte]
    found, law = np.bincount(number, minlength=65), stats.binom.pmf(np.arange(65), 64, 0.5)
    often = law * changed.size > 20
    assert (
        stats.chisquare(found[often], law[often] * found[often].sum() / law[often].sum()).pvalue
        > 1e-4
    )


def test_names_that_would_share_their_streams_are_rejected() -> None:
    """The two names have the same CRC-32, and so have the names of their steps."""
    a = pgbn.Gamma("plumless", 1, 1)
    x = pgbn.Poisson("x", pgbn.Gamma("buckeroo", a, 1, dims="doc"), dims="doc")
    with pytest.raises(NetworkError, match=r"'plumless' and 'buckeroo' .* rename one of them"):
        pgbn.Network(x).chain({"x": np.ones(3, int)})


# ---- rows known by their content ------------------------------------------------------------

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
