"""Topics made one: what stays as it was, and that the chain goes on."""

from dataclasses import replace

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError
from pgbn.evaluation.layer_quality import SimilarTopics
from pgbn.training.merging import merge_state, merge_topics, read_groups
from tests.helpers.training import QUICK, X


@pytest.fixture(scope="module")
def model():
    found = pgbn.train_layerwise(X, (7, 5, 4), 3, min_width=1, keep_draws=2, progress=False,
                                 **QUICK)  # fmt: skip
    return found.deepest.with_labels({(2, 1): "one", (2, 3): "three", (1, 0): "first"})


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([], [0, 1, 2, 3, 4]),
        ([(1, 3)], [0, 1, 2, 1, 3]),
        ([(3, 1), (4, 3)], [0, 1, 2, 1, 1]),
        ([(2,)], [0, 1, 2, 3, 4]),
        ([(0, 1, 2, 3, 4)], [0, 0, 0, 0, 0]),
        ([SimilarTopics(1, 0, 4, 6, ())], [0, 1, 2, 3, 0]),
    ],
)
def test_groups_are_numbered_by_their_first_topic(groups, expected):
    assert read_groups(groups, 5, 1).tolist() == expected


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([(1, 9)], "9: layer 2 has topics 0 to 4"),
        ([(1, -1)], "-1: layer 2"),
        ([(1, 0.5)], "0.5: layer 2"),
        ([3], "3 is not a group"),
        (["ab"], "'ab' is not a group"),
        (7, "groups=7: give lists of topics"),
        ([SimilarTopics(1, 0, 1, 6, ())], "of layer 1, but layer=2"),
    ],
)
def test_wrong_groups(model, groups, told):
    with pytest.raises(DataError, match=told):
        merge_topics(model, groups, 2)
    with pytest.raises(DataError, match="layer=4"):
        merge_topics(model, [(0, 1)], 4)


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_what_stays_as_it_was(model, layer):
    merged = merge_topics(model, [(1, 3), (0, 2)], layer)
    old, new = model.state, merged.state
    assert merged.widths[layer - 1] == model.widths[layer - 1] - 2
    theta, phi = f"theta{layer}", f"phi{layer}"
    np.testing.assert_allclose(new[theta].sum(axis=1), old[theta].sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(
        (new[theta] @ new[phi]).sum(axis=0), (old[theta] @ old[phi]).sum(axis=0), rtol=1e-12
    )
    np.testing.assert_allclose(new[phi].sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(new["gamma0"], old["gamma0"])
    for name in (f"theta{t}" for t in range(1, 4) if t != layer):
        np.testing.assert_array_equal(new[name], old[name])
    if layer == 3:
        np.testing.assert_allclose(new["r"].sum(), old["r"].sum(), rtol=1e-12)
        assert new["r"][1] == old["r"][1] + old["r"][3]
    else:
        above = f"phi{layer + 1}"
        np.testing.assert_allclose(new[above][:, 1], old[above][:, [1, 3]].sum(axis=1), rtol=1e-12)
        np.testing.assert_allclose(new[above].sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(merged.weights[layer - 1].sum(), model.weights[layer - 1].sum())
    np.testing.assert_allclose(
        merged.weights[layer - 1] @ merged.phi[layer - 1],
        model.weights[layer - 1] @ model.phi[layer - 1], rtol=1e-12,
    )  # fmt: skip
    for name, draws in merged.draws.items():
        assert draws.shape[1:] == new[name].shape


def test_a_topic_that_is_alone_stays_bit_for_bit_and_labels_go_along(model):
    merged = merge_topics(model, [(1, 3)], 2)
    np.testing.assert_array_equal(merged.phi[1][0], model.phi[1][0])
    np.testing.assert_array_equal(merged.state["phi2"][2], model.state["phi2"][2])
    assert merged.labels == {(1, 0): "first", (2, 1): "one / three"}
    assert merge_topics(model, [(0, 1)], 2).labels == {
        (1, 0): "first", (2, 0): "one", (2, 2): "three"}  # fmt: skip


def test_a_model_without_a_state_or_weights(model):
    bare = replace(model.without_state(), weights=(), draws={})
    merged = merge_topics(bare, [(0, 1)], 1)
    assert merged.widths == (model.widths[0] - 1, *model.widths[1:])
    assert not merged.state
    partly = replace(model, state={n: a for n, a in model.state.items() if n != "theta1"})
    with pytest.raises(DataError, match=r"no value of theta1; .* model.without_state\(\)"):
        merge_topics(partly, [(0, 1)])


def test_groups_of_no_weight_are_averaged():
    network = pgbn.zoo.pgbn([3])
    state = {"phi1": np.array([[0.5, 0.5], [0.1, 0.9], [1.0, 0.0]]), "theta1": np.zeros((4, 3))}
    found = merge_state(network, state, "topic1", read_groups([(0, 1)], 3, 1), np.zeros(3))
    np.testing.assert_allclose(found["phi1"], [[0.3, 0.7], [1.0, 0.0]])


def test_training_goes_on_and_can_be_saved(model, tmp_path):
    merged = merge_topics(model, [(1, 3)], 2)
    pgbn.save(merged, tmp_path / "merged")
    runs = [
        pgbn.train_layerwise(X, model.widths, 3, start_from=start, burn_in=1, sweeps=4, threads=1,
                             seed=3, progress=False).deepest
        for start in (merged, tmp_path / "merged")
    ]  # fmt: skip
    assert runs[0].widths == merged.widths
    assert runs[0].sweeps == model.sweeps + 4
    for name, value in runs[0].state.items():
        np.testing.assert_array_equal(value, runs[1].state[name])
    assert not np.array_equal(runs[0].state["theta2"], merged.state["theta2"])


def test_traces_tell_what_is_from_before(model):
    started = pgbn.train_layerwise(X, 5, 1, burn_in=6, sweeps=4, threads=1, seed=3, trace_every=2,
                                   progress=False).deepest  # fmt: skip
    assert "before_merging" not in started.traces
    network = started
    for merged, marks in ((1, [1] * 5 + [0, 0]), (2, [1] * 7 + [0, 0])):
        network = merge_topics(network, [(0, 1)], 1)
        assert network.traces["before_merging"].all()
        network = pgbn.train_layerwise(X, 5, 1, start_from=network, burn_in=1, sweeps=4, threads=1,
                                       seed=3, trace_every=2, progress=False).deepest  # fmt: skip
        assert network.widths == (started.widths[0] - merged,)
        assert network.traces["before_merging"].tolist() == marks
        assert network.traces["sweep"].tolist() == [2 * (n + 1) for n in range(len(marks))]
