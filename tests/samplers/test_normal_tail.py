"""The tail of the normal generator, of which a test of all its draws sees little."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from scipy import stats

from pgbn.samplers.random import _NORMAL_WIDTH, _normal_tail, restart


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
