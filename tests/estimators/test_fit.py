"""`fit` of the estimators: what it refuses, what it tells, and what is left when it fails."""

from __future__ import annotations

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
from pgbn.errors import DataError, PgbnError
from tests.helpers.training import documents

X = documents(60, 30).toarray()
FAST: dict[str, Any] = {"burn_in": 3, "collect": 2, "transform_burn_in": 2,
                        "transform_samples": 2, "random_state": 0}  # fmt: skip


def train_never(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("training began")

    monkeypatch.setattr("pgbn.estimators.pgbn.train_settings", fail)


# ---- data -----------------------------------------------------------------------------


def test_masked_cells_are_refused() -> None:
    masked = np.ma.masked_array(X, X > 3)
    hidden = int((X > 3).sum())
    fitted = PFA(3, **FAST).fit(np.ma.masked_array(X))  # nothing is masked
    for run in (PGBN(**FAST).fit, PFA(**FAST).fit, fitted.transform, fitted.perplexity):
        with pytest.raises(DataError, match=rf"^X has {hidden} masked cells.*train_layerwise"):
            run(masked)
    remedy = pgbn.train_layerwise(masked, 3, 1, burn_in=2, collect=1, progress=False)
    assert remedy.widths == (3,)


# ---- failure --------------------------------------------------------------------------


def test_an_estimator_that_failed_is_not_fitted() -> None:
    for model in (PGBN(**FAST).set_params(eta=0), PFA(**FAST).set_params(layer1="none")):
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
        ({"output": "x"}, "output='x' must"),
        ({"transform_samples": 0}, "transform_samples=0 must"),
        ({"transform_burn_in": -1}, "transform_burn_in=-1 must"),
        ({"n_jobs": 0}, "n_jobs=0 must"),
        ({"n_jobs": -2}, "n_jobs=-2 must be None, -1 or"),
        ({"depth": 0}, "depth=0 must"),
    ],
)
def test_settings_are_checked_before_training(
    parameters: dict[str, Any], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_never(monkeypatch)
    with pytest.raises(DataError, match=complaint):
        PGBN(**{**FAST, **parameters}).fit(X)


def test_a_width_has_the_name_of_the_estimator() -> None:
    with pytest.raises(DataError, match=r"^max_width=1000000000: "):
        PGBN(10**9, **FAST).fit(X)
    with pytest.raises(DataError, match=r"^width=1000000000: "):
        PFA(10**9, **FAST).fit(X)


def test_all_cores() -> None:
    one = PFA(4, **FAST).fit(X)
    all_cores = PFA(4, n_jobs=-1, **FAST).fit(X)
    np.testing.assert_array_equal(all_cores.components_, one.components_)


# ---- the rule that stops --------------------------------------------------------------


def test_fewer_layers_than_asked_for_are_told() -> None:
    model = PGBN(4, 3, eta=[0.05, 0.05, 0.1], warm_start=True, **FAST)
    told = r"depth=3, but the network has 1 layer: layer 1 has 4 ≤ 4 factors; .*min_width"
    with pytest.warns(pgbn.PgbnWarning, match=told) as received:
        model.fit(X)
    assert received[0].filename == __file__
    with pytest.raises(DataError, match=r"layers 1 to 1 \(training ended: layer 1 has 4 ≤ 4"):
        model.transform(X, layer=2)
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
    model = PGBN(max_width=6, depth=1, burn_in=2, collect=2, random_state=0, warm_start=True).fit(X)
    model._fixed = {**model._fixed, "max_width": 2.5}
    with pytest.raises(pgbn.DataError, match=r"max_width=2\.5"):
        model.fit(X)


def test_warm_start_says_nothing_where_nothing_changed() -> None:
    for state in (None, 3, np.random.RandomState(0)):
        model = PFA(4, warm_start=True, **{**FAST, "random_state": state}).fit(X)
        model.fit(sp.csr_array(X))
        model.set_params(link="poisson", eta=0.1, collect=1).fit(X)
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
    assert {network.vocabulary for network in model.networks_} == {names}
    assert pgbn.evaluation.topics(model) == model.topics()
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


@pytest.mark.parametrize("depth", [2, 3])
def test_an_estimator_that_is_stopped_keeps_the_names(
    depth: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tuple(f"w{v}" for v in range(30))
    pgbn.save(PGBN(8, 2, min_width=1, **FAST).fit(X), tmp_path, vocabulary=names)
    model = pgbn.load(tmp_path).set_params(warm_start=True, depth=depth)

    def interrupt(reporter: Any, event: pgbn.Progress) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("pgbn.estimators.pgbn.Reporter.__call__", interrupt)
    with pytest.raises(KeyboardInterrupt, match="keeps what was trained"):
        model.fit(X)
    assert [network.vocabulary for network in model.networks_] == [names] * depth
    assert model.topics()[0].terms[0] in names


# ---- budgets ------------------------------------------------------------------------------


def test_an_estimator_takes_a_budget_for_each_layer(tmp_path: Path) -> None:
    few: dict[str, Any] = {"burn_in": 6, "collect": 4, "min_width": 1, "random_state": 0,
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
    with pytest.raises(DataError, match=r"max_width=\(9, 5\): 2 of depth=3 layers"):
        deeper.set_params(max_width=(9, 5)).fit(X)
    with pytest.raises(DataError, match=r"width=\(3, 4\): 4 is more than the 3"):
        pgbn.PFA((3, 4)).fit(X)
    assert deeper.report(tmp_path / "page.html").exists()


def test_fit_takes_an_executor(tmp_path: Path) -> None:
    """The rows of `fit` on disk: the same topics, and the estimator is copied, pickled and saved
    as any other."""
    plain = PFA(4, **FAST).fit(X)
    on_disk = PFA(4, executor=pgbn.Disk(tmp_path / "rows"), **FAST)
    again = clone(on_disk).fit(X)
    assert again.executor is on_disk.executor
    np.testing.assert_array_equal(again.components_, plain.components_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).transform(X),
                                  plain.transform(X))  # fmt: skip
    pgbn.save(again, tmp_path / "model")
    assert pgbn.load(tmp_path / "model").executor is None
    with pytest.raises(DataError, match=r"n_jobs=2, executor=Disk\(.*: give one of them"):
        PFA(4, n_jobs=2, executor=on_disk.executor, **FAST).fit(X)
