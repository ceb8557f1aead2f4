"""Where a training begins: documents, networks to go on from, and what was stopped."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import checkpoint
from pgbn.errors import DataError
from pgbn.training.training_result import LayerwiseTraining
from tests.helpers.short_training import QUICK, X, no_work


@pytest.fixture(scope="module")
def trained() -> LayerwiseTraining:
    return pgbn.train_layerwise(X, 6, 2, **QUICK)


def test_a_training_can_be_gone_through(trained: LayerwiseTraining) -> None:
    assert [network.depth for network in trained] == [1, 2]
    assert len(trained) == 2
    assert trained[2] is trained.deepest
    with pytest.raises(DataError, match="no network of depth 0"):
        trained[0]
    assert LayerwiseTraining.deepest.__doc__
    assert LayerwiseTraining.widths.__doc__


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((5, 0), int), "X: .*empty"),
        (["some words", "more"], "X: data of dtype"),
        (None, "X: data of dtype object"),
        (3, r"X: data of shape \(\)"),
        ({"a": 1}, "data: 'a' is not an observed node"),
        ((row for row in X), "X: data of dtype object"),
        ([[1, 2], [3]], "X: .*unequal length"),
        (X[0], "X: data of shape"),
        (X - 5, "X: the data have"),
    ],
    ids=["0 columns", "texts", "None", "int", "dict", "generator", "ragged", "1-d", "negative"],
)
def test_odd_documents_are_refused_by_name(wrong: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pgbn.train_layerwise(wrong, 3, 1, callback=no_work, **QUICK)


def test_unusual_numbers_are_taken() -> None:
    pandas = pytest.importorskip("pandas")
    one = pgbn.train_layerwise(X, 3, 1, **QUICK).deepest
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for same in (X.astype(np.float16), X.tolist(), pandas.DataFrame(X).astype("Int64")):
            two = pgbn.train_layerwise(same, 3, 1, **QUICK).deepest
            assert np.array_equal(one.phi[0], two.phi[0])
        pgbn.train_layerwise(np.full((40, 40), 100, np.float16), 3, 1, **QUICK)  # sums to infinity
    frame = pandas.DataFrame(X).astype("Int64")
    frame.iloc[0, 0] = pandas.NA
    with pytest.raises(DataError, match="NaN"):
        pgbn.train_layerwise(frame, 3, 1, callback=no_work, **QUICK)


def test_no_counts_at_all_are_reported() -> None:
    with pytest.warns(pgbn.PgbnWarning, match="X has no counts"):
        pgbn.train_layerwise(X * 0, 3, 1, **QUICK)


def test_a_beginning_that_does_not_fit(trained: LayerwiseTraining, tmp_path: Path) -> None:
    pgbn.save(pgbn.zoo.pfa(3), tmp_path / "network")
    partial = {name: value for name, value in trained.deepest.state.items() if name != "c3"}
    for start, data, depth, message in (
        (trained[1], X, 1, "start_from: this network has no state"),
        (trained[1], X, 2, "start_from: this network has no state"),
        (replace(trained.deepest, state=partial), X, 2, "start_from: this network has no state"),
        (trained, X, 1, "start_from: it has 2 layers, more than depth=1"),
        (trained, X[:30], 2, "start_from: .* 60 entries along 'doc', but X has 30"),
        (trained, X[:30], 3, "start_from: .* 60 entries along 'doc', but X has 30"),
        (trained, X[:, :20], 2, "start_from: .* 30 entries along 'term', but X has 20"),
        (trained, X[:, :20], 3, "start_from: .* 30 entries along 'term', but X has 20"),
        (trained, np.hstack([X, X]), 3, "start_from: .* 30 entries along 'term', but X has 60"),
        (tmp_path / "network", X, 2, "start_from=.* holds a Network: give a trained network"),
        (pgbn.PGBN(3), X, 2, r"start_from=PGBN\(max_width=3\): give .*fitted estimator"),
    ):
        with pytest.raises(DataError, match=message):
            pgbn.train_layerwise(data, 6, depth, start_from=start, callback=no_work, **QUICK)


def test_a_fitted_estimator_is_a_beginning(tmp_path: Path) -> None:
    model = pgbn.PGBN(5, 1, burn_in=4, collect=2, link="poisson", random_state=0).fit(X)
    pgbn.save(model, tmp_path / "estimator")
    settings = {"seed": 7, **QUICK}
    one = pgbn.train_layerwise(X, 5, 2, start_from=model.training_, **settings)
    for start in (model, tmp_path / "estimator", str(tmp_path / "estimator")):
        two = pgbn.train_layerwise(X, 5, 2, start_from=start, **settings)
        assert np.array_equal(one.deepest.r, two.deepest.r)


@pytest.mark.filterwarnings("error::pgbn.PgbnWarning")
def test_a_beginning_keeps_its_eta_and_priors() -> None:
    priors = pgbn.Priors(gamma0=(2.0, 3.0))
    own: dict[str, Any] = {"eta": [0.01, 0.02], "priors": priors}
    first = pgbn.train_layerwise(X, 6, 2, **own, **QUICK)
    more = pgbn.train_layerwise(X, 6, 2, start_from=first, **QUICK).deepest
    assert (more.eta, more.priors) == ((0.01, 0.02), priors)
    deeper = pgbn.train_layerwise(X, 6, 4, start_from=first, **QUICK).deepest
    assert (deeper.eta, deeper.priors) == ((0.01, 0.02, 0.02, 0.02), priors)
    told = {**own, "eta": [0.01, 0.02, 0.02, 0.02]}
    same = pgbn.train_layerwise(X, 6, 4, start_from=first, **told, **QUICK).deepest
    assert np.array_equal(deeper.r, same.r)
    plain = pgbn.train_layerwise(X, 6, 1, **QUICK).deepest
    assert (plain.eta, plain.priors) == ((0.05,), pgbn.Priors())


def test_settings_that_differ_from_those_of_the_beginning(trained: LayerwiseTraining) -> None:
    width = trained.widths[0]
    for depth in (2, 3):
        with pytest.raises(DataError, match=rf"max_width={width - 1}: .* has {width} factors.*max"):
            pgbn.train_layerwise(X, width - 1, depth, start_from=trained, callback=no_work, **QUICK)
    assert pgbn.train_layerwise(X, 50, 3, start_from=trained, **QUICK).widths[0] == width
    changed = pgbn.train_layerwise(
        X, 6, 2, eta=0.2, priors=pgbn.Priors(c=(2.0, 2.0)), start_from=trained, **QUICK
    )
    assert changed.deepest.eta == (0.2, 0.2)
    assert changed.deepest.priors.c == (2.0, 2.0)


@pytest.mark.parametrize("rule", [{"min_width": 6}, {"min_count": 10**9}])
def test_the_rules_that_stop_hold_for_a_beginning(rule: dict[str, int], tmp_path: Path) -> None:
    first = pgbn.train_layerwise(X, 6, 3, **QUICK | rule)
    again = pgbn.train_layerwise(X, 6, 3, start_from=first, callback=no_work, **QUICK | rule)
    assert again.widths == first.widths == (6,)
    assert again.stopped == first.stopped
    assert again.deepest.state  # to go on from, with other rules
    assert len(pgbn.train_layerwise(X, 6, 2, start_from=again, **QUICK)) == 2
    saved = checkpoint.train(X, tmp_path / "m", 6, 3, start_from=first, **QUICK | rule)
    assert saved.stopped == first.stopped


def test_a_beginning_of_several_layers_has_at_most_the_counts_of_the_data(
    trained: LayerwiseTraining,
) -> None:
    few = pgbn.train_layerwise(
        X, 6, 3, start_from=trained, min_count=10**9, callback=no_work, **QUICK
    )
    assert few.stopped == f"layer 2 has at most {X.sum()} < {10**9} counts"


def test_resume_takes_what_a_callback_saw() -> None:
    with pytest.raises(DataError, match=r"resume=3: give the pgbn\.Progress"):
        pgbn.train_layerwise(X, 6, 2, resume=3, callback=no_work, **QUICK)  # type: ignore[arg-type]
    seen: list[pgbn.Progress] = []
    pgbn.train_layerwise(X, 6, 2, **QUICK | {"callback": seen.append})
    for data, depth in ((X[:30], 2), (X, 1)):
        with pytest.raises(DataError, match="resume: a training of layer 2"):
            pgbn.train_layerwise(data, 6, depth, resume=seen[-1], callback=no_work, **QUICK)


@pytest.mark.parametrize("depth", [1, 2])
def test_more_sweeps_go_on_with_the_trace(depth: int) -> None:
    """Eleven sweeps of the top layer, every second of them noted, then five more."""
    before = pgbn.train_layerwise(X, 6, depth, **QUICK)
    after = pgbn.train_layerwise(X, 6, depth, start_from=before, **QUICK).deepest
    assert after.traces["sweep"].tolist() == [2, 4, 6, 8, 10, 12, 14, 16]
    for name, old in before.deepest.traces.items():
        assert np.array_equal(after.traces[name][:5], old)
    again = pgbn.train_layerwise(X, 6, depth, start_from=after, **QUICK).deepest
    assert (np.diff(again.traces["sweep"]) == 2).all()
    assert again.traces["sweep"].size == 10


def test_an_estimator_that_gets_no_further_layer_needs_no_settings_for_it() -> None:
    model = pgbn.PGBN(3, 2, burn_in=[3, 2], collect=[2, 1], link="poisson", min_width=4,
                      random_state=0, warm_start=True)  # fmt: skip
    with pytest.warns(pgbn.PgbnWarning, match="the network has 1 layer"):
        before = model.fit(X).n_iter_
    with pytest.warns(pgbn.PgbnWarning, match="the network has 1 layer"):
        assert model.fit(X).n_iter_ == before + 2
    with pytest.raises(DataError, match=r"burn_in=\[3, 2, 1\]"):
        pgbn.PGBN(3, 2, burn_in=[3, 2, 1], link="poisson").fit(X)


@pytest.mark.filterwarnings("error::pgbn.PgbnWarning")
def test_no_counts_are_not_reported_where_nothing_is_trained(trained: LayerwiseTraining) -> None:
    same = pgbn.train_layerwise(X * 0, 6, 3, start_from=trained, callback=no_work, **QUICK)
    assert len(same) == 2
    with pytest.raises(pgbn.PgbnWarning, match="X has no counts"):
        pgbn.train_layerwise(X * 0, 6, 2, start_from=trained, **QUICK)
