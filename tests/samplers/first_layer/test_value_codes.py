"""Bytes that bound the values of a word, and sums of prior weights by them."""

import numpy as np
import pytest

from pgbn.samplers.first_layer.loadings import draw_loadings
from pgbn.samplers.first_layer.tokens import RowPriors
from pgbn.samplers.first_layer.value_lists import (
    GROUP,
    bounds_table,
    empty_loadings,
    loadings_of,
    prior_sums,
    rebuild_loadings,
)


def bounds_of(loadings):
    """Below and above the values, (R, V, K)."""
    shape, table = loadings.value.shape, bounds_table()
    byte = loadings.byte[:, : shape[2]].astype(int)
    unit = loadings.unit[:, None]
    return (table[byte] * unit).reshape(shape), (table[byte + 1] * unit).reshape(shape)


@pytest.mark.parametrize("topics", [1, 16, 37, 400])
def test_values_are_within_a_sixteenth_of_their_bounds(topics: int) -> None:
    value = np.exp(np.random.default_rng(topics).normal(0.0, 3.0, (2, 30, topics)))
    low, high = bounds_of(loadings_of(value, coded=True))
    assert (low <= value).all()
    assert (value < high).all()
    coded = low > 0.0
    assert coded.any()
    assert (high[coded] <= low[coded] * 17 / 16).all()
    largest = value.max(axis=2, keepdims=True)
    assert (value[~coded] < (largest * 2.0**-14)[np.nonzero(~coded)[:2]].ravel()).all()


def test_bounds_are_the_numbers_of_five_binary_digits() -> None:
    expected = [0.0, *((1 + c % 16 / 16) * 2.0 ** (c // 16) for c in range(1, 257))]
    np.testing.assert_array_equal(bounds_table(), expected)


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-300, 1.0, 1e300])
def test_a_word_may_have_tiny_and_huge_values(value: float) -> None:
    values = np.array([[[value, value / 3, 0.0]]])
    low, high = bounds_of(loadings_of(values, coded=True))
    assert (low <= values).all()
    assert (values < high).all()


def test_codes_are_those_of_the_drawn_values() -> None:
    n_wk = np.random.default_rng(7).poisson(0.5, size=(2, 50, 30)).astype(np.int32)
    for eta, quick in ((0.05, True), (0.9, False), (1e-4, True)):  # the last in logarithms
        drawn = draw_loadings(61, n_wk, eta, empty_loadings(n_wk.sum(axis=2), 30, eta, coded=True),
                              quick=quick)  # fmt: skip
        again = rebuild_loadings(drawn.value, drawn.scale, drawn.bound, coded=True)
        for name in ("byte", "unit", "scale"):
            np.testing.assert_array_equal(getattr(drawn, name), getattr(again, name))
        assert drawn.topic.size == 0


@pytest.mark.parametrize("topics", [5, 32, 70])
def test_prior_weights_are_summed_by_groups(topics: int) -> None:
    rng = np.random.default_rng(topics)
    loadings = loadings_of(rng.gamma(0.3, size=(2, 9, topics)), coded=True)
    loadings.scale[...] = rng.gamma(2.0, size=(2, topics))
    shape = rng.gamma(1.0, size=(2, topics))
    found = prior_sums(loadings, RowPriors(shape, 4), 4)  # four rows for each replicate
    high = bounds_of(loadings)[1] / loadings.unit.reshape(2, 9, 1)
    sums = np.cumsum(high * (shape * loadings.scale)[:, None, :], axis=2).reshape(18, topics)
    ends = np.minimum(np.arange(GROUP, topics + GROUP, GROUP), topics) - 1
    np.testing.assert_allclose(found, sums[:, ends], rtol=1e-5)
