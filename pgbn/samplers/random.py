"""Keyed random streams: every row of every step has a stream of its own.

A stream is a SplittableRandom generator (Steele, Lea and Flood, 2014): a state s and
an odd increment g, advanced by s ← s + g and read through a bijective 64-bit mixer.
Both words are hashes of (seed, chain, sweep, step, row). A draw depends on nothing else: not on the
number of threads, the block that a row was handled in, or the order of the steps. A stream in a
kernel is a uint64 array of two words, ``rng``.

The increment is mix(s ^ constant) | 1: any odd number. The paper goes one step further. It flips
every second bit of g if fewer than 24 pairs of its neighbouring bits differ, as in one stream of
47. That step is not taken here. It guards against increments such as 1, which show after some
million words; the chance that a hash gives one as bad is far below 10^-12. In streams that the
paper would change, 12 million words show nothing (`tests/samplers/test_random.py`).

A stream is determined by the 64 bits where it begins. This is what independence rests on. Rows of
one draw begin at different states, since the mixer is a bijection. Any two other streams are
identical with a chance of 2^-64: 3 % that there is one such pair among a billion streams. Streams
overlap otherwise only if one increment is a small multiple of the other, which is as rare. More is
not proved, as for all generators that are seeded by hashes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import NetworkError
from pgbn.samplers.compiled import njit, way
from pgbn.samplers.elementary import exp
from pgbn.samplers.executor import SERIAL, DelegatingExecutor, Executor, Threads
from pgbn.samplers.from_numba import intrinsic, overload, types

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _mix(word: int) -> int:
    """Stafford's 13th variant of the MurmurHash3 finaliser, a bijection on 64 bits."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)


def stream_key(*words: int) -> int:
    """Hash integers, in order, to the 64-bit key of a family of row streams."""
    key = _GOLDEN
    for word in words:
        key = _mix((key + _GOLDEN) & _MASK ^ _mix(word & _MASK))
    return key


def word_of(name: str) -> int:
    """The integer that stands for a name in `stream_key`; the same on every machine."""
    return crc32(name.encode())


def check_names(names: Iterable[str]) -> None:
    """Two names with one `word_of` would be drawn from the same streams: an error."""
    found: dict[int, str] = {}
    for name in names:
        other = found.setdefault(word_of(name), name)
        if other != name:
            raise NetworkError(
                f"{other!r} and {name!r} would be drawn from the same random numbers: their names "
                "have the same checksum (CRC-32); rename one of them"
            )


