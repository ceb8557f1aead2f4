"""Products and sums of rows: exact, and bit-identical for any blocks of rows. Covers `lanes`."""

import numpy as np
import pytest

from pgbn.samplers.row_kernels import contract, matrix_product, sum_rows

KEY = np.uint64(11)


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


def test_rows_beyond_single_precision_keep_their_proportions():
    a, b = np.array([[[1e100, 3e100], [1.0, 3.0]]]), np.array([[[0.5, 0.0], [0.5, 1.0]]])
    out = np.empty((1, 2, 2), np.float32)
    contract(KEY, 0, 2, a, b, out, np.float32)
    assert np.isfinite(out).all()
    np.testing.assert_allclose(out[0, 0, 1] / out[0, 0, 0], 7.0, rtol=1e-6)
    np.testing.assert_allclose(out[0, 1], [0.5, 3.5], rtol=1e-6)


def test_products():
    random = np.random.default_rng(0)
    a, b = random.gamma(0.3, size=(5, 70)), random.gamma(0.3, size=(70, 130))
    a[2] = 0.0
    np.testing.assert_allclose(matrix_product(a, b), a @ b, rtol=1e-13)
    np.testing.assert_array_equal(matrix_product(a[3:4], b), matrix_product(a, b)[3:4])
    assert matrix_product(a[:0], b).shape == (0, 130)
    np.testing.assert_array_equal(
        matrix_product(np.asfortranarray(a), b.T.copy().T), matrix_product(a, b)
    )


@pytest.mark.parametrize("columns", [1, 15, 16, 33])
def test_rows_have_one_sum_wherever_it_is_computed(columns):
    a = np.random.default_rng(columns).gamma(0.1, size=(50, columns))
    out, again = np.empty(50), np.empty(50)
    sum_rows(np.uint64(0), 0, 50, a, out)
    np.testing.assert_allclose(out, a.sum(axis=1), rtol=1e-14)
    for i in range(50):
        sum_rows(np.uint64(0), 0, 1, a[i : i + 1].copy(), again[i : i + 1])
    assert np.array_equal(out, again)
