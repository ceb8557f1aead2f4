"""A layer of gammas whose shape is a mix of the layer above, and its tables."""

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.gamma_layers import draw_layer, draw_top, share_tables
from pgbn.samplers.lanes import LANES
from pgbn.samplers.row_kernels import BLOCK
from tests.helpers.means import close

KEY = np.uint64(11)


def check_gammas(sample, law, least=1e-36):
    """The law of those above ``least``, and how many there are: smaller ones are not resolved."""
    seen, tail = sample[sample > least], law.sf(least)
    assert abs(seen.size - tail * sample.size) <= 5 * np.sqrt(tail * (1 - tail) * sample.size)
    assert stats.kstest(1 - law.sf(seen) / tail, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("shape", [0.02, 0.2, 0.7, 0.999, 1.0, 3.5])
def test_a_layer_is_gamma_distributed(shape):
    rows, columns = 4000, 9
    theta, phi = np.full((1, rows, 2), shape / 2), np.ones((1, columns, 2))
    m, rate = np.zeros((1, rows, columns), np.int64), np.full((1, rows), 2.0)
    out, sums = np.empty((1, rows, columns)), np.empty((1, rows))
    draw_layer(KEY, 0, -(-rows // BLOCK), 1.0, theta, phi, m, rate, out, sums)
    np.testing.assert_allclose(sums, out.sum(axis=2), rtol=1e-14)
    check_gammas(out, stats.gamma(shape, scale=0.5))
    other = np.empty_like(out)
    draw_top(KEY, 0, -(-rows // BLOCK), np.full((1, columns), shape), m, rate, other, sums)
    np.testing.assert_allclose(out, other, rtol=1e-4)


def test_gammas_of_tiny_shape_have_the_right_tail():
    rows, columns, shape = 20_000, 16, 1e-3
    m, rate = np.zeros((1, rows, columns), np.int32), np.ones((1, rows))
    out, sums = np.empty((1, rows, columns)), np.empty((1, rows))
    draw_top(KEY, 0, -(-rows // BLOCK), np.full((1, columns), shape), m, rate, out, sums)
    check_gammas(out, stats.gamma(shape))
    assert out.min() > 0


def test_a_layer_adds_shapes_and_counts_and_divides_by_rates():
    rng = np.random.default_rng(0)
    rows, columns, repeats = 40, 5, 4000
    theta, phi = (
        rng.gamma(0.5, size=(1, rows, 3)),
        rng.dirichlet(np.ones(columns), 3).T[None].copy(),
    )
    m, rate = rng.poisson(0.5, (1, rows, columns)), rng.gamma(3.0, size=(1, rows))
    out, sums = np.empty((repeats, rows, columns)), np.empty((repeats, rows))
    for i in range(repeats):
        draw_layer(np.uint64(i), 0, 2, 1.5, theta, phi, m, rate, out[i : i + 1], sums[i : i + 1])
    shape = 1.5 * theta[0] @ phi[0].T + m[0]
    assert close(out, shape / rate[0][:, None], shape / rate[0][:, None] ** 2)


def test_zero_shapes_give_zeros():
    theta, phi = np.zeros((1, 40, 3)), np.ones((1, 6, 3))
    m, rate, out = np.zeros((1, 40, 6), np.int64), np.ones((1, 40)), np.ones((1, 40, 6))
    sums = np.empty((1, 40))
    m[0, 3, 2] = 4
    draw_layer(KEY, 0, 2, 1.0, theta, phi, m, rate, out, sums)
    assert out[0, 3, 2] > 0
    out[0, 3, 2] = 0
    assert not out.any()


def test_shapes_beyond_single_precision():
    """Gam(a) with a = 1e60 is a, but for 1e-30 of it; and no gamma is infinite."""
    theta, phi = np.array([[[1e60, 1e-3], [2.0, 2.0], [1e290, 1.0]]]), np.full((1, 2, 2), 0.5)
    m, rate = np.zeros((1, 3, 2), np.int64), np.array([[10.0, 1e-300, 1e-100]])
    out, sums = np.empty((1, 3, 2)), np.empty((1, 3))
    draw_layer(KEY, 0, 1, 1.0, theta, phi, m, rate, out, sums)
    np.testing.assert_allclose(out[0, 0], 5e58, rtol=1e-7)
    assert (out[0, 1:] > 1e298).all()
    assert (out <= 1e300).all()
    shared = np.array([[1e60, 1e-3]])
    draw_top(KEY, 0, 1, shared, m, rate, out, sums)
    np.testing.assert_allclose(out[0, 0, 0], 1e59, rtol=1e-7)
    assert np.isfinite(out).all()
    assert out[0, 0, 1] < 10.0


# ---- tables -----------------------------------------------------------------------------


def tables(m, theta, phi, repeats, coefficient=1.0):
    padded = np.zeros((*phi.shape[:2], -(-phi.shape[2] // LANES) * LANES), np.float32)
    padded[:, :, : phi.shape[2]] = phi
    up, down = [], []
    for i in range(repeats):
        n_phi = np.zeros(phi.shape, np.int64)
        n_theta = np.full(theta.shape, -1)  # written, not added to
        share_tables(np.uint64(i), 0, len(m), len(m), coefficient, m, theta, padded, n_phi, n_theta)
        up.append(n_theta)
        down.append(n_phi[0])
    return np.array(up), np.array(down)


@pytest.mark.parametrize("topics", [1, 3, 16, 37])
def test_tables_and_their_split_have_the_exact_mean(topics):
    rng = np.random.default_rng(topics)
    m = rng.poisson(1.0, (6, 4))
    m[0] = 0
    m[1, 2] = 300
    theta, phi = rng.gamma(0.4, size=(6, topics)), rng.dirichlet(np.ones(4), topics).T[None]
    shape = 0.7 * theta @ phi[0].T
    expected = np.array([
        [sum(a / (a + i) for i in range(n)) for n, a in zip(*row, strict=True)]
        for row in zip(m, shape, strict=True)
    ])  # fmt: skip
    up, down = tables(m, theta, phi, 6000, 0.7)
    assert not up[:, 0].any()
    share = phi[0][None] * theta[:, None, :] / (theta @ phi[0].T)[:, :, None]
    mean = expected[:, :, None] * share
    # sums of Bernoulli variables: the variance is at most the mean
    assert close(up, mean.sum(1), mean.sum(1), 5)
    assert close(down, mean.sum(0), mean.sum(0), 5)
    assert np.array_equal(up.sum((1, 2)), down.sum((1, 2)))


def test_tables_where_every_unit_underflowed():
    up, down = tables(np.array([[1, 0, 5]]), np.zeros((1, 4)), np.full((1, 3, 4), 1 / 3), 200)
    assert (up.sum((1, 2)) == 2).all()
    assert (down[:, 1] == 0).all()