@njit(cache=True, nogil=True, forceinline=True)
def mix(word):
    """`_mix` for kernels."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def later_key(key: int, rows: int) -> np.uint64:
    """The key under which row 0 has the stream that row ``rows`` has under ``key``."""
    return np.uint64((int(key) + _GOLDEN * rows) & _MASK)


class RowKeys(NamedTuple):
    """A key of rows that are identified by their content: ``words`` has a hash of each of them."""

    key: np.uint64
    words: np.ndarray


def _beginning(key, row):
    """Where the stream of a row begins: by its number or, given `RowKeys`, by its content."""


@overload(_beginning, jit_options={"nogil": True, "forceinline": True})
def _beginning_for(key, row):
    if isinstance(key, types.BaseNamedTuple):
        return lambda key, row: mix(key.key ^ key.words[row])
    return lambda key, row: mix(np.uint64(key) + np.uint64(_GOLDEN) * np.uint64(row + 1))


@intrinsic
def new_rng(typing_context):
    """An array for the two words of a stream. It is in the frame of the calling kernel, and ends
    with it. Every function that draws would count the references to an ordinary array."""
    words = types.Array(types.uint64, 1, "C")
    if way().linked:
        from pgbn.samplers.linked import words_here

        return words_here(words)

    def code(context, builder, signature, arguments):
        return context.compile_internal(builder, _two_words, signature, arguments)

    return words(), code


def _two_words():
    return np.empty(2, np.uint64)


@njit(cache=True, nogil=True, forceinline=True)
def restart(rng, key, row):
    """Set a stream to its beginning for a row; in kernels and in Python.

    Parameters
    ----------
    rng : ndarray of uint64
        The two words of the stream.
    key : uint64
        The key of the draw, as the kernel received it.
    row : int
        The number of the row.

    Examples
    --------
    >>> import numpy as np
    >>> from pgbn.extend import restart
    >>> rng = np.zeros(2, np.uint64)
    >>> restart(rng, np.uint64(1), 0)
    >>> rng
    array([10451216379200822465, 12674772435586498473], dtype=uint64)
    """
    state = _beginning(key, row)
    rng[0] = state
    rng[1] = mix(state ^ np.uint64(0xD1B54A32D192ED03)) | np.uint64(1)


@njit(cache=True, nogil=True, forceinline=True)
def bits(rng):
    """The next 64 random bits."""
    rng[0] += rng[1]
    return mix(rng[0])


@njit(cache=True, nogil=True, forceinline=True)
def uniform(rng):
    """A number of (0, 1), never 0 and never 1, on a grid of 2^-53."""
    return (np.float64(bits(rng) >> np.uint64(12)) + 0.5) * 2.0**-52


# ---- ziggurats (Marsaglia and Tsang, 2000) ----
# 256 layers of one area under an unnormalised decreasing density f on (0, inf): layer i is the
# rectangle of width x[i] between the heights f(x[i]) and f(x[i + 1]); the base layer, 0, is a
# rectangle of width x[1] together with the tail beyond it. Layer, sign and position come from
# disjoint bits of one word, so that they are independent (Doornik, 2005). The draws are inlined by
# force: a call would cost more than twice what the draw does.


_DIGITS = Context(prec=30)  # a library's functions may differ in the last place elsewhere


def _exp(x: float) -> float:
    return float(Decimal(x).exp(_DIGITS))


def _log(x: float) -> float:
    return float(Decimal(x).ln(_DIGITS))


def _ziggurat(
    start: float,
    tail: float,
    density: Callable[[float], float],
    inverse: Callable[[float], float],
) -> tuple[np.ndarray, np.ndarray]:
    """The widths x[0..256] of the layers and the density at them; ``tail`` is its integral from
    ``start`` on.

    The base layer ends at x[1] = ``start``, the least number from which 255 layers of its area
    end just below the top, where the density is 1.
    """
    area = start * density(start) + tail
    x = [area / density(start), start]
    while len(x) < 256:
        x.append(inverse(density(x[-1]) + area / x[-1]))
    x.append(0.0)
    return np.array(x), np.array([density(value) for value in x])


_NORMAL_WIDTH, _NORMAL_DENSITY = _ziggurat(
    3.6541528853610092,
    0.0003233957646633209,
    lambda x: _exp(-0.5 * x * x),
    lambda y: math.sqrt(-2.0 * _log(y)),
)
_EXPONENTIAL_WIDTH, _EXPONENTIAL_DENSITY = _ziggurat(
    7.69711747013105, 0.0004541343538414966, lambda x: _exp(-x), lambda y: -_log(y)
)


@njit(cache=True, nogil=True, forceinline=True)
def exponential(rng):
    """Exponential with mean 1, positive, by a ziggurat."""
    offset = 0.0
    while True:
        word = bits(rng)
        layer = np.int64(word & np.uint64(255))
        x = (np.float64(word >> np.uint64(12)) + 0.5) * 2.0**-52 * _EXPONENTIAL_WIDTH[layer]
        if x < _EXPONENTIAL_WIDTH[layer + 1]:
            return offset + x
        if layer == 0:  # beyond the base rectangle the law begins anew
            offset += _EXPONENTIAL_WIDTH[1]
        else:
            low, high = _EXPONENTIAL_DENSITY[layer], _EXPONENTIAL_DENSITY[layer + 1]
            if low + uniform(rng) * (high - low) < exp(-x):
                return offset + x


@njit(cache=True, nogil=True)
def _normal_tail(rng):
    """Standard normal beyond the base layer, from two exponentials (Marsaglia, 1964)."""
    while True:
        excess = exponential(rng) / _NORMAL_WIDTH[1]
        if 2.0 * exponential(rng) > excess * excess:
            return _NORMAL_WIDTH[1] + excess


@njit(cache=True, nogil=True, forceinline=True)
def normal(rng):
    """Standard normal, by a ziggurat."""
    while True:
        word = bits(rng)
        layer = np.int64(word & np.uint64(255))
        # The upper bits as a signed number: sign and position at once.
        x = (np.float64(np.int64(word) >> 12) + 0.5) * 2.0**-51 * _NORMAL_WIDTH[layer]
        if abs(x) < _NORMAL_WIDTH[layer + 1]:
            return x
        if layer == 0:
            return math.copysign(_normal_tail(rng), x)
        low, high = _NORMAL_DENSITY[layer], _NORMAL_DENSITY[layer + 1]
        if low + uniform(rng) * (high - low) < exp(-0.5 * x * x):
            return x


# ---- stream -------------------------------------------------------------------------------------
#
# The inputs of a vectorised draw: its key, its shape, its executor.


@dataclass(slots=True)
class Stream:
    """The random numbers of one draw of an array.

    An array of a node is seen as (replicate, d1, d2, d3), with further axes if it has more dims.
    Its rows, along the last axis, are numbered by the flat index of the others; row i is drawn
    from the stream of (key, i) in order.

    A key must serve one draw only: two draws with one key are not independent, so a rule that
    draws twice takes a `child` for the second.

    Parameters
    ----------
    key : int
        The key; with the shape it determines all numbers.
    shape : tuple of int
        The shape of the array, with at least 4 axes.
    executor : Executor or int
        Where rows are drawn, or a number of threads. It never changes a number.
    simplex : int or tuple of int
        The axis, or the axes, along which the value of the node sums to one, if it does.
    variates : object, optional
        What draws in place of the kernels: ``variates.gamma(stream, shape, rate)`` stands for
        `pgbn.extend.vectorised.gamma`, and so on (see `pgbn.samplers.plain`).

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 2, 3))
    >>> vectorised.poisson(stream, rate=5.0)
    array([[[[4, 8, 6],
             [3, 3, 2]]]])
    """

    key: int
    shape: tuple[int, ...]
    executor: Executor = SERIAL
    simplex: Any = 3
    variates: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.executor, Integral):
            self.executor = Threads(int(self.executor))

    def child(self, name: str, without: int | tuple[int, ...] | None = None) -> Stream:
        """An independent stream, for another draw of the same rule.

        Parameters
        ----------
        name : str
            The name of the draw; another one gives other numbers.
        without : int or tuple of int, optional
            The axes on which the shape has size 1.

        Returns
        -------
        Stream
            The stream.

        Examples
        --------
        >>> from pgbn.extend import Stream
        >>> Stream(key=1, shape=(1, 1, 2, 3)).child("accept", without=3).shape
        (1, 1, 2, 1)
        """
        out = without if isinstance(without, tuple) else (without,)
        shape = tuple(1 if axis in out else size for axis, size in enumerate(self.shape))
        key = stream_key(self.key, word_of(name))
        return Stream(key, shape, self.executor, self.simplex, self.variates)


# ---- executors with streams of their own -------------------------------------------------------
#
# Rows whose streams are not those of their numbers in the arrays: they are identified by their
# content (`ContentKeyed`), or are a part of more rows (`ShardRows`).


Words = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def _lines(hashes, owner, line, out):
    """out_i = a hash of (hashes[owner_i], line_i)."""
    for i in range(out.size):
        out[i] = mix(hashes[owner[i]] + np.uint64(0x9E3779B97F4A7C15) * np.uint64(line[i] + 1))


class ContentKeyed(DelegatingExecutor):
    """An executor for arrays whose replicates are identified by ``hashes`` of their data.

        row i of step s in sweep n draws from (seed, s, n, hash of the data of row i)

    instead of its number, so that it gets the same draws alone, in any batch and in any order.
    Arrays have one replicate for each row of data, and a kernel that works on ``rows`` rows of its
    own has rows / replicates for each of them, one replicate after another.
    """

    _own_streams = True

    def __init__(self, executor: Executor, hashes: Words) -> None:
        super().__init__(executor)
        self.hashes, self._words = hashes, dict[int, Words]()

    def _row_key(self, key: int, rows: int) -> RowKeys:
        """The key of a draw, with a word for each of its rows."""
        if rows not in self._words:
            each = rows // self.hashes.size
            number = np.arange(rows)
            self._words[rows] = words = np.empty(rows, np.uint64)
            _lines(self.hashes, number // each, number % each, words)
        return RowKeys(np.uint64(key), self._words[rows])

    def at_cells(self, indptr: NDArray[np.int64]) -> ContentKeyed:
        """The same for draws that have a row for each cell of sparse data: ``indptr`` are the
        edges of the replicates. A cell is identified by its number among those of its
        replicate."""
        owner = np.repeat(np.arange(self.hashes.size), np.diff(indptr))
        words = np.empty(owner.size, np.uint64)
        _lines(self.hashes, owner, np.arange(owner.size) - indptr[owner], words)
        return ContentKeyed(self.below, words)

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        if key:  # else nothing is drawn
            kernel = partial(_with_keys, kernel, self._row_key(key, rows))
        self.below.rows(kernel, rows, key, *args)


def _with_keys(
    kernel: Callable[..., Any], keys: RowKeys, word: np.uint64, start: int, stop: int, *args: Any
) -> None:
    kernel(keys, start, stop, *args)


class ShardRows(DelegatingExecutor):
    """The executor of ``size`` rows from ``first`` on, or of ``size`` blocks of ``unit`` rows, by
    threads of this process.

        the stream of row i under a key begins at mix(key + g · (i + 1))

    so that of row first + i is the stream of row i under key + g · first: kernels need not know
    that there are other rows. A part begins with a block of `ROW_BLOCK` rows.
    """

    _own_streams = True

    def __init__(
        self, first: int, size: int, threads: Executor = SERIAL, unit: int = 1, cells: bool = False
    ) -> None:
        super().__init__(threads)
        self._first, self.size, self.unit, self.cells = first, size, unit, cells

    def _row_key(self, key: int, rows: int) -> np.uint64:
        """The key for a kernel on ``rows`` rows of its own, as many for each of ours."""
        units = -(-self.size // self.unit)
        each, left = divmod(rows, max(units, 1))
        if left or self._first % self.unit:
            raise NetworkError(
                f"a draw of {rows} rows is not one of {self.size} rows from {self._first} on, in "
                f"blocks of {self.unit}: it cannot be made for a part of the rows"
            )
        return later_key(key, self._first // self.unit * each)

    def _by_blocks(self, size: int) -> ShardRows:
        return self if self.cells else ShardRows(self._first, self.size, self.below, size)

    def at(self, first: int, size: int) -> ShardRows:
        """The same for the cells of the rows: ``size`` of them, from number ``first`` on."""
        return ShardRows(first, size, self.below, cells=True)

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        word = self._row_key(key, rows) if key else 0  # without a key nothing is drawn
        self.below.rows(kernel, rows, int(word), *args)
