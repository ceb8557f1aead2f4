"""The layer-1 kernels against the dense formulas, and what they must keep."""

import itertools

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.first_layer.blocked import draw_labels, split_all_cells
from pgbn.samplers.first_layer.collapsed import allocate_collapsed, dense_counts, word_topics
from pgbn.samplers.first_layer.loadings import (
    draw_loadings,
    draw_phi,
    empty_loadings,
    loadings_of,
)
from pgbn.samplers.first_layer.partial import allocate_partial
from pgbn.samplers.first_layer.tokens import Tokens, count_rows, count_words, expand, word_order
from pgbn.samplers.random import stream_key
from pgbn.samplers.threads import run_rows

ETA = 0.3


# ---- the dense reference -----------------------------------------------------------------


def dense_conditional(kernel, i, z, word, row, prior, phi, topics, vocabulary, eta=ETA):
    """P(z_i = k | the other labels) by the formulas, for one replicate."""
    others = np.arange(z.size) != i
    m = np.bincount(z[others & (row == row[i])], minlength=topics)
    weight = m + prior[row[i]]
    if kernel == "partial":
        weight = weight * phi[word[i]]
    else:
        n_k = np.bincount(z[others], minlength=topics)
        n_wk = np.bincount(z[others & (word == word[i])], minlength=topics)
        weight = weight * (eta + n_wk) / (vocabulary * eta + n_k)
    return weight / weight.sum()


def one_sweep_law(kernel, state, word, row, prior, phi, topics, vocabulary):
    """The exact law, over all label vectors, of one sweep from ``state``."""
    law = {tuple(state): 1.0}
    for i in range(len(state)):
        after = {}
        for labels, probability in law.items():
            z = np.array(labels)
            conditional = dense_conditional(kernel, i, z, word, row, prior, phi, topics, vocabulary)
            for k in range(topics):
                target = (*labels[:i], k, *labels[i + 1 :])
                after[target] = after.get(target, 0.0) + probability * conditional[k]
        law = after
    return law


# ---- driving the kernels -----------------------------------------------------------------


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

    def collapsed(self, key, prior, share, eta=ETA, threads=1):
        run_rows(
            allocate_collapsed,
            self.replicates,
            threads,
            key,
            self.documents,
            *self.tokens,
            self.z,
            self.table,
            self.n_k,
            self.m,
            prior,
            share,
            eta,
        )

    def partial(self, key, loadings, prior, share, threads=1):
        run_rows(
            allocate_partial,
            self.rows,
            threads,
            key,
            self.documents,
            *self.tokens,
            self.z,
            loadings,
            self.m,
            prior,
            share,
        )

    def check(self, collapsed):
        m, n_wk, n_k = self.counts()
        np.testing.assert_array_equal(m, self.m)
        if collapsed:
            listed = np.empty_like(n_wk)
            dense_counts(self.table, listed)
            np.testing.assert_array_equal(listed, n_wk)
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


WORD = np.array([0, 1, 0, 0])
ROW = np.array([0, 0, 0, 1])
PRIORS = {
    "a row": np.array([[0.2, 1.5], [0.7, 0.1]]),
    "zeros": np.array([[0.0, 0.8], [1.2, 0.0]]),
}


@pytest.mark.parametrize("kernel", ["collapsed", "partial"])
@pytest.mark.parametrize("prior", PRIORS)
def test_one_sweep_has_the_exact_law(kernel, prior):
    """From every state of a four-token corpus, many replicates, one sweep."""
    prior = PRIORS[prior]
    phi = np.array([[0.9, 0.02], [0.1, 0.98]])
    replicates = 20_000
    p_values = []
    for index, state in enumerate(itertools.product(range(2), repeat=4)):
        z = np.array(state)
        possible = [prior[ROW[i], z[i]] > 0 for i in range(4)]
        if not all(possible):
            continue
        law = one_sweep_law(kernel, state, WORD, ROW, prior, phi, 2, 2)
        corpus = Corpus(WORD, ROW, 2, 2, 2, np.tile(z, replicates), replicates)
        rows = np.tile(prior, (replicates, 1))
        if kernel == "collapsed":
            corpus.collapsed(stream_key(1, index), rows, 1)
        else:
            loadings = loadings_of(np.tile(phi, (replicates, 1, 1)))
            corpus.partial(stream_key(2, index), loadings, rows, 1)
        corpus.check(kernel == "collapsed")
        p_values.append(chi_square(corpus.z.reshape(replicates, 4), law, 2))
    assert min(p_values) > 1e-3 / len(p_values), p_values


