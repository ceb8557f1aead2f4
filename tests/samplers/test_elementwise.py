"""Products of matrices in a fixed order; the functions are tested in test_elementary.py."""

from __future__ import annotations

import numpy as np

from pgbn.samplers.elementwise import exp_of, log1p_of, log1p_ratio, log_of, matrix_product


def test_products() -> None:
    random = np.random.default_rng(0)
    a, b = random.gamma(0.3, size=(5, 70)), random.gamma(0.3, size=(70, 130))
    a[2] = 0.0
    np.testing.assert_allclose(matrix_product(a, b), a @ b, rtol=1e-13)
    np.testing.assert_array_equal(matrix_product(a[3:4], b), matrix_product(a, b)[3:4])
    assert matrix_product(a[:0], b).shape == (0, 130)
    np.testing.assert_array_equal(
        matrix_product(np.asfortranarray(a), b.T.copy().T), matrix_product(a, b)
    )


def test_what_is_given_stays() -> None:
    x = np.ones(3)
    exp_of(x)
    assert (x == 1.0).all()


def test_logarithms_of_quotients_do_not_overflow() -> None:
    x, y = np.array([3.0, 700.0, 0.0, 1e300]), np.array([2.0, 2.3e-308, 1e-300, 1e-300])
    expected = [np.log(2.5), np.log(700.0) - np.log(2.3e-308), 0.0, 600 * np.log(10.0)]
    np.testing.assert_allclose(log1p_ratio(x, y), expected, rtol=1e-15)
    assert log1p_ratio(3.0, 2.0) == log1p_of(1.5)
    assert log1p_ratio(1e300, 1e-300) == log_of(1e300) - log_of(1e-300)
