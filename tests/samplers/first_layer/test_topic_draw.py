"""Topics of words from lists of large loadings: exact for any bound of the list."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.first_layer.blocked import draw_labels
from pgbn.samplers.first_layer.tokens import Tokens
from pgbn.samplers.first_layer.value_lists import rebuild_loadings


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
    tokens = Tokens(np.array([0, labels.size]), words)
    draw_labels(np.uint64(5), 0, 1, tokens, loadings, np.array([theta]), labels)
    assert stats.binomtest(int(labels.sum()), labels.size, expected).pvalue > 1e-3
