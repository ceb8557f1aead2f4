"""Gammas in turn against their exact conditionals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.sequential_kernels import Edges, Entries, Parents, Weights, draw_entries

R, N, K = 3000, 3, 2
NONE = np.zeros((0, 0))
ALL = Edges(*(np.zeros(0, np.int64) for _ in range(4)))


def entries(rng: np.random.Generator, fixed: float = 0.0) -> Entries:
    count = np.broadcast_to(rng.integers(0, 4, (N, K)), (R, N, K)).copy()
    shape = np.broadcast_to(rng.random((N, K)) + 0.3, (R, N, K)).copy()
    rate = np.broadcast_to(rng.random((N, K)) + 0.5, (R, N, K)).copy()
    others = np.full((R, N, K), fixed) if fixed else np.zeros((0, 0, 0))
    return Entries(np.full((R, N, K), 0.7), count, shape, rate, others)


@pytest.mark.parametrize("fixed", [0.0, 1.5])
@pytest.mark.parametrize("diagonal", [True, False])
def test_entries_given_the_others(fixed: float, diagonal: bool) -> None:
    """φ_i (c + E) is a standard gamma, E from the new entries before and the old ones after."""
    rng = np.random.default_rng(1)
    known = entries(rng, fixed)
    before, after = (rng.random((1, K, 1 if diagonal else K)) for _ in "ba")
    old = known.value.copy()
    none = Parents(NONE, np.zeros((0, 0), np.int64), NONE, NONE)
    draw_entries(np.uint64(5), known, none, Weights(before, after), ALL)
    wide = [w[0] * np.eye(K) if diagonal else w[0] for w in (before, after)]
    for i in range(N):
        exposure = (
            fixed + known.value[:, :i].sum(1) @ wide[0].T + old[:, i + 1 :].sum(1) @ wide[1].T
        )
        scaled = known.value[:, i] * (known.rate[:, i] + exposure)
        for k in range(K):
            a = known.shape[0, i, k] + known.received[0, i, k]
            assert stats.kstest(scaled[:, k], stats.gamma(a).cdf).pvalue > 1e-4


def test_parents_are_drawn_before_their_entry() -> None:
    rng = np.random.default_rng(2)
    known = entries(rng)._replace(shape=np.zeros((0, 0, 0)))
    tables = np.broadcast_to(np.arange(N), (R, N)).copy()
    above = Parents(np.empty((R, N)), tables, np.full((R, N), 0.8), np.full((R, N), 1.2))
    weights, old = np.full((1, K, 1), 0.9), known.value.copy()
    draw_entries(np.uint64(6), known, above, Weights(weights, weights), ALL)
    for i in range(N):
        exposure = 0.9 * (known.value[:, :i].sum(1) + old[:, i + 1 :].sum(1))
        told = 1.2 + np.log1p(exposure / known.rate[:, i]).sum(axis=1)
        assert stats.kstest(above.value[:, i] * told, stats.gamma(0.8 + i).cdf).pvalue > 1e-4
        shape = above.value[:, i, None] + known.received[:, i]
        share = stats.gamma(shape).cdf(known.value[:, i] * (known.rate[:, i] + exposure))
        assert stats.kstest(share.reshape(-1), "uniform").pvalue > 1e-4


def test_large_and_small_entries_do_not_cancel() -> None:
    value = np.array([[[1e30], [1e-3], [2e-3]]])
    known = Entries(value.copy(), np.zeros((1, 3, 1), np.int64), np.full((1, 3, 1), 1e12),
                    np.full((1, 3, 1), 1e-9), np.zeros((0, 0, 0)))  # fmt: skip
    none = Parents(NONE, np.zeros((0, 0), np.int64), NONE, NONE)
    weights = np.zeros((1, 1, 1)), np.ones((1, 1, 1))
    draw_entries(np.uint64(1), known, none, Weights(*weights), ALL)
    np.testing.assert_allclose(known.value[0, :2, 0], 1e12 / np.array([3e-3, 2e-3]), rtol=1e-4)


def test_edges() -> None:
    """The edges 0 → 1, 2 → 1 and 0 → 2: entry 1 is the second of two of them."""
    rng = np.random.default_rng(3)
    known = entries(rng)
    before, after, old = np.full((1, K, 1), 0.6), np.full((1, K, 1), 1.4), known.value.copy()
    edges = Edges(np.array([0, 0, 2, 3]), np.array([0, 2, 0]),
                  np.array([0, 2, 2, 3]), np.array([1, 2, 1]))  # fmt: skip
    none = Parents(NONE, np.zeros((0, 0), np.int64), NONE, NONE)
    draw_entries(np.uint64(8), known, none, Weights(before, after), edges)
    new = known.value
    exposures = [1.4 * (old[:, 1] + old[:, 2]), 0.6 * (new[:, 0] + old[:, 2]),
                 0.6 * new[:, 0] + 1.4 * new[:, 1]]  # fmt: skip
    for i, exposure in enumerate(exposures):
        share = stats.gamma(known.shape[:, i] + known.received[:, i]).cdf(
            new[:, i] * (known.rate[:, i] + exposure)
        )
        assert stats.kstest(share.reshape(-1), "uniform").pvalue > 1e-4