@pytest.mark.parametrize("kernel", ["collapsed", "alternating"])
def test_long_chain_reaches_the_exact_posterior(kernel):
    """One replicate, many sweeps: Φ and θ marginal, against the enumerated posterior.

    The alternating chain draws Φ and then the labels by the partial kernel.
    """
    from scipy.special import gammaln

    prior = np.array([[0.4, 0.9]])
    law = {}
    for state in itertools.product(range(2), repeat=4):
        z = np.array(state)
        value = 0.0
        for k in range(2):
            n = np.bincount(WORD[z == k], minlength=2)
            value += gammaln(ETA + n).sum() - gammaln(2 * ETA + n.sum())
            value += gammaln(prior[0, k] + np.bincount(ROW[z == k], minlength=2)).sum()
        law[state] = np.exp(value)
    total = sum(law.values())
    law = {state: value / total for state, value in law.items()}
    corpus = Corpus(WORD, ROW, 2, 2, 2, [0, 1, 0, 1])
    loadings = empty_loadings(np.array([[3, 1]]), 2, ETA)
    samples = []
    for sweep in range(24_000):
        if kernel == "collapsed":
            corpus.collapsed(stream_key(3, sweep), prior, 2)
        else:
            count_words(0, 0, 2, *corpus.order, corpus.z, corpus.n_wk)
            draw_loadings(stream_key(4, sweep), corpus.n_wk, ETA, loadings)
            corpus.partial(stream_key(5, sweep), loadings, prior, 2)
        if sweep % 6 == 5:
            samples.append(corpus.z.copy())
    corpus.check(kernel == "collapsed")
    assert chi_square(np.array(samples), law, 2) > 1e-3


def wide_case(topics=21, vocabulary=6, seed=0):
    """A corpus whose words have more topics than one block of a list holds."""
    rng = np.random.default_rng(seed)
    row = np.repeat([0, 1, 2], [30, 1, 80])
    word = rng.integers(0, vocabulary - 1, row.size)  # the last word never occurs
    prior = rng.gamma(0.5, size=(3, topics))
    prior[0, 3] = 0.0
    return word, row, rng.integers(0, topics, row.size), prior


@pytest.mark.parametrize("kernel", ["collapsed", "partial", "labels"])
def test_first_label_of_a_wide_case(kernel):
    """Twenty-one topics, lists of several blocks: the law of the first label drawn."""
    word, row, z, prior = wide_case()
    replicates, topics = 20_000, prior.shape[1]
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(6, 0.1), size=topics).T
    corpus = Corpus(word, row, 3, 6, topics, np.tile(z, replicates), replicates)
    rows = np.tile(prior, (replicates, 1))
    # All replicates share Φ; the lists are those of the kernel, long and short ones.
    loadings = loadings_of(np.tile(phi, (replicates, 1, 1)))
    assert loadings.length.max() < topics
    if kernel == "collapsed":
        corpus.collapsed(11, rows, 1)
        expected = dense_conditional("collapsed", 0, z, word, row, prior, phi, topics, 6)
    elif kernel == "partial":
        corpus.partial(12, loadings, rows, 1)
        expected = dense_conditional("partial", 0, z, word, row, prior, phi, topics, 6)
    else:
        draw_labels(np.uint64(13), 0, corpus.rows, 3, *corpus.tokens, loadings, rows, corpus.z)
        expected = phi[word[0]] * prior[0] / (phi[word[0]] * prior[0]).sum()
    first = corpus.z.reshape(replicates, -1)[:, :1]
    law = {(k,): expected[k] for k in range(topics)}
    assert chi_square(first, law, topics) > 1e-3


@pytest.mark.parametrize("threads", [1, 2])
def test_blocked_splits_have_multinomial_moments(threads):
    rng = np.random.default_rng(2)
    replicates, vocabulary, topics = 20_000, 3, 11
    phi = rng.dirichlet(np.full(vocabulary, 0.1), size=topics).T
    theta = np.tile(rng.gamma(0.5, size=topics), (replicates, 1))
    loadings = loadings_of(np.tile(phi, (replicates, 1, 1)))
    counts = np.array([0, 3, 70])  # the last by binomials, beyond four a topic
    indptr = np.arange(replicates + 1) * 2
    indices = np.tile([1, 2], replicates)
    data = np.tile(counts[1:], replicates)
    n_wk = np.empty((replicates, vocabulary, topics), np.int32)
    m = np.empty((replicates, topics), np.int64)
    split_all_cells(7, 1, indptr, indices, data, loadings, theta, n_wk, m, threads)
    np.testing.assert_array_equal(n_wk.sum(axis=2), np.tile(counts, (replicates, 1)))
    np.testing.assert_array_equal(n_wk.sum(axis=1), m)
    for w in (1, 2):
        probability = phi[w] * theta[0] / (phi[w] * theta[0]).sum()
        mean = counts[w] * probability
        deviation = np.sqrt(mean * (1 - probability) / replicates) + 1e-12
        assert (np.abs(n_wk[:, w].mean(axis=0) - mean) < 4.5 * deviation + 2e-4).all()
        variance = n_wk[:, w].var(axis=0)
        assert np.allclose(variance, mean * (1 - probability), rtol=0.1, atol=2e-3)


