"""Splits of cells, given or known to be above 0, and first labels, with Φ and θ fixed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.executor import Threads
from pgbn.samplers.first_layer.given_topics import (
    cell_sums,
    draw_labels,
    padded_topics,
    split_all_cells,
)
from pgbn.samplers.first_layer.loadings import loadings_of, rebuild_loadings
from pgbn.samplers.first_layer.tokens import PseudoTopics, Tokens, count_pseudo
from pgbn.samplers.thinning import SparseCounts

ROWS = 6000  # copies of one row that has both words
PSEUDO = PseudoTopics(np.array([[0.5, 0.2]]), np.array([[0.4, 1.0], [2.0, 0.0]]))


def draw(mode, phi, theta, counts=(0, 0), scale=1.0, pseudo=None, threads=1, rows=ROWS):
    """The counts (rows, 2) of the cells, those of words and topics, and of rows and topics; the
    further terms are the last topics. By lists, by all products, or with counts behind ones."""
    data, topics = np.tile(counts, rows), phi.shape[1]
    cells = SparseCounts(
        np.arange(0, 2 * rows + 1, 2), np.tile(np.array([0, 1], np.int32), rows), data
    )
    n, m = np.zeros((1, 2, topics), np.int64), np.zeros((rows, topics), np.int64)
    theta, loadings, split = np.tile(theta, (rows, 1)), loadings_of(phi[None].copy()), None
    if pseudo is not None:
        split = PseudoTopics(np.zeros((rows, 2), int), np.zeros((2, 2), int))
        pseudo = PseudoTopics(np.tile(pseudo.row, (rows, 1)), pseudo.word)
    weighed = {
        "lists": None,
        "products": (padded_topics(loadings), None),
        "behind": (padded_topics(loadings, np.float32), np.full(rows, scale)),
    }[mode]
    split_all_cells(3, cells, loadings, theta, n, m, Threads(threads), pseudo, split, weighed)
    words, each = n[0], m
    if split is not None:
        words, each = np.hstack((words, split.word)), np.hstack((m, split.row))
    np.testing.assert_array_equal(each.sum(axis=1), data.reshape(rows, 2).sum(axis=1))
    np.testing.assert_array_equal(words.sum(axis=1), data.reshape(rows, 2).sum(axis=0))
    return data.reshape(rows, 2), words, each


def follows(found, probability) -> bool:
    """Whether counts of categories follow probabilities; none may be where there is none."""
    if found[probability == 0].any():
        return False
    expected = probability * found.sum() / probability.sum()
    rare = expected < 5.0
    found, expected = (np.append(each[~rare], each[rare].sum()) for each in (found, expected))
    if expected[-1] < 1e-6:
        found, expected = found[:-1], expected[:-1]
    return found.size == 1 or stats.chisquare(found, expected).pvalue > 1e-4


def case(topics):
    rng = np.random.default_rng(topics)
    phi, theta = rng.dirichlet(np.ones(2), topics).T.copy(), rng.gamma(1.0, 1.0 / topics, topics)
    phi[:, 1] = 0.0
    return phi, theta


@pytest.mark.parametrize("mode", ["lists", "products"])
@pytest.mark.parametrize("counts", [(2, 3), (90, 300)])  # token by token, and by binomials
@pytest.mark.parametrize("topics", [2, 16, 19])
@pytest.mark.parametrize("pseudo", [None, PSEUDO])
def test_splits_are_multinomial(mode, counts, topics, pseudo):
    phi, theta = case(topics)
    law = phi * theta
    if pseudo is not None:
        law = np.hstack((law, pseudo.row * pseudo.word))
    _, n, m = draw(mode, phi, theta, counts, pseudo=pseudo, threads=2)
    assert follows(n[0], law[0])
    assert follows(n[1], law[1])
    p = law / law.sum(axis=1, keepdims=True)
    variance = counts @ (p * (1 - p))
    assert np.allclose(m.var(axis=0), variance, rtol=0.1, atol=4e-3 * max(counts))


@pytest.mark.parametrize("topics", [2, 16, 19])
@pytest.mark.parametrize("scale", [0.05, 1.0, 30.0])  # 30: rates above and below 12, many counts
@pytest.mark.parametrize("pseudo", [None, PSEUDO])
def test_counts_behind_ones_and_their_topics(topics, scale, pseudo):
    phi, theta = case(topics)
    law = phi * theta
    if pseudo is not None:
        law = np.hstack((law, pseudo.row * pseudo.word))
    counts, n, _ = draw("behind", phi, theta, scale=scale, pseudo=pseudo)
    for word in (0, 1):
        rate = scale * law[word].sum()
        truncated = stats.poisson.pmf(np.arange(1, 200), rate) / -np.expm1(-rate)
        assert follows(np.bincount(counts[:, word], minlength=200)[1:200], truncated)
        assert follows(n[word], law[word])


@pytest.mark.parametrize("size", [1e-45, 1e-200, 1e35, 1e200])
def test_where_single_precision_is_too_narrow(size):
    """Sums far beyond it are found, and split, in double precision."""
    phi, theta = np.array([[0.75, 0.25], [0.25, 0.75]]), size * np.array([1.0, 3.0])
    counts, n, _ = draw("behind", phi, theta, scale=0.7 / size)
    rate = 0.7 * (phi @ [1.0, 3.0])
    assert np.allclose(counts.mean(axis=0), rate / -np.expm1(-rate), rtol=0.05)
    assert follows(n[0], np.array([0.5, 0.5]))
    assert follows(n[1], np.array([0.1, 0.9]))


@pytest.mark.parametrize("mode", ["lists", "products", "behind"])
def test_a_cell_that_nothing_explains_keeps_its_count(mode):
    """All products underflowed: some topic must have the count."""
    counts, n, _ = draw(mode, np.full((2, 3), 0.5), np.zeros(3), (1, 1))
    assert (counts == 1).all()
    assert (n > 0).all()


def test_large_counts_behind_ones_are_split_by_binomials():
    counts, n, _ = draw(
        "behind", np.full((2, 3), 0.5), np.array([0.1, 0.3, 0.6]), scale=1e9, rows=20
    )
    assert np.allclose(counts / 5e8, 1.0, atol=1e-3)
    assert np.allclose(n / n.sum(axis=1, keepdims=True), [0.1, 0.3, 0.6], atol=1e-4)


@pytest.mark.parametrize(
    ("value", "bound", "theta"),
    [
        ((0.6, 0.4), 0.5, (1.0, 1.0)),  # one topic is listed, the other is not
        ((1e-6, 3e-6), 1.0, (3.0, 1.0)),  # nearly every candidate is rejected
        (tuple(np.linspace(0.02, 1.0, 21) ** 4), 0.1, tuple(np.linspace(3.0, 0.5, 21))),
    ],
)
@pytest.mark.parametrize(
    "pseudo", [None, PseudoTopics(np.array([[0.3, 0.1]]), np.array([[1.0, 2.0]]))]
)
def test_labels_are_exact_for_any_bound_of_the_lists(value, bound, theta, pseudo):
    loadings = rebuild_loadings(np.array([[value]]), np.ones((1, len(value))), np.array([bound]))
    labels, words = np.zeros(20_000, np.uint16), np.zeros(20_000, np.int32)
    tokens, law = Tokens(np.array([0, labels.size]), words), np.array(value) * theta
    if pseudo is not None:
        pseudo = PseudoTopics(pseudo.row * law.sum(), pseudo.word)
        law = np.append(law, pseudo.row * pseudo.word)
    draw_labels(np.uint64(5), 0, 1, tokens, loadings, np.array([theta]), labels, pseudo)
    assert follows(np.bincount(labels, minlength=law.size), law)


def test_tokens_of_further_terms_are_counted():
    tokens = Tokens(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32))
    row, word = np.full((2, 2), 9), np.full((2, 2), 9)
    count_pseudo(tokens, np.array([2, 0, 3], np.uint16), 2, 2, 2, row, word)
    assert row.tolist() == word.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("topics", [2, 8, 19])
def test_the_rates_of_cells(topics):
    rng = np.random.default_rng(topics)
    phi, theta, out = rng.random((1, 2, topics)), rng.random((2, topics)), np.empty(4)
    padded = padded_topics(loadings_of(phi.copy()))
    cells = SparseCounts(np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32), np.ones(4, int))
    terms = PseudoTopics(np.array([[0.5, 0.2], [1.0, 0.3]]), PSEUDO.word)
    for pseudo, more in ((None, 0.0), (terms, terms.row @ terms.word.T)):
        cell_sums(np.uint64(0), 0, 2, cells, 2, 2, padded, theta, pseudo, out)
        assert np.allclose(out.reshape(2, 2), theta @ phi[0].T + more)
