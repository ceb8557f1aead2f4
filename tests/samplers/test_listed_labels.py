"""Labels drawn from lists of large loadings: stale entries, and any bound of the list."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.first_layer.blocked import draw_labels
from pgbn.samplers.first_layer.loadings import draw_loadings, empty_loadings, rebuild_loadings

LANES = 8  # lists are read in whole lanes


def test_lists_forget_what_was_there_before() -> None:
    many, few = np.full((1, 20, 30), 3, np.int32), np.zeros((1, 20, 30), np.int32)
    room = empty_loadings(many.sum(axis=2), 30, 0.05)
    for key, counts in enumerate((many, few)):
        loadings = draw_loadings(key, counts, 0.05, room)
    for start, length in zip(loadings.start, loadings.length, strict=False):
        rest = loadings.large[start + length : start + length + -length % LANES]
        assert not rest.any()


@pytest.mark.parametrize(
    ("value", "bound", "theta", "expected"),
    [
        ((0.6, 0.4), 0.5, (1.0, 1.0), 0.4),  # one topic is listed, the other is not
        ((1e-6, 3e-6), 1.0, (3.0, 1.0), 0.5),  # nearly every candidate is refused
    ],
)
def test_labels_are_exact_for_any_bound(
    value: tuple[float, float], bound: float, theta: tuple[float, float], expected: float
) -> None:
    loadings = rebuild_loadings(np.array([[value]]), np.ones((1, 2)), np.array([bound]))
    labels, words = np.zeros(4000, np.uint16), np.zeros(4000, np.int32)
    rows = np.array([0, labels.size])
    draw_labels(np.uint64(5), 0, 1, 1, rows, words, loadings, np.array([theta]), labels)
    assert stats.binomtest(int(labels.sum()), labels.size, expected).pvalue > 1e-3
