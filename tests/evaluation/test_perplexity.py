"""Document completion: splitting tokens, completing documents, and the score of other data."""

from __future__ import annotations

import pytest

pytest.importorskip("sklearn")
import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn import PFA
from pgbn.errors import DataError, PgbnWarning
from pgbn.evaluation import (
    HeldOut,
    split_tokens,
)
from pgbn.training.trained import TrainedNetwork, observed_node
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


def test_documents_are_not_all_split_at_the_same_places() -> None:
    tokens = np.arange(40)[:, None] + np.arange(10)  # ten neighbouring terms a document
    x = np.zeros((40, 50), int)
    np.put_along_axis(x, tokens, 1, axis=1)
    kept = np.take_along_axis(split_tokens(x, 0.5)[0].toarray(), tokens, axis=1)
    assert len(np.unique(kept, axis=0)) > 20


def test_split_tokens_keeps_one_token_and_copes_with_empty_documents():
    train, test = split_tokens(np.array([[0, 0], [1, 0], [2, 0]]), 0.1)
    assert train.sum(axis=1).tolist() == [0, 1, 1]
    assert test.sum(axis=1).tolist() == [0, 0, 1]
    with pytest.raises(DataError, match=r"fraction=1\.5"):
        split_tokens(X, 1.5)


@pytest.mark.parametrize(
    ("held_out", "options", "message"),
    [
        (X[:5], {}, "held_out has 5 documents, but X has 30"),
        (X[:, :5], {}, "held_out has 5 columns, but the model has 12"),
        (-X, {}, "held_out: the data have negative"),
        (0 * X, {}, "held_out has no counts"),
        (X, {"fraction": 7}, "fraction=7"),
        (np.ma.masked_equal(X.toarray(), 1), {}, "held_out: masked"),
    ],
)
def test_completion_checks_before_it_infers(monkeypatch, held_out, options, message):
    monkeypatch.setattr("pgbn.evaluation.held_out.infer", lambda *a, **k: pytest.fail("inferred"))
    with pytest.raises(DataError, match=message):
        HeldOut.of_model(model_of(), X, held_out, **options)


def test_completion_drops_columns_beyond_the_vocabulary_in_both_parts():
    model, sweeps = model_of(), {"burn_in": 2, "draws": 2, "threads": 1}
    wider = sp.hstack([X, sp.csr_array(np.ones((30, 2), int))], format="csr")
    expected = HeldOut.of_model(model, X, X, **sweeps).perplexity()
    with pytest.warns(PgbnWarning, match="unknown terms with 60 counts") as caught:
        assert HeldOut.of_model(model, wider, wider, **sweeps).perplexity() == expected
    assert [str(each.message).partition(":")[0] for each in caught] == ["X", "held_out"]
    assert {each.filename for each in caught} == {__file__}
    whole = HeldOut.of_model(model, X, **sweeps).perplexity()
    with pytest.warns(PgbnWarning, match="X: 2 unknown terms"):
        assert HeldOut.of_model(model, wider, **sweeps).perplexity() == whole


def test_completion_is_split_and_infer_with_the_arguments_given() -> None:
    model, sweeps = model_of(), {"burn_in": 2, "draws": 5, "threads": 1}
    seen, rest = split_tokens(X, 0.3, seed=7)
    expected = HeldOut(rest)
    expected.add(model.phi[0], model.infer(seen, layers=1, seed=7, **sweeps)["theta1"])
    found = HeldOut.of_model(model, X, fraction=0.3, seed=7, **sweeps)
    assert found.perplexity() == expected.perplexity()


def test_perplexity_leaves_out_terms_that_no_topic_has() -> None:
    phi = np.array([[0.5, 0.5, 0.0]])
    model = TrainedNetwork.of_topics((phi,), np.ones(1), np.ones(1))
    with pytest.warns(PgbnWarning, match="1 unknown terms with 9 counts") as caught:
        found = HeldOut.of_model(model, [[4, 4, 9]], [[2, 2, 0]], burn_in=3, draws=3)
    assert len(caught) == 1
    assert found.perplexity() == pytest.approx(2.0)


def test_with_the_training_documents_the_chain_of_the_training_goes_on() -> None:
    """The samples of a chain on both, begun at the state that training left."""
    x = np.random.default_rng(0).poisson(1.0, (20, 8))
    seen, rest = split_tokens(x[12:], 0.5)
    model = pgbn.PGBN(4, 1, burn_in=4, sweeps=3, random_state=1, n_jobs=1,
                      transform_burn_in=2, transform_draws=10).fit(x[:12])  # fmt: skip
    trained = model.training_.deepest
    chain = trained.network.chain({"x": x[:12]}, model._seed, trained.sweeps, trained.state)
    chain = chain.append({"x": seen}, sweeps=10).sweep(2)
    expected = HeldOut(rest)
    for _ in range(2):
        values = chain.sweep(5).values
        expected.add(values["phi1"], values["theta1"][12:])
    before = trained.phi[0].copy()
    assert model.perplexity(seen, rest, train=x[:12]) == expected.perplexity()
    assert model.perplexity(seen, rest) != expected.perplexity()
    np.testing.assert_array_equal(model.components_, before)
    with pytest.raises(pgbn.DataError, match=r"train has the shape \(11, 8\).* 12 documents"):
        model.perplexity(seen, rest, train=x[:11])
    with pytest.raises(pgbn.DataError, match="train: the model has no state"):
        HeldOut.of_model(trained.without_state(), seen, rest, train=x[:12])


COUNTS = sp.csr_array(np.random.default_rng(0).poisson(0.7, (60, 24)))
FAST = {"burn_in": 15, "sweeps": 10, "transform_burn_in": 10, "transform_draws": 10}


@pytest.mark.parametrize("link", ["bernoulli", "gamma"])
def test_score_by_blocks_is_the_mean_log_density(link, monkeypatch):
    data = (COUNTS > 0).astype(int) if link == "bernoulli" else COUNTS * 0.3
    fitted = PFA(3, link=link, random_state=0, **FAST).fit(data)
    network = fitted.training_.deepest
    units = network.infer(data, layers=1, **fitted._chain())["theta1"]
    slots = {"noise": network.noise} if link == "gamma" else {}
    rate = units @ network.phi[0]
    density = observed_node(link).log_density(data.toarray(), rate=rate, **slots)
    for cells in (24 * 7, 10**6):  # 7 documents at a time, and all at once
        monkeypatch.setattr("pgbn.evaluation.held_out._CELLS", cells)
        assert fitted.score(data) == pytest.approx(density.sum(axis=1).mean(), rel=1e-12)
        assert fitted.score(data.toarray()) == pytest.approx(fitted.score(data), rel=1e-12)
