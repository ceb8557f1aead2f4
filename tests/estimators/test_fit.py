"""`fit`, `merge` and `partial_fit` of the estimators: what they reject and tell, and what is left
when they fail or are stopped."""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import pgbn
from pgbn import PFA, PGBN
from pgbn.engine.run.chain import Interrupted
from pgbn.errors import DataError, PgbnError
from pgbn.estimators.pgbn import Reporter
from pgbn.training.numbering import numbered_as_in_chain
from tests.helpers.training import documents

X = documents(60, 30).toarray()
FAST: dict[str, Any] = {"burn_in": 3, "sweeps": 2, "transform_burn_in": 2,
                        "transform_draws": 2, "random_state": 0}  # fmt: skip


# ---- data -----------------------------------------------------------------------------


def test_masked_cells_are_refused() -> None:
    masked = np.ma.masked_array(X, X > 3)
    hidden = int((X > 3).sum())
    fitted = PFA(3, **FAST).fit(np.ma.masked_array(X))  # nothing is masked
    for run in (PGBN(**FAST).fit, PFA(**FAST).fit, fitted.transform, fitted.perplexity):
        with pytest.raises(DataError, match=rf"^X has {hidden} masked cells.*train_layerwise"):
            run(masked)
    remedy = pgbn.train_layerwise(masked, 3, 1, burn_in=2, sweeps=1, progress=False)
    assert remedy.widths == (3,)


# ---- failure --------------------------------------------------------------------------


def test_an_estimator_that_failed_is_not_fitted() -> None:
    for model in (PGBN(**FAST).set_params(eta=0), PFA(**FAST).set_params(sampler="none")):
        with pytest.raises(PgbnError):
            model.fit(X)
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
        with pytest.raises(NotFittedError):
            model.transform(X)
        assert vars(model) == vars(clone(model))


def test_a_fitted_estimator_survives_a_failure() -> None:
    pandas = pytest.importorskip("pandas")
    named = pandas.DataFrame(X, columns=[f"w{v}" for v in range(30)])
    model = PFA(4, **FAST).fit(named)
    before, features = dict(vars(model)), model.transform(named)
    with pytest.raises(DataError, match="eta=0"):
        model.set_params(eta=0).fit(X[:, :7] * 0.5)
    model.set_params(eta=0.05)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items() if name != "eta")
    assert (model.link_, model.n_features_in_) == ("poisson", 30)
    np.testing.assert_array_equal(model.transform(named), features)


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"layer": 5}, "layer=5 must be an integer from 1 to depth=3"),
        ({"layer": 0}, "layer=0 must"),
        ({"layer": True}, "layer=True must"),
        ({"layer": "x"}, "layer='x' must"),
        ({"transform_draws": 0}, "transform_draws=0 must"),
        ({"transform_burn_in": -1}, "transform_burn_in=-1 must"),
        ({"n_jobs": 0}, "n_jobs=0 must"),
        ({"n_jobs": -2}, "n_jobs=-2 must be None, -1 or"),
        ({"depth": 0}, "depth=0 must"),
    ],
)
def test_settings_are_checked_before_training(
    parameters: dict[str, Any], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pgbn.estimators.pgbn.train_settings", lambda *_, **__: pytest.fail("training began")
    )
    with pytest.raises(DataError, match=complaint):
        PGBN(**{**FAST, **parameters}).fit(X)


# ---- the rule that stops --------------------------------------------------------------


def test_fewer_layers_than_asked_for_are_told() -> None:
    model = PGBN(4, 3, eta=[0.05, 0.05, 0.1], warm_start=True, **FAST)
    told = r"depth=3, but the network has 1 layer: layer 1 has 4 ≤ 4 factors; .*min_width"
    with pytest.warns(pgbn.PgbnWarning, match=told) as received:
        model.fit(X)
    assert received[0].filename == __file__
    with pytest.raises(DataError, match=r"layers 1 to 1 \(training ended: layer 1 has 4 ≤ 4"):
        model.set_params(layer=2).transform(X)
    model.set_params(layer=1)
    sweeps = model.n_iter_
    with pytest.warns(pgbn.PgbnWarning, match=told):
        model.fit(X)  # goes on with the layer that there is
    assert model.widths_ == (4,)
    assert model.n_iter_ == sweeps + 2
    model.set_params(min_width=0)
    model.fit(X)
    assert len(model.widths_) == 3
    empty = PGBN(8, 2, warm_start=True, min_width=0, link="poisson", **FAST)
    for _ in range(2):
        with pytest.warns(pgbn.PgbnWarning, match="layer 1 has 0 < 1 counts"):
            empty.fit(X * 0)
        assert len(empty.widths_) == 1


