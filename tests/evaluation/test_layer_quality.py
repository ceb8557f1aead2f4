"""Duplicate topics, diversity, effective widths and coherence of layers, and advice on a training."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn.errors import DataError
from pgbn.evaluation import (
    coherence,
    diversity,
    layer_quality,
    training_advice,
)
from pgbn.evaluation.layer_quality import (
    effective_width,
    leading_terms,
    looks_like_noise,
    merge_duplicates,
    similar_topics,
    still_falling,
    without_duplicates,
)
from pgbn.evaluation.topic_words import leading_words
from pgbn.training.trained import TrainedNetwork
from pgbn.training.training_result import LayerwiseTraining
from tests.helpers.training import documents


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
    assert str(pair) == "layer1_topic0 and layer1_topic2 share 8 words"
    assert similar_topics(model, 1, shared=9) == []
    assert [each.shared for each in similar_topics(model, 1, shared=1)] == [8, 2]
    with pytest.raises(DataError, match="shared=11 must be at most top=10"):
        similar_topics(model, 1, shared=11)


def test_the_effective_width_is_that_of_equal_shares():
    assert effective_width(np.ones(7)) == pytest.approx(7)
    assert effective_width(np.array([1.0, 0.0, 0.0])) == pytest.approx(1)
    assert effective_width(np.zeros(3)) == 1
    w = np.array([0.5, 0.25, 0.25])
    assert effective_width(w) == pytest.approx(np.exp(-(w * np.log(w)).sum()))


def test_a_layer_in_one_line():
    first, second = layer_quality(three_topics())
    assert (first.layer, first.width, first.duplicates) == (1, 3, 2)
    assert first.diversity == pytest.approx(20 / 30)
    assert first.effective == pytest.approx(effective_width(np.array([0.5, 0.25, 0.25])))
    assert (second.layer, second.width) == (2, 2)
    assert str(first) == "layer 1: 3 topics, effectively 3; 2 have a duplicate, diversity 0.67"
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


def two_layers(terms=120):
    """Six topics of twenty terms each; in the second layer, 0 and 2 are duplicates, and 1 and 3."""
    phi = np.full((6, terms), 1e-6)
    for k in range(6):
        phi[k, 20 * k : 20 * k + 20] = np.arange(20, 0, -1)
    upper = np.array([[9, 1, 0, 0, 0, 0], [0, 0, 5, 1, 0, 0], [8, 1, 1, 0, 0, 0],
                      [0, 0, 7, 1, 0, 0], [0, 0, 0, 0, 1, 1]]) + 0.01  # fmt: skip
    phi, upper = (each / each.sum(axis=1, keepdims=True) for each in (phi, upper))
    return TrainedNetwork.of_topics(phi=(phi, upper), r=np.ones(5), c=np.ones(2),
                          weights=(np.ones(6), np.ones(5)))  # fmt: skip


def test_twins_above_the_first_layer_are_merged():
    merged = merge_duplicates(two_layers())
    assert merged.widths == (6, 3)
    assert similar_topics(merged, 2) == []
    assert merge_duplicates(merged) is None
    np.testing.assert_allclose(merged.r, [2, 2, 1])


def test_what_is_left_alone():
    one = two_layers().with_topics(phi=two_layers().phi[:1], r=np.ones(6), c=np.ones(1), weights=())
    assert merge_duplicates(one) is None  # one layer
    same = np.repeat(two_layers().phi[1][:1], 3, axis=0)
    alike = two_layers().with_topics(phi=(two_layers().phi[0], same), r=np.ones(3), weights=())
    assert merge_duplicates(alike) is None  # one topic would be left
    fewer = two_layers().phi[0][:, :99]
    fewer = fewer / fewer.sum(axis=1, keepdims=True)
    few = two_layers().with_topics(phi=(fewer, two_layers().phi[1]))
    assert merge_duplicates(few) is None


def test_rounds_end_when_there_are_no_twins():
    seen = []

    def train(merged):
        seen.append(merged.widths)
        return merged

    first = LayerwiseTraining((two_layers(),), "depth 2 reached")
    found = without_duplicates(first, train)
    assert seen == [(6, 3)]
    assert found.widths == (6, 3)
    assert found.stopped == "depth 2 reached; duplicates were merged, 6-5 to 6-3"
    assert without_duplicates(found, train) is found
    stubborn = without_duplicates(first, lambda merged: seen.append("again") or two_layers())
    assert seen.count("again") == 3
    assert stubborn.widths == (6, 5)


def training(topics=8, terms=20, theta=None, **parts):
    rng = np.random.default_rng(0)
    state = {} if theta is None else {"theta1": theta}
    network = TrainedNetwork.of_topics(
        phi=(rng.dirichlet(np.ones(terms), topics),), r=np.ones(topics), c=np.ones(1), state=state
    )
    return LayerwiseTraining((network.with_topics(**parts),), "depth 1 reached")


def trace(widths):
    return {"sweep": np.arange(len(widths)) * 10.0, "width": np.asarray(widths, float)}


@pytest.mark.parametrize(
    ("widths", "falls"),
    [
        (np.linspace(100, 50, 40), True),
        (np.concatenate([np.linspace(100, 50, 20), np.full(20, 50)]), False),
        (np.full(40, 30), False),
        ([50, 49] * 20, False),
        ([9, 8, 7], False),  # too short to tell
        ([10] * 20 + [9] * 20, False),  # one topic comes and goes
    ],
)
def test_a_width_that_still_falls(widths, falls):
    assert still_falling(np.arange(len(widths)), widths) is falls
    told = training_advice(training(traces=trace(widths)))
    assert any("still falling" in text for text in told) is falls


def test_merging_is_no_fall():
    fall = trace([60] * 25 + [30] * 15)
    assert any("still falling" in text for text in training_advice(training(traces=fall)))
    fall["before_merging"] = np.repeat([1.0, 0.0], [25, 15])
    assert training_advice(training(traces=fall)) == []


def test_more_topics_than_terms_or_nearly_as_many_as_documents():
    assert "21 topics of 20 terms" in training_advice(training(topics=21))[0]
    (told,) = training_advice(training(topics=8), documents(n=20, terms=20))
    assert "8 topics are too many for 20 documents" in told
    assert training_advice(training(topics=8), documents(n=60, terms=20)) == []


def test_short_texts_without_repeated_words_are_not_called_noise():
    """Two themes, each word once in a text: repeats, by which noise is told, say nothing."""
    rng = np.random.default_rng(0)
    texts = np.zeros((40, 16), int)
    for j, text in enumerate(texts):
        text[8 * (j % 2) + rng.choice(8, 5, replace=False)] = 1
    assert not looks_like_noise(texts)


def test_noise_is_told_from_topics():
    rng = np.random.default_rng(1)
    for seed in range(5):
        assert looks_like_noise(rng.poisson(0.3, (80, 50)))
        rare = rng.dirichlet(np.full(300, 0.1))
        assert looks_like_noise(sp.csr_array(rng.multinomial(15, rare, 400)))
        assert not looks_like_noise(documents(80, 50, 3, seed))
    assert "looks like noise" in training_advice(training(), rng.poisson(0.4, (60, 20)))[0]


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (1, 9), (9, 1)])
def test_what_cannot_be_told_is_not(shape):
    assert not looks_like_noise(np.ones(shape, int))
    assert not looks_like_noise(np.zeros((4, 4), int))


def test_a_topic_that_leads_everywhere():
    theta = np.full((30, 8), 0.1)
    theta[np.arange(30), np.arange(30) % 8] = 1.0
    assert training_advice(training(theta=theta)) == []
    theta[:12] = 0.1
    theta[:12, 3] = 1.0
    (told,) = training_advice(training(theta=theta))
    assert told.startswith("layer1_topic3 (")
    assert "leads in 47% of the documents" in told
    assert "max_df" in told


def test_layers_of_twins_are_told():
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(200, 0.05), 8)
    assert training_advice(training(terms=200, phi=(phi,))) == []
    phi[5] = phi[2]
    (told,) = training_advice(training(terms=200, phi=(phi,)))
    assert told.startswith("layer 1: 2 of 8 topics share six of their ten leading words")
    assert "max_width" in told
    assert "max_df" in told
    few = training(topics=8, terms=20)
    same = few.deepest.with_topics(phi=(np.repeat(few.deepest.phi[0][:1], 8, axis=0),))
    assert training_advice(replace(few, models=(same,))) == [], "20 terms cannot tell"


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
