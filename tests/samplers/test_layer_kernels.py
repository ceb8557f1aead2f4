"""Kernels of gamma layers and the arithmetic below them, against exact expectations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.layers.gamma_layer import BLOCK, draw_layer, draw_top
from pgbn.samplers.layers.tables import count_tables, share_tables
from pgbn.samplers.simd.contract import contract
from pgbn.samplers.simd.lanes import LANES
from pgbn.samplers.simd.logarithms import exp2, exp2_single, log2, log2_single
from pgbn.samplers.simd.sums import sum_rows
from pgbn.samplers.threads import run_behind

KEY = np.uint64(11)


def close(sample, mean, variance, slack=0.0):
    """|z| < 5 for the means of independent draws; ``slack`` draws more or less do not count."""
    number = len(sample)
    error = 5 * np.sqrt(variance / number) + slack / number
    return bool(np.all(np.abs(sample.mean(axis=0) - mean) <= error))


@pytest.mark.parametrize(("columns", "inner"), [(1, 1), (7, 3), (32, 8), (33, 40), (100, 65)])
@pytest.mark.parametrize("replicates", [1, 3])
@pytest.mark.parametrize(("kind", "precision"), [(np.float64, 1e-12), (np.float32, 2e-6)])
def test_contract_is_the_product(columns, inner, replicates, kind, precision):
    rng = np.random.default_rng(columns)
    a, b = rng.gamma(0.1, size=(replicates, 70, inner)), rng.random((replicates, columns, inner))
    out = np.empty((replicates, 70, columns))
    contract(KEY, 0, replicates * 70, a, b, out, kind)
    np.testing.assert_allclose(out, np.einsum("rik,rjk->rij", a, b), rtol=precision, atol=1e-300)
    again = np.empty_like(out)
    for start, stop in [(0, 5), (5, 64), (64, replicates * 70)]:
        contract(KEY, start, stop, a, b, again, kind)
    assert np.array_equal(out, again)


def test_the_exact_product_has_rows_and_columns_of_any_size():
    a = np.array([[[1e-300, 1e-280], [1.0, 1e-30]]])
    out = np.empty((1, 2, 2))
    contract(KEY, 0, 2, a, a, out, np.float64)
    np.testing.assert_allclose(out[0], a[0] @ a[0].T, rtol=1e-12)
    assert out[0, 0, 1] > 0.0


def test_logarithms_are_exact_to_rounding():
    x = np.exp(np.random.default_rng(0).uniform(-700, 700, 2000))
    np.testing.assert_allclose([log2(v) for v in x], np.log2(x), rtol=2e-15)
    y = np.random.default_rng(1).uniform(-1000, 900, 2000)
    np.testing.assert_allclose([exp2(v) for v in y], np.exp2(y), rtol=1e-15)
    assert exp2(-1e9) == exp2(-np.inf) == 0.0
    single = np.exp(np.random.default_rng(2).uniform(-80, 80, 2000)).astype(np.float32)
    np.testing.assert_allclose([log2_single(v) for v in single], np.log2(single), rtol=3e-7)
    single = np.random.default_rng(3).uniform(-126, 120, 2000).astype(np.float32)
    np.testing.assert_allclose([exp2_single(v) for v in single], np.exp2(single), rtol=3e-7)
    assert exp2_single(np.float32(-1e9)) == 0.0


def test_single_logarithms_near_one_keep_their_digits():
    x = np.float32(1.0) - np.arange(1, 500, dtype=np.float32) * np.float32(2.0**-22)
    np.testing.assert_allclose([log2_single(v) for v in x], np.log2(x.astype(float)), rtol=3e-7)


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


@pytest.mark.parametrize("columns", [1, 15, 16, 33])
def test_rows_have_one_sum_wherever_it_is_computed(columns):
    a = np.random.default_rng(columns).gamma(0.1, size=(50, columns))
    out, again = np.empty(50), np.empty(50)
    sum_rows(KEY, 0, 50, a, out)
    np.testing.assert_allclose(out, a.sum(axis=1), rtol=1e-14)
    for i in range(50):
        sum_rows(KEY, 0, 1, a[i : i + 1].copy(), again[i : i + 1])
    assert np.array_equal(out, again)


def test_tables_of_a_shared_shape_have_the_exact_mean():
    rng = np.random.default_rng(0)
    m, shape = rng.poisson(2.0, (30, 21)).astype(np.int32), rng.gamma(0.5, size=(1, 21))
    seen = np.zeros((4000, 1, 21), np.int64)
    for i in range(len(seen)):
        count_tables(np.uint64(i), 0, 30, 30, shape, m, seen[i])
    mean = np.array(
        [
            [sum(a / (a + i) for i in range(n)) for n, a in zip(row, shape[0], strict=True)]
            for row in m
        ]
    )
    assert close(seen[:, 0], mean.sum(axis=0), mean.sum(axis=0))


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


def test_work_behind_runs_in_order_and_passes_errors_on():
    seen = []
    run_behind(2, lambda i: seen.append(("a", i)), lambda i: seen.append(("b", i)),
               lambda i: seen.append(("c", i)), 3)  # fmt: skip
    assert [i for step, i in seen if step == "b"] == [0, 1, 2]
    for i in range(3):
        assert seen.index(("a", i)) < seen.index(("b", i)) < seen.index(("c", i))
    with pytest.raises(ZeroDivisionError):
        run_behind(2, lambda i: None, lambda i: None, lambda i: 1 // 0, 2)