@pytest.mark.filterwarnings("error::pgbn.PgbnWarning")
def test_min_width_and_priors_reach_the_training(tmp_path: Any) -> None:
    priors = pgbn.Priors(gamma0=(2.0, 3.0))
    model = PGBN(4, 2, min_width=0, priors=priors, **FAST).fit(X)
    assert len(model.widths_) == 2
    assert model.training_.deepest.priors == priors
    assert PFA(4, priors=priors, **FAST).fit(X).training_.deepest.priors == priors
    assert clone(model).get_params() == model.get_params()
    pgbn.save(model, tmp_path / "model")
    assert pgbn.load(tmp_path / "model").get_params() == model.get_params()
    with pytest.raises(DataError, match="min_width=-1"):
        PGBN(4, 2, min_width=-1, **FAST).fit(X)
    with pytest.raises(DataError, match="priors=3"):
        PFA(4, priors=3, **FAST).fit(X)


# ---- warm start -----------------------------------------------------------------------


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize(
    ("kind", "change", "data", "complaint"),
    [
        (PGBN, {"max_width": 9}, X, "^max_width=9: .* has max_width=8;"),
        (PFA, {"width": 9}, X, "^width=9: .* has width=8;"),
        (PGBN, {"link": "gamma"}, X, "^link='gamma': .* has link='poisson';"),
        (PGBN, {}, X * 0.5, r"^link='auto' \('gamma' for this X\): .* has link='poisson';"),
        (PGBN, {"depth": 1}, X, "^depth=1: .* has depth=3;"),
        (PFA, {}, X[:50], "^warm_start: trained on data with 60 entries along 'doc', but X has 50"),
    ],
)
def test_warm_start_refuses_what_it_cannot_change(
    kind: Any, change: Any, data: Any, complaint: str, saved: bool, tmp_path: Any
) -> None:
    model = kind(8, warm_start=True, **FAST).fit(X)
    if saved:
        pgbn.save(model, tmp_path / "model")
        model = pgbn.load(tmp_path / "model")
    model.set_params(**change)
    with pytest.raises(DataError, match=complaint):
        model.fit(data)
    model.set_params(warm_start=False).fit(data)


def test_warm_start_tells_that_a_random_state_is_not_used() -> None:
    model = PFA(4, warm_start=True, **FAST).fit(X)
    seed = model._seed
    model.set_params(random_state=1)
    with pytest.warns(pgbn.PgbnWarning, match="random_state=1 is not used.*random_state=0;"):
        model.fit(X)
    assert model._seed == seed


@pytest.mark.filterwarnings("error::pgbn.PgbnWarning")
def test_warm_start_compares_widths_of_any_kind() -> None:
    """A file may have any number in their place."""
    model = PGBN(max_width=6, depth=1, burn_in=2, sweeps=2, random_state=0, warm_start=True).fit(X)
    model._fixed = {**model._fixed, "max_width": 2.5}
    with pytest.raises(pgbn.DataError, match=r"max_width=2\.5"):
        model.fit(X)


def test_warm_start_says_nothing_where_nothing_changed() -> None:
    for state in (None, 3, np.random.RandomState(0)):
        model = PFA(4, warm_start=True, **{**FAST, "random_state": state}).fit(X)
        model.fit(sp.csr_array(X))
        model.set_params(link="poisson", eta=0.1, sweeps=1).fit(X)
        assert model.n_iter_ == 8


@pytest.mark.filterwarnings("error::pgbn.PgbnWarning")
def test_warm_start_goes_by_the_settings_of_the_estimator() -> None:
    """Not by those of the network: an estimator always has its own eta and priors."""
    priors = pgbn.Priors(gamma0=(2.0, 3.0))
    model = PGBN(8, 1, eta=0.01, priors=priors, warm_start=True, **FAST).fit(X)
    model.set_params(depth=2, eta=[0.05, 0.1], priors=None).fit(X)
    assert model.training_.deepest.eta == (0.05, 0.1)
    assert model.training_.deepest.priors == pgbn.Priors()
    with pytest.raises(DataError, match="eta=None"):
        model.set_params(eta=None).fit(X)


# ---- names of the terms ---------------------------------------------------------------


