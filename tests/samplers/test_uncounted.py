"""Bundles without reference counts: the same arrays, and nothing is freed too early."""

from typing import NamedTuple

import numpy as np
from numba import njit

from pgbn.samplers.compiled import keep, uncounted
from pgbn.samplers.random import new_rng


class Inner(NamedTuple):
    x: np.ndarray
    number: float


class Outer(NamedTuple):
    inner: Inner
    y: np.ndarray


@njit
def _keeper(size, rounds):
    room = Outer(Inner(np.ones(size), 1.0), np.ones((size, 1)))
    free, total = uncounted(room), 0.0
    for _ in range(rounds):
        other = np.full(free.y.size, -1.0)
        total += free.y.sum() + other.sum()
    keep(room)
    return total


def test_arrays_live_until_they_are_no_longer_kept():
    assert _keeper(1000, 200) == 0.0


@njit
def _next(rng):
    rng[0] += rng[1]
    return rng[0]


@njit
def _two_streams(steps):
    first, second = new_rng(), new_rng()
    first[0], first[1], second[0], second[1] = 0, 1, 0, 10
    for _ in range(steps):
        _next(first)
        _next(second)
    return first[0], second[0], first.size


def test_every_stream_has_words_of_its_own():
    assert _two_streams(7) == (7, 70, 2)
