"""The first layer of documents: the count behind a datum, and very large counts, which are split with
θ^(1) drawn where labels of tokens would take for ever."""

import itertools
import time

import numpy as np
import pytest
from numba import njit
from scipy.special import betaln
from scipy.stats import binom

from pgbn.errors import DataError
from pgbn.samplers.documents.sweeps import (
    DATUM,
    count_law,
    draw_count,
    has_labels,
    most_labels,
)
from pgbn.samplers.random import uniform
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


def labelled(x, model):
    tokens, cells = x.sum(axis=1), (x > 0).sum(axis=1)
    return [has_labels(DATUM, n, c, model.widths[0]) for n, c in zip(tokens, cells, strict=True)]


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
        infer(model, x, burn_in=100, draws=100, seed=s).proportions["theta1"] for s in range(40)
    ]
    assert np.mean(found, axis=0)[0, 0] == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("depth", [1, 2])
def test_no_batch_or_thread_changes_a_document_with_large_counts(depth):
    model = model_of(depth)
    x = np.array([[3, 0, 2, 1], *COUNTS, [0, 1, 0, 0], [5, 50_000, 7, 2**31 - 1]])
    assert labelled(x, model) == [True, False, False, True, False]
    settings = {"burn_in": 5, "draws": 5, "seed": 2}
    whole = infer(model, x, threads=1, **settings)
    threaded = infer(model, x[::-1], threads=2, **settings)
    single = [infer(model, x[[row]], threads=1, **settings) for row in range(len(x))]
    for t in range(1, depth + 1):
        for name in ("proportions", "means", "proportions_sd", "sd"):
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
    infer(model, x, burn_in=1, draws=1)
    began = time.process_time()
    found = infer(model, x, burn_in=1000, draws=100, threads=1)
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
        for factor in (1, 4, 10**9, *(4 * (topics + 16) + i for i in (-1, 0, 1))):
            indptr = np.array([0, cells, cells, 2 * cells])
            data = rng.integers(1, 3, 2 * cells)
            data[:cells] = factor
            tokens = [data[first:last].sum() for first, last in itertools.pairwise(indptr)]
            each = [
                has_labels(DATUM, float(total), size, topics)
                for total, size in zip(tokens, np.diff(indptr), strict=True)
            ]
            assert most_labels(indptr, data, topics)[1] == all(each)


# ---- the count behind a datum -----------------------------------------------------------

DRAWS = 40_000


@njit
def _draw(law, value, rate, out):
    rng = np.array([3, 0x9E3779B97F4A7C15], np.uint64)
    for i in range(out.size):
        out[i] = draw_count(rng, law, value, rate)


def draw(latent, value, rate, noise=1.0):
    out = np.zeros(DRAWS, np.int64)
    _draw(count_law(latent, noise), value, rate, out)
    return out


def check(found, n, weight):
    """Every probability of a law on n, by its weights."""
    p = weight / weight.sum()
    seen = (found[:, None] == n).mean(axis=0)
    assert (np.abs(seen - p) < 4.5 * np.sqrt(p * (1 - p) / DRAWS) + 3 / DRAWS).all()


def test_data_that_are_counts_are_passed_on():
    assert count_law(None, 2.0) == (DATUM, 2.0, 0)
    assert set(draw(None, 7.0, 0.1)) == {7}


def test_a_function_gets_the_stream_and_all_numbers():
    def latent(rng, value, rate, noise):
        return int(value) + 10 * (uniform(rng) < rate) + 100 * int(noise)

    found = draw(latent, 2.0, 0.3, 4.0)
    check(found, np.array([402, 412]), np.array([0.7, 0.3]))
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.03  # the stream goes on
    compiled = njit(latent)
    np.testing.assert_array_equal(draw(compiled, 2.0, 0.3, 4.0), found)
    assert count_law(latent, 1.0) == count_law(latent, 1.0)  # compiled once


def test_functions_that_do_not_fit():
    with pytest.raises(DataError, match="latent='x': give a function"):
        count_law("x", 1.0)
    with pytest.raises(DataError, match="latent=<lambda>: numba cannot compile"):
        count_law(lambda rng: 1, 1.0)
    with pytest.raises(ValueError, match="negative count"):
        draw(lambda rng, value, rate, noise: -1, 1.0, 1.0)
