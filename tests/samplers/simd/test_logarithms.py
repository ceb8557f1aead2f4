"""Logarithms and powers of two against numpy's."""

import numpy as np

from pgbn.samplers.lanes import exp2, exp2_single, log2, log2_single


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
