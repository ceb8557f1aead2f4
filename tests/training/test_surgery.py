"""Surgery on states: prune and grow."""

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError
from pgbn.training.surgery import grow, prune
from tests.helpers.trained import model_of
from tests.helpers.training import state_of

SIZES = {"doc": 5, "term": 7}


def test_prune_removes_the_factor_everywhere_and_says_where_the_others_went():
    network, state = state_of([6, 4])
    before = {name: value.copy() for name, value in state.items()}
    for keep in (np.array([True, False, True, False]), [0, 2]):
        pruned, index = prune(network, state, "topic2", keep, rescale=["gamma0"])
        assert index.tolist() == [0, 2]
        for name, expected in {
            "phi2": state["phi2"][[0, 2]],
            "theta2": state["theta2"][:, [0, 2]],
            "r": state["r"][[0, 2]],
            "gamma0": state["gamma0"] / 2,  # the mass of a factor stays
            "phi1": state["phi1"],
            "theta1": state["theta1"],
        }.items():
            np.testing.assert_array_equal(pruned[name], expected)
    for name, value in before.items():  # the function is pure
        np.testing.assert_array_equal(state[name], value)
    lower, _ = prune(network, state, "topic1", [0, 1, 3])
    assert lower["phi2"].shape == (4, 3)
    np.testing.assert_allclose(lower["phi2"].sum(axis=1), 1.0)


def test_prune_of_an_unused_factor_does_not_change_the_rates():
    network, state = state_of([6, 4])
    state["theta2"][:, 1] = 0.0
    pruned, _ = prune(network, state, "topic2", [0, 2, 3])
    np.testing.assert_allclose(
        pruned["theta2"] @ pruned["phi2"], state["theta2"] @ state["phi2"], rtol=1e-12
    )
    network.with_sizes(topic2=3).chain({"x": np.ones((5, 7), int)}, start=pruned).sweep()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keep": np.array([], int)}, "keep is empty"),
        ({"keep": [0, 9]}, "distinct indices"),
        ({"keep": [1, 1]}, "distinct indices"),
        ({"keep": np.ones(3, bool)}, "keep has shape"),
        *(({"keep": keep}, "prune: keep=") for keep in (
            [0.5, 1.7], 0, True, [[0, 1]], ["a"], None, slice(2), [[0], [1, 2]], {"a": 1})),
        ({"dim": "topic"}, "Did you mean 'topic1'"),
        ({"rescale": "gamma"}, r"rescale: no node 'gamma'.* Did you mean 'gamma0'"),
        ({"rescale": 3}, "rescale=3"),
        ({"network": {}}, r"prune: network is dict; give a pgbn\.Network"),
        ({"state": [1]}, "prune: state is list; give a dict"),
        ({"state": {"theta1": np.ones(4)}}, "prune: theta1 has shape"),
        ({"state": {"r": ["a", "b"]}}, "prune: r has the dtype"),
    ],
)  # fmt: skip
def test_prune_checks_its_arguments(change, message):
    network, state = state_of([4])
    given = {"network": network, "state": state, "dim": "topic1", "keep": [0, 1]}
    assert prune(**given, rescale="gamma0")[0]["gamma0"] == state["gamma0"] / 2
    with pytest.raises(DataError, match=message):
        prune(**given | change)


def test_grow_adds_a_layer_and_leaves_the_rest():
    _, state = state_of([4])
    new = {"phi2": np.full((3, 4), 0.25), "theta2": 1 / 3, "r": 1 / 3, "c3": 1.0}
    del state["r"]
    grown, places = grow(pgbn.zoo.pgbn([4, 3]), state, new, SIZES)
    assert places == {}
    assert grown["theta2"].shape == (5, 3)
    assert grown["r"].tolist() == [1 / 3] * 3
    np.testing.assert_array_equal(grown["theta1"], state["theta1"])
    assert "gamma0" in grown


def test_grow_widens_a_layer_and_keeps_old_entries_first():
    _, state = state_of([4])
    new = {"phi1": 1 / 7, "theta1": 0.1, "r": 0.01}
    grown, places = grow(pgbn.zoo.pgbn([6]), state, new, SIZES)
    assert places["topic1"].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(grown["phi1"][:4], state["phi1"])
    np.testing.assert_array_equal(grown["theta1"][:, :4], state["theta1"])
    assert (grown["theta1"][:, 4:] == 0.1).all()
    np.testing.assert_allclose(grown["phi1"].sum(axis=1), 1.0)
    with pytest.raises(DataError, match=r"give values\['(phi1|theta1|r)'\]"):
        grow(pgbn.zoo.pgbn([6]), state, {}, SIZES)
    with pytest.raises(DataError, match="use prune"):
        grow(pgbn.zoo.pgbn([2]), state, {"phi1": 0.1, "r": 1, "theta1": 1}, SIZES)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("theta2", np.ones((4, 3)), r"theta2 has shape \(4, 3\); give .* shape \(5, 3\)"),
        ("theta2", "many", "theta2 has the dtype"),
        ("theta2", [[1], [2, 3]], "theta2 has rows of unequal length"),
        ("theta2", np.nan, "theta2 has the value nan"),
        ("theta2", -1.0, "theta2 has the value -1"),
        ("phi2", -1.0, "phi2 holds proportions"),
        ("phi2", np.nan, "phi2 holds proportions"),
        ("phi2", 0.0, "phi2 holds proportions"),
    ],
)
def test_grow_rejects_impossible_values(name, value, message):
    _, state = state_of([4])
    del state["r"]
    new = {"phi2": 0.25, "theta2": 1 / 3, "r": 1 / 3, "c3": 1.0, name: value}
    with pytest.raises(DataError, match=f"grow: {message}"):
        grow(pgbn.zoo.pgbn([4, 3]), state, new, SIZES)


def test_grow_checks_the_other_arguments():
    network, state = state_of([4])
    for given, message in (
        ((model_of(), state, {}), r"grow: network is TrainedNetwork; give a pgbn\.Net"),
        ((network, state, [1]), "grow: values is list; give a dict"),
        ((network, state, {}, {"doc": "five"}), r"grow: sizes\['doc'\]='five'"),
        ((network, {**state, "theta1": np.ones(4)}, {}), "grow: theta1 has shape"),
        ((network, {**state, "gamma0": -2.0}, {}), "grow: gamma0 has the value -2"),
        # The size of a new node is that of its array, where nobody says it.
        ((network, {}, {"phi1": np.full((3, 7), 1 / 7)}), r"phi1 has shape \(3, 7\).*\(4, 7\)"),
    ):
        with pytest.raises(DataError, match=message):
            grow(*given)