def test_the_names_of_a_data_frame_are_those_of_the_networks(tmp_path: Any) -> None:
    pandas = pytest.importorskip("pandas")
    names = tuple(f"w{v}" for v in range(30))
    model = PGBN(8, 2, warm_start=True, **FAST).fit(pandas.DataFrame(X, columns=names))
    assert {network.vocabulary for network in model.models_} == {names}
    assert model.training_.topics() == model.topics()
    assert model.topics()[0].terms[0] in names
    page = model.report(tmp_path / "page.html").read_text("utf-8")
    assert "w17" in page
    assert "term17" not in page
    pgbn.save(model, tmp_path / "model")
    assert pgbn.load(tmp_path / "model").training_.deepest.vocabulary == names
    others = tuple(f"z{v}" for v in range(30))  # names that are given come first
    pgbn.save(model, tmp_path / "model", vocabulary=others)
    again = pgbn.load(tmp_path / "model").set_params(depth=3)
    assert again.fit(pandas.DataFrame(X, columns=names)).topics()[0].terms[0] in others
    assert model.set_params(warm_start=False).fit(X).training_.deepest.vocabulary is None


# ---- budgets ------------------------------------------------------------------------------


def test_an_estimator_takes_a_budget_for_each_layer(tmp_path: Path) -> None:
    few: dict[str, Any] = {"burn_in": 6, "sweeps": 4, "min_width": 1, "random_state": 0,
                           "link": "poisson"}  # fmt: skip
    model = clone(pgbn.PGBN((9, 5), 2, **few)).fit(X)
    assert model.widths_[0] <= 9
    assert model.widths_[1] <= 5
    pgbn.save(model, tmp_path)
    for deeper in (model, pgbn.load(tmp_path)):
        deeper.set_params(max_width=(9, 5, 2), depth=3, warm_start=True).fit(X)
        assert deeper.widths_[2] <= 2
    whole = pgbn.PGBN((9, 5, 2), 3, **few).fit(X)
    np.testing.assert_array_equal(whole.training_.deepest.r, deeper.training_.deepest.r)
    with pytest.raises(DataError, match=r"max_width=\(9, 4, 2\): .* has max_width=\[?\(?9, 5"):
        deeper.set_params(max_width=(9, 4, 2)).fit(X)
    with pytest.raises(DataError, match=r"max_width=\(9, 5\) is of length 2, but depth=3"):
        deeper.set_params(max_width=(9, 5)).fit(X)
    with pytest.raises(DataError, match=r"width=\(3, 4\): a PFA has one layer; give one number"):
        pgbn.PFA((3, 4)).fit(X)
    assert deeper.report(tmp_path / "page.html").exists()


def test_a_training_that_ended_early_can_be_shown(tmp_path: Path) -> None:
    """max_width has more numbers than there are layers."""
    model = pgbn.PGBN((3, 2), burn_in=2, sweeps=1, random_state=0, link="poisson").fit(X)
    assert len(model.widths_) == 1
    assert model.report(tmp_path / "page.html", X).exists()


def test_fit_takes_an_executor(tmp_path: Path) -> None:
    """The rows of `fit` on disk: the same topics, and the estimator is copied, pickled and saved
    as any other."""
    plain = PFA(4, **FAST).fit(X)
    on_disk = PFA(4, executor=pgbn.Disk(tmp_path / "rows"), **FAST)
    again = clone(on_disk).fit(X)
    assert again.executor is on_disk.executor
    np.testing.assert_array_equal(PFA(4, n_jobs=-1, **FAST).fit(X).components_, plain.components_)
    np.testing.assert_array_equal(again.components_, plain.components_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).transform(X),
                                  plain.transform(X))  # fmt: skip
    pgbn.save(again, tmp_path / "model")
    assert pgbn.load(tmp_path / "model").executor is None
    with pytest.raises(DataError, match=r"n_jobs=2, executor=Disk\(.*: give one of them"):
        PFA(4, n_jobs=2, executor=on_disk.executor, **FAST).fit(X)


# ---- what Ctrl-C leaves -----------------------------------------------------------------------


