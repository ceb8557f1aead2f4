"""Held-out perplexity: splitting tokens, adding up samples, completing documents."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.errors import DataError, PgbnWarning
from pgbn.evaluation import (
    HeldOut,
    completion_perplexity,
    split_tokens,
)
from pgbn.training import train_layerwise
from tests.helpers.trained import X, model_of


@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.9])
def test_split_tokens_shares_out_every_token(fraction):
    train, test = split_tokens(X, fraction, seed=1)
    np.testing.assert_array_equal((train + test).toarray(), X.toarray())
    assert train.data.min() > 0
    assert test.data.min() > 0
    expected = np.maximum(np.round(fraction * X.sum(axis=1)), 1)
    np.testing.assert_array_equal(train.sum(axis=1), expected)


def test_split_tokens_is_fair_and_the_documents_own():
    x = np.array([[6, 3, 1]])
    seen = np.array([split_tokens(x, 0.5, seed)[0].toarray()[0] for seed in range(3000)])
    # hypergeometric: mean 5 x / 10, variance 5 · (x/10)(1 − x/10) · 5/9
    share = x[0] / 10
    np.testing.assert_allclose(seen.mean(axis=0), 5 * share, atol=0.06)
    np.testing.assert_allclose(seen.var(axis=0), 5 * share * (1 - share) * 5 / 9, rtol=0.1)
    whole, alone = split_tokens(X, 0.3)[0], split_tokens(X[[7]], 0.3)[0]
    np.testing.assert_array_equal(whole[[7]].toarray(), alone.toarray())


def test_split_tokens_keeps_one_token_and_copes_with_empty_documents():
    train, test = split_tokens(np.array([[0, 0], [1, 0], [2, 0]]), 0.1)
    assert train.sum(axis=1).tolist() == [0, 1, 1]
    assert test.sum(axis=1).tolist() == [0, 0, 1]
    with pytest.raises(DataError, match=r"fraction=1\.5"):
        split_tokens(X, 1.5)


def test_perplexity_is_the_ratio_of_sums_over_samples():
    held = sp.csr_array(np.array([[0, 2, 1], [3, 0, 0]]))
    accumulator = HeldOut(held)
    total, sums = np.zeros((2, 3)), np.zeros((2, 1))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        phi, theta = rng.dirichlet(np.ones(3), 2), rng.gamma(1.0, 1.0, (2, 2))
        accumulator.add(phi, theta)
        total += theta @ phi
        sums += theta.sum(axis=1, keepdims=True)
    y = held.toarray()
    f = total / sums
    assert accumulator.perplexity() == pytest.approx(math.exp(-(y * np.log(f)).sum() / y.sum()))
    each = np.exp(-(y * np.log(f)).sum(axis=1) / y.sum(axis=1))
    np.testing.assert_allclose(accumulator.per_row(), each)
    last = theta @ phi / theta.sum(axis=1, keepdims=True)
    assert accumulator.last() == pytest.approx(math.exp(-(y * np.log(last)).sum() / y.sum()))
    assert accumulator.samples == 3


def test_a_uniform_model_has_the_perplexity_of_the_vocabulary():
    accumulator = HeldOut(X)
    accumulator.add(np.full((4, 12), 1 / 12), np.ones((30, 4)))
    assert accumulator.perplexity() == pytest.approx(12.0)


def test_perplexity_says_what_is_wrong():
    accumulator = HeldOut(X)
    with pytest.raises(DataError, match="no samples yet"):
        accumulator.perplexity()
    with pytest.raises(DataError, match="do not fit"):
        accumulator.add(np.ones((2, 5)), np.ones((30, 2)))
    with pytest.raises(DataError, match="no counts"):
        HeldOut(np.zeros((2, 3), int))
    certain = np.zeros((1, 12))
    certain[0, 0] = 1.0
    accumulator.add(certain, np.ones((30, 1)))
    with pytest.warns(PgbnWarning, match="probability 0"):
        assert accumulator.perplexity() > 1e9


def test_held_out_data_and_samples_are_checked():
    phi, theta = np.full((2, 12), 1 / 12), np.ones((30, 2))
    accumulator = HeldOut(X, threads=1)
    for wrong, message in {
        "1-d": ((phi[0], theta), "phi is ndarray of 1 dims"),
        "sparse": ((sp.csr_array(phi), theta), "phi is csr_array"),
        "ragged": (([[1.0], [0.5, 0.5]], theta), "phi is list"),
        "masked": ((np.ma.masked_equal(phi, 0), theta), "phi is MaskedArray"),
        "strings": ((phi, theta.astype(str)), "theta is ndarray"),
        "no topics": ((phi[:0], theta[:, :0]), "phi is ndarray"),
        "not normalised": ((2 * phi, theta), "phi: the rows"),
        "negative topic": ((phi + np.r_[-1, 1, [0] * 10], theta), "phi: the rows"),
        "NaN topic": ((phi * np.nan, theta), "phi: the rows"),
        "NaN units": ((phi, theta * np.nan), "theta: the units"),
        "negative units": ((phi, -theta), "theta: the units"),
        "infinite units": ((phi, theta * np.inf), "theta: the units"),
    }.values():
        with pytest.raises(DataError, match=message):
            accumulator.add(*wrong)
    accumulator.add(phi.tolist(), theta.tolist())
    assert accumulator.perplexity() == pytest.approx(12.0)
    with pytest.raises(DataError, match=r"'topics': 1.* after 1 of .*: 2.*reset\(\)"):
        accumulator.add(phi[:1], theta[:, :1])
    accumulator.reset()
    accumulator.add(phi[:1], theta[:, :1])
    masked = np.ma.masked_equal(X.toarray(), 1)
    for run in (HeldOut, lambda data: split_tokens(data, 0.5)):
        with pytest.raises(DataError, match="masked cells are not supported"):
            run(masked)
    with pytest.raises(DataError, match="held_out: the data have negative"):
        HeldOut(-X)


def test_any_chain_with_topics_can_be_scored():
    chain = pgbn.zoo.lda(3).chain({"x": X}, threads=1)
    with pytest.raises(DataError, match="no 'x' that is a Poisson"):
        HeldOut(X).add_chain(chain)
    accumulator = HeldOut(X, chain.network["x"], threads=1)
    with pytest.raises(DataError, match="chain is TrainedNetwork"):
        accumulator.add_chain(model_of())
    accumulator.add_chain(chain)
    rates = chain.values["theta"] @ chain.values["phi"]
    exact = np.exp(-(X.toarray() * np.log(rates)).sum() / X.sum())
    assert accumulator.perplexity() == pytest.approx(exact)


@pytest.mark.parametrize(
    ("held_out", "options", "message"),
    [
        (X[:5], {}, "held_out has 5 documents, but X has 30"),
        (X[:, :5], {}, "held_out has 5 columns, but the model knows 12"),
        (-X, {}, "held_out: the data have negative"),
        (0 * X, {}, "held_out has no counts"),
        (X, {"fraction": 7}, "fraction=7"),
        (np.ma.masked_equal(X.toarray(), 1), {}, "held_out: masked"),
    ],
)
def test_completion_checks_before_it_infers(monkeypatch, held_out, options, message):
    monkeypatch.setattr("pgbn.evaluation.perplexity.infer", lambda *a, **k: pytest.fail("inferred"))
    with pytest.raises(DataError, match=message):
        completion_perplexity(model_of(), X, held_out, **options)


def test_completion_drops_columns_beyond_the_vocabulary_in_both_parts():
    model, sweeps = model_of(), {"burn_in": 2, "samples": 2, "threads": 1}
    wider = sp.hstack([X, sp.csr_array(np.ones((30, 2), int))], format="csr")
    expected = completion_perplexity(model, X, X, **sweeps).perplexity()
    with pytest.warns(PgbnWarning, match="unknown terms with 60 counts") as caught:
        assert completion_perplexity(model, wider, wider, **sweeps).perplexity() == expected
    assert [str(each.message).partition(":")[0] for each in caught] == ["X", "held_out"]
    assert {each.filename for each in caught} == {__file__}
    whole = completion_perplexity(model, X, **sweeps).perplexity()
    with pytest.warns(PgbnWarning, match="X: 2 unknown terms"):
        assert completion_perplexity(model, wider, **sweeps).perplexity() == whole


def test_perplexity_accumulates_during_training_and_beats_the_unigram():
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(40, 0.1), 4)
    x = rng.poisson(rng.gamma(0.2, 100.0, (80, 4)) @ phi)
    train, test = split_tokens(x, 0.5)
    accumulator = HeldOut(test, threads=1)

    def collect(progress):
        if progress.phase == "collect" and progress.sweep % 5 == 0:
            accumulator.add_chain(progress.chain)

    result = train_layerwise(train, 8, 1, burn_in=60, collect=40, threads=1, callback=collect)
    assert accumulator.samples == 8
    counts = np.asarray(train.sum(axis=0), float) + 0.05
    unigram = np.exp(-(test.toarray() @ np.log(counts / counts.sum())).sum() / test.sum())
    assert accumulator.perplexity() < 0.8 * unigram
    assert accumulator.perplexity() <= accumulator.last()
    completed = completion_perplexity(result.deepest, train, test, burn_in=50, samples=50)
    assert completed.perplexity() == pytest.approx(accumulator.perplexity(), rel=0.15)
    whole = completion_perplexity(result.deepest, x, burn_in=50, samples=50)
    assert whole.per_row().shape == (80,)
    assert whole.perplexity() < 0.8 * unigram