def test_counts_follow_the_labels_sweep_after_sweep():
    word, row, z, prior = wide_case()
    corpus = Corpus(word, row, 3, 6, prior.shape[1], z)
    for sweep in range(50):
        corpus.collapsed(stream_key(20, sweep), prior, 1)
        corpus.check(True)
    loadings = empty_loadings(np.bincount(word, minlength=6)[None], prior.shape[1], 0.05)
    for sweep in range(50):
        count_words(0, 0, 6, *corpus.order, corpus.z, corpus.n_wk)
        draw_loadings(stream_key(21, sweep), corpus.n_wk, 0.05, loadings)
        corpus.partial(stream_key(22, sweep), loadings, prior, 1)
        corpus.check(False)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads):
    word, row, z, prior = wide_case()
    replicates = 30
    results = []
    for number in (1, threads):
        corpus = Corpus(word, row, 3, 6, prior.shape[1], np.tile(z, replicates), replicates)
        rows = np.tile(prior, (replicates, 1))
        words = np.tile(np.bincount(word, minlength=6), (replicates, 1))
        loadings = empty_loadings(words, prior.shape[1], 0.05)
        draw_loadings(30, corpus.n_wk, 0.05, loadings, number)
        phi = draw_phi(31, corpus.n_wk, 0.05, np.empty(corpus.n_wk.shape), number)
        corpus.partial(32, loadings, rows, 1, number)
        first = corpus.z.copy()
        corpus.retabulate()
        corpus.collapsed(33, rows, 1, threads=number)
        n_wk, m = np.empty_like(corpus.n_wk), np.empty_like(corpus.m)
        data = np.ones(corpus.z.size, np.int64)
        cells = (corpus.tokens.row_start, corpus.tokens.word, data)
        split_all_cells(34, 3, *cells, loadings, rows + 0.1, n_wk, m, number)
        results.append((*loadings, phi, first, corpus.z, n_wk, m))
    for one, many in zip(*results, strict=True):
        np.testing.assert_array_equal(one, many)


def test_threads_change_no_bit_in_one_large_draw():
    """One replicate of more words than a block of sums, so that threads share its columns."""
    n_wk = np.random.default_rng(3).poisson(0.1, size=(1, 700, 9)).astype(np.int32)
    one = draw_phi(40, n_wk, 0.05, np.empty(n_wk.shape), 1)
    two = draw_phi(40, n_wk, 0.05, np.empty(n_wk.shape), 2)
    np.testing.assert_array_equal(one, two)


def test_edges():
    """Empty rows, empty words, one topic, one token, no topic possible without the token."""
    tokens = expand(np.array([0, 0, 2, 2]), np.array([4, 1]), np.array([2, 1], np.uint8))
    np.testing.assert_array_equal(tokens.row_start, [0, 0, 3, 3])
    np.testing.assert_array_equal(tokens.word, [4, 4, 1])
    for topics in (1, 2, 9):
        corpus = Corpus([4, 4, 1], np.array([1, 1, 1]), 3, 5, topics, [0, 0, 0])
        corpus.collapsed(1, np.full((1, topics), 0.1), 3)
        corpus.check(True)
        phi = draw_phi(2, corpus.n_wk, 0.05, np.empty(corpus.n_wk.shape))
        corpus.partial(3, loadings_of(phi), np.full((1, topics), 0.1), 3)
        corpus.check(False)
    # One token, prior 0 everywhere: no topic has a positive weight; the label stays.
    corpus = Corpus([0], np.array([0]), 1, 1, 3, [2])
    corpus.collapsed(1, np.zeros((1, 3)), 1)
    assert corpus.z[0] == 2
    corpus.partial(1, loadings_of(np.ones((1, 1, 3))), np.zeros((1, 3)), 1)
    assert corpus.z[0] == 2
    corpus.check(True)
    # Prior 0 but for one topic: the token moves there, and only there.
    prior = np.array([[0.0, 1e-300, 0.0]])
    corpus.collapsed(2, prior, 1)
    assert corpus.z[0] == 1
    corpus.check(True)
    # Φ is 0 where the prior is not: the label stays.
    phi = np.array([[[1.0, 0.0, 1.0]]])
    corpus.partial(3, loadings_of(phi), prior, 1)
    assert corpus.z[0] == 1


