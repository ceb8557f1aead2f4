"""Topics of a fitted estimator, made one."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

import pgbn
from pgbn.errors import DataError
from tests.helpers.training import X

FAST = {"burn_in": 6, "collect": 3, "transform_burn_in": 2, "transform_samples": 2,
        "random_state": 0, "min_width": 1}  # fmt: skip


@pytest.fixture
def model():
    return pgbn.PGBN((6, 4, 3), **FAST).fit(X)


def test_merge_trains_on_and_keeps_the_other_widths(model):
    sweeps = model.n_iter_
    assert model.merge(X, [(0, 2)], layer=2, sweeps=4) is model
    assert model.widths_ == (6, 3, 3)
    assert model.n_iter_ == sweeps + 4
    assert model.components_.shape == (6, X.shape[1])
    assert "4 topics of layer 2 were merged to 3" in model.training_.stopped
    assert model.transform(X, layer=2).shape == (X.shape[0], 3)


def test_a_first_layer_may_become_narrower_than_the_second(model):
    assert model.reduce(X, 3, sweeps=2).widths_ == (3, 4, 3)


def test_reduce_and_merge_without_sweeps(model):
    totals = model.training_.deepest.weights[0].sum()
    model.reduce(X, to=2, layer=1, sweeps=0)
    assert model.widths_[0] == 2
    assert model.training_.deepest.weights[0].sum() == pytest.approx(totals)


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


@pytest.mark.parametrize("groups", [[], [(0,)], [(1, 1)]])
def test_where_there_is_nothing_to_merge_all_stays(model, groups):
    before = model.training_
    assert model.merge(X, groups, layer=2).training_ is before
