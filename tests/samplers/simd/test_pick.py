"""Units picked ∝ φ_k θ_k for several cells at once, which share the arrays of running sums.

One cell at the beginning of the arrays: test_infer_units.
"""

import numpy as np
from numba import njit
from scipy import stats

from pgbn.samplers.lanes import ROOM, pick, weigh
from tests.helpers.laws import new_stream


@njit
def _pick(rng, phi, theta, draws, counts):
    cells, size = phi.shape[0], np.uint64(theta.size)
    reached, lanes = np.empty(cells * theta.size, np.float32), np.zeros(cells * ROOM, np.float32)
    weight = np.empty(cells)
    for c in range(np.uint64(cells)):
        weight[c] = weigh(
            phi.reshape(-1), c * size, theta, size, reached, c * size, lanes, c * np.uint64(ROOM)
        )
    for _ in range(draws):
        for c in range(np.uint64(cells)):
            unit = pick(rng, size, reached, c * size, lanes, c * np.uint64(ROOM), weight[c])
            counts[c, unit] += 1
    return weight


def test_every_cell_has_the_probabilities_of_its_products():
    rng = np.random.default_rng(0)
    phi, theta = np.zeros((3, 48), np.float32), np.zeros(48, np.float32)
    phi[:, :40], theta[:40] = rng.random((3, 40)), rng.gamma(0.5, size=40)
    phi[1, 5:30] = 0.0
    counts = np.zeros((3, 48), np.int64)
    weight = _pick(new_stream(), phi, theta, 50_000, counts)
    product = (phi * theta).astype(float)
    np.testing.assert_allclose(weight, product.sum(axis=1), rtol=1e-5)
    for seen, expected in zip(counts, product, strict=True):
        assert not seen[expected == 0.0].any()
        common = expected > 1e-3 * expected.sum()
        law = expected[common] / expected[common].sum() * seen[common].sum()
        assert stats.chisquare(seen[common], law).pvalue > 1e-4
