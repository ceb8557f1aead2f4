"""Where a training begins: documents, the names of their terms, networks to continue from."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pgbn
from pgbn.errors import DataError
from pgbn.report import report_data
from pgbn.training.training_result import LayerwiseTraining
from tests.helpers.refusals import check_refused
from tests.helpers.short_training import QUICK, X, no_work


@pytest.fixture(scope="module")
def trained() -> LayerwiseTraining:
    return pgbn.train_layerwise(X, 6, 2, **QUICK)


def test_a_training_can_be_gone_through(trained: LayerwiseTraining) -> None:
    assert [network.depth for network in trained] == [1, 2]
    assert trained[2] is trained.deepest
    with pytest.raises(DataError, match="no network of depth 0"):
        trained[0]


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
        (pd.DataFrame(X).where(X > 0).astype("Int64"), "NaN"),
    ],
)
def test_odd_documents_are_rejected_by_name(wrong: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pgbn.train_layerwise(wrong, 3, 1, callback=no_work, **QUICK)


def test_unusual_numbers_are_taken() -> None:
    one = pgbn.train_layerwise(X, 3, 1, **QUICK).deepest
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for same in (X.astype(np.float16), X.tolist(), pd.DataFrame(X).astype("Int64")):
            two = pgbn.train_layerwise(same, 3, 1, **QUICK).deepest
            assert np.array_equal(one.phi[0], two.phi[0])
        pgbn.train_layerwise(np.full((40, 40), 100, np.float16), 3, 1, **QUICK)  # sums to infinity


# ---- networks to continue from ------------------------------------------------------------


def test_a_beginning_that_does_not_fit(trained: LayerwiseTraining, tmp_path: Path) -> None:
    pgbn.save(pgbn.zoo.pfa(3), tmp_path / "network")
    partial = {name: value for name, value in trained.deepest.state.items() if name != "c3"}
    width = trained.widths[0]
    for start, data, depth, message, more in (
        (trained[1], X, 1, "start_from: this network has no state", {}),
        (replace(trained.deepest, state=partial), X, 2, "start_from: this network has no state", {}),
        (trained, X, 1, "start_from: it has 2 layers, more than depth=1", {}),
        (trained, X, 3, "start_from: its link is 'poisson', not link='gamma'", {"link": "gamma"}),
        (trained, X[:30], 2, "start_from: .* 60 entries along 'doc', but X has 30", {}),
        (trained, X[:, :20], 3, "start_from: .* 30 entries along 'term', but X has 20", {}),
        (trained, np.hstack([X, X]), 3, "start_from: .* 30 entries along 'term', but X has 60", {}),
        (trained, X, 2, rf"max_width={width - 1}: .* has {width} factors", {"max_width": width - 1}),
        (tmp_path / "network", X, 2, "start_from=.* holds a Network: give a trained network", {}),
        (pgbn.PGBN(3), X, 2, r"start_from=PGBN\(max_width=3\): give .*fitted estimator", {}),
    ):  # fmt: skip
        settings = {"max_width": 6, "depth": depth, "start_from": start, "callback": no_work}
        with pytest.raises(DataError, match=message):
            pgbn.train_layerwise(data, **QUICK | settings | more)


def test_a_fitted_estimator_is_a_beginning(tmp_path: Path) -> None:
    model = pgbn.PGBN(5, 1, burn_in=4, sweeps=2, link="poisson", random_state=0).fit(X)
    pgbn.save(model, tmp_path / "estimator")
    one = pgbn.train_layerwise(X, 5, 2, start_from=model.training_, **QUICK)
    for start in (model, tmp_path / "estimator", str(tmp_path / "estimator")):
        two = pgbn.train_layerwise(X, 5, 2, start_from=start, **QUICK)
        assert np.array_equal(one.deepest.r, two.deepest.r)


@pytest.mark.filterwarnings("error::pgbn.PgbnWarning")
def test_a_beginning_keeps_its_eta_priors_and_width() -> None:
    priors = pgbn.Priors(gamma0=(2.0, 3.0), c=(3.0, 2.0))
    first = pgbn.train_layerwise(X, 6, 1, eta=0.02, priors=priors, **QUICK)
    deeper = pgbn.train_layerwise(X, 50, 3, start_from=first, **QUICK)
    assert (deeper.deepest.eta, deeper.deepest.priors) == ((0.02,) * 3, priors)
    assert deeper.widths[0] == first.widths[0]
    own: dict[str, Any] = {"eta": 0.02, "priors": priors}
    same = pgbn.train_layerwise(X, 50, 3, start_from=first, **own, **QUICK)
    assert np.array_equal(deeper.deepest.r, same.deepest.r)
    other = {"eta": [0.2, 0.1], "priors": pgbn.Priors(c=(2.0, 2.0))}
    changed = pgbn.train_layerwise(X, 6, 2, start_from=first, **other, **QUICK).deepest
    assert (changed.eta, changed.priors) == ((0.2, 0.1), other["priors"])


@pytest.mark.parametrize("rule", [{"min_width": 6}, {"min_count": 10**9}])
def test_the_rules_that_stop_hold_for_a_beginning(rule: dict[str, int], tmp_path: Path) -> None:
    first = pgbn.train_layerwise(X, 6, 3, **QUICK | rule)
    again = pgbn.train_layerwise(X, 6, 3, start_from=first, callback=no_work, **QUICK | rule)
    assert again.widths == first.widths == (6,)
    assert again.stopped == first.stopped
    assert again.deepest.state  # to continue from, with other rules
    two = pgbn.train_layerwise(X, 6, 2, start_from=again, **QUICK)
    assert len(two) == 2
    saved = pgbn.train_layerwise(X, 6, 3, start_from=first, save=tmp_path / "m", **QUICK | rule)
    assert saved.stopped == first.stopped
    few = pgbn.train_layerwise(X, 6, 3, start_from=two, min_count=10**9, callback=no_work, **QUICK)
    assert few.stopped == f"layer 2 has at most {X.sum()} < {10**9} counts"


@pytest.mark.parametrize("depth", [1, 2])
def test_more_sweeps_go_on_with_the_trace(depth: int) -> None:
    """Eleven sweeps of the top layer, every second of them noted, then five more."""
    before = pgbn.train_layerwise(X, 6, depth, **QUICK)
    after = pgbn.train_layerwise(X, 6, depth, start_from=before, **QUICK).deepest
    assert after.sweeps == before.deepest.sweeps + 5
    assert after.traces["sweep"].tolist() == [2, 4, 6, 8, 10, 12, 14, 16]
    for name, old in before.deepest.traces.items():
        assert np.array_equal(after.traces[name][:5], old)
    again = pgbn.train_layerwise(X, 6, depth, start_from=after, **QUICK).deepest
    assert (np.diff(again.traces["sweep"]) == 2).all()
    assert again.traces["sweep"].size == 10


@pytest.mark.filterwarnings("error::pgbn.PgbnWarning")
def test_no_counts_are_reported_where_something_is_trained(trained: LayerwiseTraining) -> None:
    same = pgbn.train_layerwise(X * 0, 6, 3, start_from=trained, callback=no_work, **QUICK)
    assert len(same) == 2
    for start in (trained, None):
        with pytest.raises(pgbn.PgbnWarning, match="X has no counts"):
            pgbn.train_layerwise(X * 0, 6, 2, start_from=start, **QUICK)


# ---- names of the terms: columns in another order gave other shares, and no word of it --------


NAMES = tuple("abcdef")
COUNTS = np.random.default_rng(0).poisson([[6, 6, 6, 0, 0, 0], [0, 0, 0, 6, 6, 6]] * 5)
FRAME = pd.DataFrame(COUNTS, columns=list(NAMES))
TURNED = FRAME[list(reversed(NAMES))]
FEW: dict[str, Any] = {"burn_in": 2, "sweeps": 1, "min_width": 1, "progress": False}


def test_new_documents_go_by_name(tmp_path: Path) -> None:
    training = pgbn.train_layerwise(FRAME, (3, 2), 2, **FEW)
    assert [network.vocabulary for network in training] == [NAMES] * 2
    first, *others = (training.infer(data, burn_in=2, draws=2).proportions["theta1"]
                      for data in (FRAME, TURNED, COUNTS))  # fmt: skip
    for other in others:
        np.testing.assert_array_equal(first, other)
    first, other = (report_data(training, data).theta[0] for data in (FRAME, TURNED))
    np.testing.assert_array_equal(first, other)
    found = pgbn.train_layerwise(FRAME, 3, 1, save=tmp_path / "model", **FEW).deepest
    assert found.vocabulary == pgbn.load(tmp_path / "model").deepest.vocabulary == NAMES
    batches = pgbn.train_minibatch(FRAME, 3, batch_size=5, steps=2, average=1, progress=False)
    assert batches.vocabulary == NAMES
    for names in (list(range(5, 11)), ["a", *"abcde"]):  # numbers, and one that comes twice
        plain = pgbn.train_layerwise(FRAME.set_axis(names, axis=1), 3, 1, **FEW)
        assert plain[1].vocabulary is None
    held = pgbn.HeldOut(TURNED)
    for call, name in (
        (lambda: pgbn.train_layerwise(TURNED, (3, 2), 2, start_from=training, **FEW), "X"),
        (lambda: pgbn.HeldOut.of_model(training, FRAME, train=TURNED), "train"),
        (lambda: pgbn.train_minibatch(FRAME, 3, held_out=TURNED, progress=False), "held_out"),
        (lambda: held.add_chain(pgbn.zoo.pfa(2).chain({"x": FRAME})), "held_out"),
    ):
        check_refused(call, pgbn.DataError, [f"{name}: the labels along 'term'", "'f'", "'a'"])
