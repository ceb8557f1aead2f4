"""Counts behind ones and their topics, drawn together: against exact probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.executor import Threads
from pgbn.samplers.first_layer.blocked import padded_topics, split_all_cells
from pgbn.samplers.first_layer.extra_terms import PseudoTopics
from pgbn.samplers.first_layer.value_lists import loadings_of
from pgbn.samplers.thinning import SparseCounts

ROWS = 6000  # copies of one row that has both words


def draw(phi, theta, scale=1.0, pseudo=None, threads=1, key=3, rows=ROWS):
    """The counts (rows, 2) behind the ones, those of words and topics, of rows and topics, and of
    the pseudo-topics of rows."""
    topics = phi.shape[1]
    loadings, counts = loadings_of(phi[None].copy()), np.zeros(2 * rows, np.int64)
    words = np.tile(np.array([0, 1], np.int32), rows)
    cells = SparseCounts(np.arange(0, 2 * rows + 1, 2), words, counts)
    n, m = np.zeros((1, 2, topics), np.int64), np.zeros((rows, topics), np.int64)
    split = None
    if pseudo is not None:
        size = pseudo.row.shape[1]
        pseudo = PseudoTopics(np.tile(pseudo.row, (rows, 1)), pseudo.word)
        split = PseudoTopics(np.zeros((rows, size), int), np.zeros((2, size), int))
    behind = (padded_topics(loadings, np.float32), np.full(rows, scale))
    split_all_cells(key, cells, loadings, np.tile(theta, (rows, 1)), n, m, Threads(threads),
                    pseudo, split, behind=behind)  # fmt: skip
    told = m.sum() + (0 if split is None else split.row.sum())
    assert counts.min() >= 1
    assert told == counts.sum()
    assert n.sum() + (0 if split is None else split.word.sum()) == counts.sum()
    return counts.reshape(rows, 2), n[0], m, split


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


@pytest.mark.parametrize("topics", [2, 16, 19])
@pytest.mark.parametrize("scale", [0.05, 1.0, 30.0])  # 30: rates above and below 12, many counts
def test_counts_and_topics(topics: int, scale: float) -> None:
    rng = np.random.default_rng(topics)
    phi, theta = rng.dirichlet(np.ones(2), topics).T.copy(), rng.gamma(1.0, 1.0 / topics, topics)
    phi[:, 1] = 0.0
    counts, n, m, _ = draw(phi, theta, scale)
    product = phi * theta
    for word in (0, 1):
        rate = scale * product[word].sum()
        law = stats.poisson.pmf(np.arange(1, 200), rate) / -np.expm1(-rate)
        assert follows(np.bincount(counts[:, word], minlength=200)[1:200], law)
        assert follows(n[word], product[word] / product[word].sum())
    assert not m[:, 1].any()


def test_further_terms() -> None:
    phi, theta = np.array([[0.7, 0.2], [0.3, 0.8]]), np.array([0.4, 0.8])
    pseudo = PseudoTopics(np.array([[0.5, 0.2]]), np.array([[0.4, 1.0], [2.0, 0.0]]))
    counts, n, _, split = draw(phi, theta, 1.5, pseudo)
    weight = np.concatenate((phi * theta, pseudo.row * pseudo.word), axis=1)
    for word in (0, 1):
        rate = 1.5 * weight[word].sum()
        mean = rate / -np.expm1(-rate)
        sd = np.sqrt((mean * (1 + rate - mean)) / ROWS)
        assert abs(counts[:, word].mean() - mean) < 4.5 * sd
        assert follows(np.append(n[word], split.word[word]), weight[word] / weight[word].sum())


@pytest.mark.parametrize("size", [1e-45, 1e-200, 1e35, 1e200])
def test_where_single_precision_is_too_narrow(size: float) -> None:
    """Sums far beyond it are found, and split, in double precision."""
    phi, theta = np.array([[0.75, 0.25], [0.25, 0.75]]), size * np.array([1.0, 3.0])
    counts, n, *_ = draw(phi, theta, 0.7 / size)
    rate = 0.7 * (phi @ [1.0, 3.0])
    mean = rate / -np.expm1(-rate)
    assert np.allclose(counts.mean(axis=0), mean, rtol=0.05)
    assert follows(n[0], np.array([0.5, 0.5]))
    assert follows(n[1], np.array([0.1, 0.9]))


def test_a_one_that_nothing_explains_is_one_count() -> None:
    counts, n, *_ = draw(np.full((2, 3), 0.5), np.zeros(3))
    assert (counts == 1).all()
    assert (n > 0).all()


def test_large_counts_are_split_by_binomials() -> None:
    counts, n, *_ = draw(np.full((2, 3), 0.5), np.array([0.1, 0.3, 0.6]), 1e9, rows=20)
    assert np.allclose(counts / 5e8, 1.0, atol=1e-3)
    assert np.allclose(n / n.sum(axis=1, keepdims=True), [0.1, 0.3, 0.6], atol=1e-4)


def test_the_same_on_two_threads() -> None:
    rng = np.random.default_rng(1)
    arguments = rng.random((2, 5)), rng.random(5)
    one, two = draw(*arguments), draw(*arguments, threads=2)
    assert all(np.array_equal(a, b) for a, b in zip(one[:3], two[:3], strict=True))
