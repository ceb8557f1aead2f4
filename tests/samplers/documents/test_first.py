"""Very large counts: cells are split with θ^(1) drawn, where labels of tokens would take for ever."""

import itertools
import time

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import binom

from pgbn.samplers.documents.first_layer import DATUM, has_labels, most_labels
from pgbn.training.new_rows import infer
from pgbn.training.trained import Priors, TrainedNetwork

COUNTS = np.array([[130, 20, 260, 0], [90, 300, 120, 170]])


def model_of(depth):
    phi = (
        np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.1, 0.4, 0.4], [0.05, 0.6, 0.3, 0.05]]),
        np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]),
    )[:depth]
    r = np.array([2.0, 0.7, 1.3])[: len(phi[-1])]
    return TrainedNetwork.of_topics(
        phi, r, np.ones(depth), priors=Priors(p=(12.0, 12.0), c=(16.0, 12.0))
    )


def tables(rng, customers, a):
    """l ~ CRT(customers, a), one customer after another."""
    return (rng.random(customers) * (a + np.arange(customers)) < a).sum()


def gibbs(model, x, sweeps, seed):
    """E θ^(t)_k of one document by the steps of the paper in numpy, (sweeps, K_t) for each layer.

    Split x given θ^(1), tables upward, p^(2) and c^(3), then θ downward.
    """
    rng = np.random.default_rng(seed)
    depth, (a0, b0), (e0, f0) = model.depth, model.priors.p, model.priors.c
    theta = [np.ones(width) for width in model.widths]
    record = [np.zeros((sweeps, width)) for width in model.widths]
    for sweep in range(sweeps):
        m, shapes, rates = [], [], []
        weights = model.phi[0].T * theta[0]
        shares = weights / weights.sum(axis=1, keepdims=True)
        m.append(np.sum([rng.multinomial(n, p) for n, p in zip(x, shares, strict=True)], axis=0))
        if depth == 2:
            weights = model.phi[1].T * theta[1]
            each = [tables(rng, n, a) for n, a in zip(m[0], weights.sum(axis=1), strict=True)]
            shares = weights / weights.sum(axis=1, keepdims=True)
            split = [rng.multinomial(n, p) for n, p in zip(each, shares, strict=True)]
            m.append(np.sum(split, axis=0))
        above = theta[1].sum() if depth == 2 else model.r.sum()
        p = rng.beta(a0 + m[0].sum(), b0 + above)
        rates.append(1 / p)
        if depth == 2:
            c = rng.gamma(e0 + model.r.sum()) / (f0 + theta[1].sum())
            rates.append(c - np.log1p(-p))
        for t in range(depth - 1, -1, -1):
            shapes = (model.r if t == depth - 1 else theta[1] @ model.phi[1]) + m[t]
            record[t][sweep] = shapes / rates[t]
            theta[t] = rng.gamma(shapes) / rates[t]
    return record


def error_of(values, batches=40):
    """The standard error of the mean of a chain, by the means of its batches."""
    means = values.reshape(batches, -1, values.shape[1]).mean(axis=1)
    return means.std(axis=0, ddof=1) / np.sqrt(batches)


def labelled(x, model):
    tokens, cells = x.sum(axis=1), (x > 0).sum(axis=1)
    return [has_labels(DATUM, n, c, model.widths[0]) for n, c in zip(tokens, cells, strict=True)]


@pytest.mark.parametrize("depth", [1, 2])
def test_splits_agree_with_gibbs_in_numpy(depth):
    model = model_of(depth)
    assert labelled(COUNTS, model) == [False, False]
    found = infer(model, COUNTS, burn_in=500, samples=40_000)
    for row, x in enumerate(COUNTS):
        chain = gibbs(model, x, 6_200, row)
        for t, values in enumerate(chain, 1):
            z = (found[f"theta{t}"][row] - values[200:].mean(axis=0)) / error_of(values[200:])
            assert np.abs(z).max() < 4.5


