"""Counts shared out: every count goes to one summand, by the law of a multinomial."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from pgbn.samplers import Stream, share_out
from pgbn.testing import z_counts

SUMMANDS = (0.5, 0.0, 1.5, 2.0)


def test_shares_are_multinomial() -> None:
    counts = np.full((20_000, 1), 5)
    shares, again = (share_out(Stream(3, (20_000, 1, 1, 1), n), counts, SUMMANDS) for n in (1, 2))
    np.testing.assert_array_equal(shares, again)
    assert [share.shape for share in shares] == [(20_000, 1)] * 4
    assert (sum(shares) == 5).all()
    for share, value in zip(shares, SUMMANDS, strict=True):
        assert z_counts(share, lambda k, value=value: binom.pmf(k, 5, value / 4.0), top=6) < 4
    assert z_counts(shares[2] + shares[3], lambda k: binom.pmf(k, 5, 3.5 / 4.0), top=6) < 4


def test_summands_broadcast_and_zeros_get_nothing() -> None:
    counts = np.arange(6).reshape(1, 2, 3)
    first, second = share_out(Stream(1, (1, 1, 2, 3)), counts, [np.eye(2, 3), 1.0 - np.eye(2, 3)])
    np.testing.assert_array_equal(first, counts * np.eye(2, 3, dtype=int))
    np.testing.assert_array_equal(first + second, counts)
