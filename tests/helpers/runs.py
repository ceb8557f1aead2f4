"""Whether two trainings are the same."""

from __future__ import annotations

import numpy as np

import pgbn


def same(one: pgbn.LayerwiseTraining, two: pgbn.LayerwiseTraining) -> None:
    assert len(one.networks) == len(two.networks)
    for a, b in zip(one.networks, two.networks, strict=True):
        assert a.sweeps == b.sweeps
        for left, right in zip((*a.phi, a.r, a.c), (*b.phi, b.r, b.c), strict=True):
            assert np.array_equal(left, right)
        for mine, other in ((a.state, b.state), (a.traces, b.traces)):
            assert mine.keys() == other.keys()
            assert all(np.array_equal(mine[name], other[name]) for name in mine)
