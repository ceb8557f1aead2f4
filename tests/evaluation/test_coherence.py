"""Coherence and diversity of topics."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn.errors import DataError
from pgbn.evaluation import (
    coherence,
    diversity,
    leading_terms,
)


def test_coherence_by_hand():
    x = np.array([[1, 2, 0, 0], [3, 1, 0, 0], [1, 0, 1, 0], [0, 0, 2, 1]])
    phi = np.array([[0.5, 0.4, 0.06, 0.04], [0.06, 0.04, 0.4, 0.5]])
    npmi = coherence(phi, x, "npmi", top=2)
    both, first, second = 2 / 4, 3 / 4, 2 / 4
    assert npmi[0] == pytest.approx(math.log(both / (first * second)) / -math.log(both))
    umass = coherence(phi, x, "umass", top=2)
    assert umass[0] == pytest.approx(math.log((2 + 1) / 3))
    assert umass[1] == pytest.approx(math.log((1 + 1) / 1))  # term 3 leads, then term 2


def test_coherence_edges():
    phi = np.array([[0.5, 0.5, 0.0]])
    never = np.array([[1, 0, 1], [0, 1, 1]])
    assert coherence(phi, never, "npmi", 2)[0] == -1.0
    always = np.ones((3, 3), int)
    assert coherence(phi, sp.csr_array(always), "npmi", 2)[0] == 1.0
    with pytest.raises(DataError, match="measure"):
        coherence(phi, never, "cv")
    with pytest.raises(DataError, match="columns"):
        coherence(phi, np.ones((2, 5), int), top=2)


def test_diversity():
    phi = np.array([[0.6, 0.3, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]])
    assert diversity(phi, 2) == 1.0
    assert diversity(phi, 3) == pytest.approx(4 / 6)
    assert leading_terms(phi, 2).tolist() == [[0, 1], [3, 2]]


def test_topics_as_lists_and_other_input():
    phi = [[0.6, 0.3, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]]
    x = [[1, 2, 0, 0], [0, 0, 2, 1]]
    assert leading_terms(phi, 2.0).tolist() == [[0, 1], [3, 2]]
    assert diversity(phi, 2) == 1.0
    np.testing.assert_array_equal(coherence(phi, x, top=2), coherence(np.array(phi), x, top=2))
    for run in (lambda: diversity(phi, 2.5), lambda: coherence(phi, x, top=2.5)):
        with pytest.raises(DataError, match=r"top=2\.5"):
            run()
    for wrong in ([[1.0], [0.5, 0.5]], [0.5, 0.5], [["a", "b"]], None, np.full((2, 4), np.nan)):
        for measure in (lambda p: coherence(p, x), diversity, leading_terms):
            with pytest.raises(DataError, match="phi: give an array"):
                measure(wrong)
    with pytest.raises(DataError, match="X: masked"):
        coherence(phi, np.ma.masked_equal(x, 1), top=2)