def test_an_estimator_keeps_what_was_trained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And its priors, and the names of its terms; one that is killed in a sweep stays as it was."""
    names = tuple(f"w{v}" for v in range(30))
    stop_at, presses = 26, 1

    def report(self: Any, progress: Any) -> None:
        if progress.done == stop_at:
            for _ in range(presses):
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Reporter, "__call__", report)
    priors = pgbn.Priors(gamma0=(2.0, 3.0))
    model = PGBN(5, 2, burn_in=10, sweeps=10, random_state=0, warm_start=True, priors=priors)
    with pytest.raises(Interrupted, match=r"sweep 26 of 40; the estimator keeps"):
        model.fit(X)
    assert (len(model.widths_), model.n_iter_, model.link_) == (2, 26, "poisson")
    assert model.training_.deepest.priors == priors
    assert np.isfinite(model.transform(X)).all()
    assert model.fit(X).n_iter_ == 36
    pgbn.save(model, tmp_path, vocabulary=names)
    again, stop_at = pgbn.load(tmp_path).set_params(depth=3, min_width=1), 3
    with pytest.raises(Interrupted):
        again.fit(X)
    assert [network.vocabulary for network in again.models_] == [names] * 3
    kept, presses = dict(vars(again)), 2
    with pytest.raises(KeyboardInterrupt):
        again.set_params(warm_start=False).fit(X[:, :5])
    assert vars(again) == kept | {"warm_start": False}


# ---- topics of a fitted estimator, made one -------------------------------------------------


@pytest.fixture
def model():
    return PGBN((6, 4, 3), min_width=1, **FAST).fit(X)


def test_merge_trains_on_and_keeps_the_other_widths(model):
    sweeps = model.n_iter_
    assert model.merge(X, [(0, 2)], layer=2, sweeps=4) is model
    assert model.widths_ == (6, 3, 3)
    assert model.n_iter_ == sweeps + 4
    assert model.components_.shape == (6, X.shape[1])
    assert "4 topics of layer 2 were merged to 3" in model.training_.stopped
    assert model.set_params(layer=2).transform(X).shape == (X.shape[0], 3)


def test_reduce_and_merge_without_sweeps(model):
    totals = model.training_.deepest.weights[0].sum()
    assert model.reduce(X, to=3, sweeps=0).widths_ == (3, 4, 3)  # narrower than the second layer
    assert model.training_.deepest.weights[0].sum() == pytest.approx(totals)
    assert model.reduce(X, 2, sweeps=2).widths_ == (2, 4, 3)
    before = model.training_
    for groups in ([], [(0,)], [(1, 1)]):  # nothing to merge
        assert model.merge(X, groups, layer=2).training_ is before


def test_merged_estimators_are_saved_and_go_on(model, tmp_path):
    pgbn.save(model.merge(X, [(0, 1)], layer=1, sweeps=2), tmp_path / "m")
    again = pgbn.load(tmp_path / "m")
    for each in (model, again):
        each.set_params(warm_start=True).fit(X)
    assert again.widths_ == model.widths_ == (5, 4, 3)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_wrong_arguments_leave_the_estimator_as_it_was(model):
    before = model.training_
    for wrong, told in (
        ({"groups": [(0, 9)]}, "9: layer 1 has topics 0 to 5"),
        ({"groups": [(0, 1)], "layer": 4}, "layer=4"),
        ({"groups": [(0, 1)], "sweeps": -1}, "sweeps=-1"),
    ):
        with pytest.raises(DataError, match=told):
            model.merge(X, **wrong)
    with pytest.raises(DataError, match="to=7: layer 1 has 6 topics"):
        model.reduce(X, 7)
    with pytest.raises(DataError, match="60 entries"):
        model.merge(X[:50], [(0, 1)])
    assert model.training_ is before


def test_labels_stay_with_their_topics_through_the_sweeps_after(model):
    model.set_labels({(2, 0): "one", (2, 1): "two", (1, 3): "x"})
    model.merge(X, [(0, 1)], layer=2, sweeps=2)
    assert model.training_.deepest.labels == {(1, 3): "x", (2, 0): "one / two"}
    model.set_params(warm_start=True).fit(X)
    assert model.training_.deepest.labels == {(1, 3): "x", (2, 0): "one / two"}


# ---- some documents at a time ---------------------------------------------------------------


TOPICS = np.random.default_rng(0).dirichlet(np.full(15, 0.1), 3)
ARRIVING = np.random.default_rng(1).poisson(
    30 * np.random.default_rng(2).dirichlet(np.full(3, 0.2), 90) @ TOPICS
)
SHORT: dict[str, Any] = {"burn_in": 6, "sweeps": 4, "batch_size": 30, "random_state": 0,
                         "transform_burn_in": 5, "transform_draws": 5}  # fmt: skip


@pytest.mark.parametrize("learning", ["gibbs", "minibatch", "estimate"])
def test_topics_have_the_terms_of_a_corpus(learning: str, tmp_path) -> None:
    """Also after saving; a second fit without names has none."""
    corpus = pgbn.Corpus.from_texts(["cat mat cat sat", "bond rate bond bank"] * 10)
    model = pgbn.PGBN((3,), learning=learning, min_width=1, **SHORT).fit(corpus)
    assert set(model.topics(top=3)[0].terms) <= set(corpus.vocabulary)
    pgbn.save(model, tmp_path / "model")
    assert pgbn.load(tmp_path / "model").topics() == model.topics()
    assert model.fit(corpus.counts).topics()[0].terms[0].startswith("term")


def test_fit_is_train_minibatch_and_takes_a_corpus(tmp_path) -> None:
    model = pgbn.PGBN((4, 3), learning="minibatch", **SHORT).fit(ARRIVING)
    assert model.widths_ == (4, 3)
    same = pgbn.train_minibatch(ARRIVING, (4, 3), batch_size=30, steps=10, average=4, seed=model._seed,
                                progress=False)  # fmt: skip
    np.testing.assert_array_equal(model.components_, same.phi[0])
    corpus = pgbn.Corpus.build(ARRIVING, tmp_path / "corpus", block_rows=4096)
    other = pgbn.PGBN((4, 3), learning="minibatch", **SHORT).fit(corpus)
    np.testing.assert_array_equal(other.components_, model.components_)
    assert model.transform(ARRIVING).shape == (90, 4)
    pgbn.save(model, tmp_path / "model")
    again = pgbn.load(tmp_path / "model")
    assert (again.learning, again.batch_size) == ("minibatch", 30)
    np.testing.assert_array_equal(again.transform(ARRIVING), model.transform(ARRIVING))
    with pytest.raises(DataError, match="the state of this model was not kept"):
        again.partial_fit(ARRIVING)
    before = model.components_
    model.partial_fit(ARRIVING[:30])
    assert (model.components_ != before).any()
    assert model.training_.stopped == "120 documents seen"


def test_documents_that_arrive_later() -> None:
    model = pgbn.PGBN((4,), **SHORT)
    first = model.partial_fit(ARRIVING[:50]).perplexity(ARRIVING[80:])
    for start in (50, 60, 70):
        model.partial_fit(ARRIVING[start : start + 10])
    assert model.training_.stopped == "80 documents seen"
    assert model.perplexity(ARRIVING[80:]) < 1.2 * first
    weight = model.training_.deepest.weights[0].sum()
    assert 0.3 < weight / ARRIVING[:80].sum() < 3
    twice = pgbn.PGBN((4,), **SHORT).partial_fit(ARRIVING[:50]).partial_fit(ARRIVING[50:60])
    again = pgbn.PGBN((4,), **SHORT).partial_fit(ARRIVING[:50]).partial_fit(ARRIVING[50:60])
    np.testing.assert_array_equal(twice.components_, again.components_)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"learning": "sgd"}, "learning='sgd' must be"),
    ({"learning": "minibatch", "batch_size": 0}, "batch_size"),
    ({"learning": "minibatch", "warm_start": True}, "partial_fit learns from more"),
    ({"learning": "minibatch", "burn_in": (3, 4)}, "one number of steps"),
])  # fmt: skip
def test_wrong_arguments(arguments, words) -> None:
    with pytest.raises(DataError, match=words):
        pgbn.PGBN((4, 3), **{**SHORT, **arguments}).fit(ARRIVING)


def test_a_model_of_gibbs_sampling_goes_on_and_one_that_is_fitted_anew() -> None:
    model = pgbn.PGBN(4, 1, burn_in=40, sweeps=10, random_state=0, batch_size=20).fit(ARRIVING[:60])
    before = numbered_as_in_chain(model.training_.deepest).phi[0]
    model.partial_fit(ARRIVING[60:80])
    assert model.training_.stopped == "80 documents seen"
    after = numbered_as_in_chain(model.training_.deepest).phi[0]
    assert 0 < np.abs(after - before).max() < 0.3
    model.partial_fit(ARRIVING[80:])
    assert model.training_.stopped == "90 documents seen"
    model.fit(ARRIVING[:60]).partial_fit(ARRIVING[60:80])
    assert model.training_.stopped == "80 documents seen"
