"""A small corpus with its labels, and the dense formulas that the layer-1 kernels must follow."""

import numpy as np
from scipy import stats

from pgbn.samplers.executor import Threads
from pgbn.samplers.first_layer.collapsed import (
    Labelling,
    allocate_collapsed,
    dense_counts,
    smoothing_of,
    word_topics,
)
from pgbn.samplers.first_layer.given_topics import (
    allocate_partial,
    allocate_shared,
    weigh_words,
    word_weights,
)
from pgbn.samplers.first_layer.tokens import (
    RowPriors,
    Tokens,
    count_rows,
    count_words,
    word_order,
)

ETA = 0.3
WORD = np.array([0, 1, 0, 0])
ROW = np.array([0, 0, 0, 1])


def dense_conditional(kernel, i, z, word, row, prior, phi, topics, vocabulary, eta=ETA):
    """P(z_i = k | the other labels) by the formulas, for one replicate, up to a factor; ``eta``
    may have a number for each word."""
    others = (np.arange(z.size) != i) & (z < topics)
    m = np.bincount(z[others & (row == row[i])], minlength=topics)
    weight = m + prior[row[i]]
    if kernel != "collapsed":
        weight = weight * phi[word[i]]
    else:
        n_k = np.bincount(z[others], minlength=topics)
        n_wk = np.bincount(z[others & (word == word[i])], minlength=topics)
        every = np.broadcast_to(eta, vocabulary)
        weight = weight * (every[word[i]] + n_wk) / (every.sum() + n_k)
    return weight


def one_sweep_law(kernel, state, word, row, prior, phi, topics, vocabulary):
    """The exact law, over all label vectors, of one sweep from ``state``."""
    law = {tuple(state): 1.0}
    for i in range(len(state)):
        after = {}
        for labels, probability in law.items():
            z = np.array(labels)
            conditional = dense_conditional(kernel, i, z, word, row, prior, phi, topics, vocabulary)
            conditional /= conditional.sum()
            for k in range(topics):
                target = (*labels[:i], k, *labels[i + 1 :])
                after[target] = after.get(target, 0.0) + probability * conditional[k]
        law = after
    return law


class Corpus:
    """R replicates of one small corpus, the labels, and the tables that belong to them."""

    def __init__(self, word, row, documents, vocabulary, topics, z, replicates=1):
        self.documents, self.vocabulary, self.topics = documents, vocabulary, topics
        self.replicates, self.rows = replicates, replicates * documents
        lengths = np.tile(np.bincount(row, minlength=documents), replicates)
        row_start = np.concatenate(([0], np.cumsum(lengths)))
        self.tokens = Tokens(row_start, np.tile(np.asarray(word, np.int32), replicates))
        self.z = np.array(z, np.uint16).ravel()
        self.order = word_order(self.tokens, documents, vocabulary)
        self.retabulate()

    def counts(self):
        """m, n_wk, n_k from the labels alone."""
        m = np.zeros((self.rows, self.topics), np.int64)
        count_rows(0, 0, self.rows, self.tokens.row_start, self.z, m)
        n_wk = np.zeros((self.replicates, self.vocabulary, self.topics), np.int32)
        words = self.replicates * self.vocabulary
        count_words(0, 0, words, *self.order, self.z, n_wk)
        return m, n_wk, n_wk.sum(axis=1, dtype=np.int64)

    def retabulate(self):
        self.m, self.n_wk, self.n_k = self.counts()
        self.table = word_topics(
            self.tokens, self.z, self.documents, self.vocabulary, self.topics, self.order
        )

    def collapsed(self, key, prior, share, threads=1, pseudo=None, eta=ETA):
        labelling = Labelling(self.z, self.table, self.n_k, self.m)
        smoothing = smoothing_of(eta, self.replicates, self.vocabulary)
        given = (self.tokens, labelling, RowPriors(prior, share), smoothing, pseudo)
        Threads(threads).rows(allocate_collapsed, self.replicates, key, *given)

    def partial(self, key, loadings, prior, share, threads=1, pseudo=None):
        """By the kernel for rows that share the prior, where there are no lists."""
        priors, executor = RowPriors(prior, share), Threads(threads)
        given = (self.tokens, self.z, loadings, self.m, priors)
        if loadings.topic.size:
            executor.rows(allocate_partial, self.rows, key, *given, pseudo)
        else:
            room = word_weights(loadings.length.size, self.topics)
            words = weigh_words(loadings, priors, self.documents, room, executor)
            executor.rows(allocate_shared, self.rows, key, *given, words, pseudo)

    def check(self, collapsed):
        m, n_wk, n_k = self.counts()
        np.testing.assert_array_equal(m, self.m)
        if collapsed:
            dense = np.empty_like(n_wk)
            dense_counts(self.table, dense)
            np.testing.assert_array_equal(dense, n_wk)
            np.testing.assert_array_equal(n_k, self.n_k)


def chi_square(labels, law, topics):
    """p-value of the observed label vectors (R, tokens) under ``law``."""
    base = topics ** np.arange(labels.shape[1])
    observed = np.bincount(labels.astype(np.int64) @ base, minlength=topics ** labels.shape[1])
    expected = np.zeros(observed.size)
    for state, probability in law.items():
        expected[int(np.array(state) @ base)] = probability * len(labels)
    assert not observed[expected == 0].any()
    small = expected < 5
    observed = np.append(observed[~small], observed[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    keep = expected > 0
    statistic = ((observed - expected)[keep] ** 2 / expected[keep]).sum()
    return stats.chi2.sf(statistic, max(1, keep.sum() - 1))


def wide_case(topics=21, vocabulary=6, seed=0):
    """A corpus whose words have more topics than one block of a list holds."""
    rng = np.random.default_rng(seed)
    row = np.repeat([0, 1, 2], [30, 1, 80])
    word = rng.integers(0, vocabulary - 1, row.size)  # the last word never occurs
    prior = rng.gamma(0.5, size=(3, topics))
    prior[0, 3] = 0.0
    return word, row, rng.integers(0, topics, row.size), prior


def wide_phi(topics):
    """Φ of the `wide_case`: lists of several blocks, long and short ones."""
    return np.random.default_rng(1).dirichlet(np.full(6, 0.1), size=topics).T


def check_first_labels(z, expected):
    """The first labels of replicates (R, tokens) against their law."""
    law = {(k,): probability for k, probability in enumerate(expected / expected.sum())}
    assert chi_square(z[:, :1], law, expected.size) > 1e-3
