"""Counts of a sum, shared out among its summands."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream, stream_key


def share_out(
    stream: Stream, counts: NDArray[np.int64], summands: Sequence[ArrayLike]
) -> list[NDArray[np.int64]]:
    """(n_1, n_2, …) ~ Mult(count, summands / their sum), an array of the shape of ``counts`` for
    each summand, which broadcasts to that shape.

    It is drawn as a chain of binomials, n_i ~ Bin(rest, v_i / Σ_{≥i} v).
    """
    shape = counts.shape
    left = counts.reshape(stream.shape)
    values: list[Any] = [
        np.broadcast_to(np.asarray(value, np.float64), shape).reshape(stream.shape)
        for value in summands
    ]
    shares, tail = [], [np.zeros(stream.shape)]
    for value in reversed(values):
        tail.append(tail[-1] + value)
    tail.reverse()
    for number, value in enumerate(values[:-1]):
        with np.errstate(invalid="ignore", divide="ignore"):
            fraction = np.nan_to_num(value / tail[number])
        key = stream_key(stream.key, 0, number)
        own = Stream(key, stream.shape, stream.executor, variates=stream.variates)
        share = vectorised.binomial(own, left, np.minimum(fraction, 1.0))
        shares.append(share)
        left = left - share
    shares.append(left)
    return [share.reshape(shape) for share in shares]
