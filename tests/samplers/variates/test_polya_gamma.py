"""Pólya-gamma draws against their exact moments and Laplace transform."""

import numpy as np
import pytest

from pgbn.samplers import Stream, vectorised

SHAPE = (1, 1, 200, 200)


@pytest.mark.parametrize("tilt", [0.0, 0.3, -1.0, 2.0, 3.2, 8.0, 60.0])
def test_moments_and_transform(tilt: float) -> None:
    x = vectorised.polya_gamma(Stream(9, SHAPE), tilt).ravel()
    c = max(abs(tilt), 1e-4)
    mean = np.tanh(c / 2) / (2 * c)
    variance = (np.sinh(c) - c) / (4 * c**3 * np.cosh(c / 2) ** 2) if c > 1e-2 else 1 / 24
    assert abs(x.mean() - mean) < 4.5 * np.sqrt(variance / x.size)
    assert x.var() == pytest.approx(variance, rel=0.06)
    for t in (0.5, 5.0, 60.0):  # E e^{-t x}, from the tail on the left to that on the right
        exact = np.cosh(c / 2) / np.cosh(np.sqrt(c * c / 4 + t / 2))
        found = np.exp(-t * x)
        assert abs(found.mean() - exact) < 4.5 * found.std() / np.sqrt(x.size)


def test_a_huge_tilt() -> None:
    x = vectorised.polya_gamma(Stream(9, (1, 1, 10, 10)), 1e4)
    assert np.allclose(x, 1 / (2 * 1e4), rtol=0.2)