@pytest.mark.parametrize("depth", [1, 2])
def test_splits_agree_with_labels(depth):
    """Counts of a term, and those of 20 terms that share its loadings, tell the same of θ."""
    model, copies = model_of(depth), 20
    spread = TrainedNetwork.of_topics(
        (np.repeat(model.phi[0] / copies, copies, axis=1), *model.phi[1:]),
        model.r, model.c, priors=model.priors,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    many = np.array(
        [np.ravel([rng.multinomial(n, np.full(copies, 1 / copies)) for n in x]) for x in COUNTS]
    )
    assert labelled(many, spread) == [True, True]
    settings = {"burn_in": 500, "samples": 6000}
    splits = [infer(model, COUNTS, seed=seed, **settings) for seed in range(6)]
    labels = [infer(spread, many, seed=seed, **settings) for seed in range(6)]
    for t in range(1, depth + 1):
        for name in ("values", "sd", "proportions", "proportions_sd"):
            one, two = (
                np.array([getattr(f, name)[f"theta{t}"] for f in each]) for each in (splits, labels)
            )
            error = np.sqrt((one.var(axis=0, ddof=1) + two.var(axis=0, ddof=1)) / 6)
            z = (one.mean(axis=0) - two.mean(axis=0)) / error
            assert np.abs(z).max() < 6.0  # of Student's law with 10 degrees of freedom


def test_tokens_do_not_follow_the_first_label():
    """E (r_1 + m_1) / (r_· + m_·) by the sum over all m_1, with an r so small that a chain which
    starts in one topic stays there."""
    phi, r, counts, copies = np.array([[0.2, 0.8], [0.4, 0.6]]), [0.01, 0.02], [90, 210], 10
    tokens = sum(counts)
    each = [
        binom.pmf(np.arange(n + 1), n, first)
        for n, first in zip(counts, phi[0] / phi.sum(axis=0), strict=True)
    ]
    m = np.arange(tokens + 1)
    law = np.convolve(*each) * np.exp(betaln(r[0] + m, r[1] + tokens - m))
    expected = law @ (r[0] + m) / law.sum() / (sum(r) + tokens)
    model = TrainedNetwork.of_topics(
        (np.repeat(phi / copies, copies, axis=1),), np.array(r), np.ones(1)
    )
    x = np.repeat(np.array(counts) // copies, copies)[None]
    assert labelled(x, model) == [True]
    found = [
        infer(model, x, burn_in=100, samples=100, seed=s).proportions["theta1"] for s in range(40)
    ]
    assert np.mean(found, axis=0)[0, 0] == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("depth", [1, 2])
def test_no_batch_or_thread_changes_a_document_with_large_counts(depth):
    model = model_of(depth)
    x = np.array([[3, 0, 2, 1], *COUNTS, [0, 1, 0, 0], [5, 50_000, 7, 2**31 - 1]])
    assert labelled(x, model) == [True, False, False, True, False]
    settings = {"burn_in": 5, "samples": 5, "seed": 2}
    whole = infer(model, x, threads=1, **settings)
    threaded = infer(model, x[::-1], threads=2, **settings)
    single = [infer(model, x[[row]], threads=1, **settings) for row in range(len(x))]
    for t in range(1, depth + 1):
        for name in ("proportions", "values", "proportions_sd", "sd"):
            expected = getattr(whole, name)[f"theta{t}"]
            np.testing.assert_array_equal(getattr(threaded, name)[f"theta{t}"][::-1], expected)
            for row, one in enumerate(single):
                np.testing.assert_array_equal(getattr(one, name)[f"theta{t}"][0], expected[row])


@pytest.mark.parametrize("depth", [1, 2])
def test_documents_of_any_length_are_inferred_in_no_time(depth):
    """Shares of 4 · 10^9 tokens are known to four digits, and no token is looked at."""
    model = model_of(depth)
    share = np.array([0.5, 0.3, 0.2])
    x = np.rint(4 * 10**9 * (share @ model.phi[0])).astype(np.int64)[None]
    infer(model, x, burn_in=1, samples=1)
    began = time.process_time()
    found = infer(model, x, burn_in=1000, samples=100, threads=1)
    assert time.process_time() - began < 1.0
    np.testing.assert_allclose(found.proportions["theta1"][0], share, atol=1e-4)
    np.testing.assert_allclose(found["theta1"].sum(), x.sum(), rtol=1e-6)


def test_long_documents_of_many_terms_have_labels():
    """A book has many tokens, but not many of each term."""
    assert has_labels(DATUM, 500_000, 20_000, 100)
    assert not has_labels(DATUM, 500_000, 20, 100)
    assert not has_labels(DATUM, 10**9, 10**6, 10**6)


def test_all_documents_have_labels_where_each_has():
    """`most_labels`, for numpy, says what `has_labels`, for kernels, says of every document."""
    rng = np.random.default_rng(3)
    for topics, cells in itertools.product((1, 30, 400), (1, 3)):
        for factor in (
            1,
            4,
            4 * (topics + 16) - 1,
            4 * (topics + 16),
            4 * (topics + 16) + 1,
            10**9,
        ):
            indptr = np.array([0, cells, cells, 2 * cells])
            data = rng.integers(1, 3, 2 * cells)
            data[:cells] = factor
            tokens = [data[first:last].sum() for first, last in itertools.pairwise(indptr)]
            each = [
                has_labels(DATUM, float(total), size, topics)
                for total, size in zip(tokens, np.diff(indptr), strict=True)
            ]
            assert most_labels(indptr, data, topics)[1] == all(each)