def test_tiny_priors_are_not_lost_to_rounding():
    """With m = 0 left, weights of 1e-30 decide, although 1 + 1e-30 = 1."""
    replicates = 4000
    prior = np.array([[1e-30, 3e-30]])
    corpus = Corpus([0], np.array([0]), 1, 1, 2, np.zeros(replicates), replicates)
    corpus.collapsed(5, np.tile(prior, (replicates, 1)), 1)
    assert stats.binomtest(int(corpus.z.sum()), replicates, 0.75).pvalue > 1e-3
    corpus.partial(6, loadings_of(np.ones((replicates, 1, 2))), prior, replicates)
    assert stats.binomtest(int(corpus.z.sum()), replicates, 0.75).pvalue > 1e-3
    # The same for a topic that is not listed: φ a = 2e-30 against 1e-30.
    loadings = loadings_of(np.tile([[1.0, 1e-3]], (replicates, 1, 1)))
    assert (loadings.length == 1).all()
    corpus = Corpus([0], np.array([0]), 1, 1, 2, np.zeros(replicates), replicates)
    corpus.partial(7, loadings, np.array([[1e-30, 2e-27]]), replicates)
    assert stats.binomtest(int(corpus.z.sum()), replicates, 2 / 3).pvalue > 1e-3


@pytest.mark.parametrize("eta", [0.002, 0.05, 0.5, 1.0, 3.0])
def test_phi_has_beta_margins(eta):
    """φ_wk ~ Beta(η + n_wk, Σ_v≠w (η + n_vk)), and columns that sum to 1."""
    replicates = 4000
    counts = np.array([[0, 0, 2], [0, 5, 0], [0, 1, 40], [0, 0, 0]], np.int32)
    n_wk = np.tile(counts, (replicates, 1, 1))
    phi = draw_phi(stream_key(50, int(1000 * eta)), n_wk, eta, np.empty(n_wk.shape))
    np.testing.assert_allclose(phi.sum(axis=1), 1.0, rtol=1e-12)
    loadings = empty_loadings(n_wk.sum(axis=2), 3, eta)
    draw_loadings(51, n_wk, eta, loadings)
    listed = loadings.value * loadings.scale[:, None, :]
    np.testing.assert_allclose(listed.sum(axis=1), 1.0, rtol=1e-12)
    p_values = []
    for draw in (phi, listed):
        for w, k in itertools.product(range(4), range(3)):
            a = eta + counts[w, k]
            b = 4 * eta + counts[:, k].sum() - a
            # By the distribution function, which a draw of 0 or 1 does not upset; ties at
            # these two are spread out.
            u = stats.beta.cdf(draw[:, w, k], a, b)
            random = np.random.default_rng(w + 10 * k).uniform(size=replicates)
            tiny = draw[:, w, k] < 1e-290
            u[tiny] = random[tiny] * stats.beta.cdf(1e-290, a, b)
            near = draw[:, w, k] > 1 - 1e-13
            low = stats.beta.cdf(1 - 1e-13, a, b)
            u[near] = low + random[near] * (1 - low)
            p_values.append(stats.kstest(u, "uniform").pvalue)
    assert min(p_values) > 1e-3 / len(p_values), p_values


def test_lists_hold_exactly_the_values_above_the_bound():
    rng = np.random.default_rng(6)
    n_wk = rng.poisson(0.5, size=(2, 50, 30)).astype(np.int32)
    small = n_wk.sum(axis=2)
    small[:, ::2] = 0  # less room than the words need: the bound must rise
    for room in (n_wk.sum(axis=2), small):
        loadings = draw_loadings(60, n_wk, 0.9, empty_loadings(room, 30, 0.05))
        for slot in range(100):
            row = loadings.value.reshape(100, 30)[slot]
            places = slice(loadings.start[slot], loadings.start[slot] + loadings.length[slot])
            large = np.flatnonzero(row > loadings.bound[slot])
            np.testing.assert_array_equal(loadings.topic[places], large)
            np.testing.assert_allclose(loadings.large[places], row[large], rtol=1e-6)
            end = loadings.start[slot] + (loadings.length[slot] + 7) // 8 * 8
            assert not loadings.large[places.stop : end].any()
