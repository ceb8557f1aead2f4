"""PGBN(learning="minibatch") and partial_fit."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError

RNG = np.random.default_rng(0)
TOPICS = RNG.dirichlet(np.full(15, 0.1), 3)
X = RNG.poisson(30 * RNG.dirichlet(np.full(3, 0.2), 90) @ TOPICS)
SHORT = {"burn_in": 6, "collect": 4, "batch_size": 30, "random_state": 0, "transform_burn_in": 5,
         "transform_samples": 5}  # fmt: skip


def test_fit_is_train_minibatch_and_takes_a_corpus(tmp_path) -> None:
    model = pgbn.PGBN((4, 3), learning="minibatch", **SHORT).fit(X)
    assert model.widths_ == (4, 3)
    same = pgbn.train_minibatch(X, (4, 3), batch_size=30, steps=10, collect=4, seed=model._seed,
                                progress=False)  # fmt: skip
    np.testing.assert_array_equal(model.components_, same.phi[0])
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=4096)
    other = pgbn.PGBN((4, 3), learning="minibatch", **SHORT).fit(corpus)
    np.testing.assert_array_equal(other.components_, model.components_)
    assert model.transform(X).shape == (90, 4)
    pgbn.save(model, tmp_path / "model")
    again = pgbn.load(tmp_path / "model")
    assert (again.learning, again.batch_size) == ("minibatch", 30)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    with pytest.raises(DataError, match="the state of this model was not kept"):
        again.partial_fit(X)
    before = model.components_
    model.partial_fit(X[:30])
    assert (model.components_ != before).any()
    assert model.training_.stopped == "120 documents seen"


def test_documents_that_arrive_later() -> None:
    model = pgbn.PGBN((4,), **SHORT)
    first = model.partial_fit(X[:50]).perplexity(X[80:])
    for start in (50, 60, 70):
        model.partial_fit(X[start : start + 10])
    assert model.training_.stopped == "80 documents seen"
    assert model.perplexity(X[80:]) < 1.2 * first
    weight = model.training_.deepest.weights[0].sum()
    assert 0.3 < weight / X[:80].sum() < 3
    twice = pgbn.PGBN((4,), **SHORT).partial_fit(X[:50]).partial_fit(X[50:60])
    again = pgbn.PGBN((4,), **SHORT).partial_fit(X[:50]).partial_fit(X[50:60])
    np.testing.assert_array_equal(twice.components_, again.components_)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"learning": "sgd"}, "learning='sgd' must be"),
    ({"learning": "minibatch", "batch_size": 0}, "batch_size"),
    ({"learning": "minibatch", "warm_start": True}, "partial_fit learns from more"),
    ({"learning": "minibatch", "burn_in": (3, 4)}, "one number of steps"),
])  # fmt: skip
def test_wrong_arguments(arguments, words) -> None:
    with pytest.raises(DataError, match=words):
        pgbn.PGBN((4, 3), **{**SHORT, **arguments}).fit(X)


def test_a_model_of_gibbs_sampling_goes_on_and_one_that_is_fitted_anew() -> None:
    model = pgbn.PGBN(4, 1, burn_in=40, collect=10, random_state=0, batch_size=20).fit(X[:60])
    before = model.components_
    model.partial_fit(X[60:80])
    assert model.training_.stopped == "80 documents seen"
    assert 0 < np.abs(model.components_ - before).max() < 0.3
    model.partial_fit(X[80:])
    assert model.training_.stopped == "90 documents seen"
    model.fit(X[:60]).partial_fit(X[60:80])
    assert model.training_.stopped == "80 documents seen"
