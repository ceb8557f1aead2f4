"""Twins, diversity and effective widths of layers."""

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation import layer_quality, leading_words, similar_topics
from pgbn.evaluation.layer_quality import effective_width, shared_words
from pgbn.training.trained import TrainedNetwork


def three_topics():
    """Topics 0 and 2 of 20 terms share eight of ten leading terms; topic 1 has ten of its own."""
    phi = np.full((3, 20), 1e-4)
    phi[0, :10] = np.arange(10, 0, -1)
    phi[1, 10:] = np.arange(10, 0, -1)
    phi[2, 2:12] = np.arange(10, 0, -1)
    phi /= phi.sum(axis=1, keepdims=True)
    upper = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]])
    weights = (np.array([2.0, 1.0, 1.0]), np.array([1.0, 3.0]))
    return TrainedNetwork.of_topics(phi=(phi, upper), r=np.ones(2), c=np.ones(2), weights=weights)


def test_twins_share_their_leading_words():
    model = three_topics()
    (pair,) = similar_topics(model, 1)
    assert (pair.first, pair.second, pair.shared) == (0, 2, 8)
    assert pair.terms == tuple(range(2, 10))
    assert str(pair) == "1/0 and 1/2 share 8 words"
    assert similar_topics(model, 1, shared=9) == []
    assert [each.shared for each in similar_topics(model, 1, shared=1)] == [8, 2]
    with pytest.raises(DataError, match="shared=11 must be at most top=10"):
        similar_topics(model, 1, shared=11)


def test_words_in_common_are_counted_by_pairs():
    leading = np.array([[0, 1, 2], [2, 1, 5], [7, 8, 9]])
    expected = [[len(set(a) & set(b)) for b in leading.tolist()] for a in leading.tolist()]
    np.testing.assert_array_equal(shared_words(leading), expected)


def test_the_effective_width_is_that_of_equal_shares():
    assert effective_width(np.ones(7)) == pytest.approx(7)
    assert effective_width(np.array([1.0, 0.0, 0.0])) == pytest.approx(1)
    assert effective_width(np.zeros(3)) == 1
    w = np.array([0.5, 0.25, 0.25])
    assert effective_width(w) == pytest.approx(np.exp(-(w * np.log(w)).sum()))


def test_a_layer_in_one_line():
    first, second = layer_quality(three_topics())
    assert (first.layer, first.width, first.twins) == (1, 3, 2)
    assert first.diversity == pytest.approx(20 / 30)
    assert first.effective == pytest.approx(effective_width(np.array([0.5, 0.25, 0.25])))
    assert (second.layer, second.width) == (2, 2)
    assert str(first) == "layer 1: 3 topics, effectively 3; 2 have a twin, diversity 0.67"
    with pytest.raises(DataError, match="layers=3"):
        layer_quality(three_topics(), layers=[3])


def test_upper_layers_are_read_by_relevance():
    """Word 0 is the likeliest of both topics, and the commonest of all: it does not lead."""
    phi = np.zeros((2, 42))
    phi[:, :2] = 0.09, 0.06
    phi[0, 2:22] = phi[1, 22:] = [0.08, *[0.77 / 19] * 19]
    model = TrainedNetwork.of_topics(phi=(phi, np.array([[0.99, 0.01], [0.01, 0.99]])), r=np.ones(2),
                           c=np.ones(2))  # fmt: skip
    by_relevance, by_probability = leading_words(model, 2), leading_words(model, 2, relevance=1)
    assert by_relevance.shape == by_probability.shape == (2, 10)
    assert by_probability[:, 0].tolist() == [0, 0]
    assert by_relevance[:, 0].tolist() == [2, 22]
