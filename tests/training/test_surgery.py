"""Surgery on states: prune and grow."""

import numpy as np
import pytest

import pgbn
import pgbn.report
from pgbn.errors import DataError
from pgbn.training.surgery import grow, prune
from pgbn.training.trained import TrainedNetwork
from tests.helpers.training import state_of


def test_prune_removes_the_factor_everywhere_and_says_where_the_others_went():
    network, state = state_of([6, 4])
    keep = np.array([True, False, True, False])
    before = {name: value.copy() for name, value in state.items()}
    pruned, index = prune(network, state, "topic2", keep, rescale=["gamma0"])
    assert index.tolist() == [0, 2]
    for name, expected in {
        "phi2": state["phi2"][[0, 2]],
        "theta2": state["theta2"][:, [0, 2]],
        "r": state["r"][[0, 2]],
        "gamma0": state["gamma0"] / 2,
        "phi1": state["phi1"],
        "theta1": state["theta1"],
    }.items():
        np.testing.assert_array_equal(pruned[name], expected)
    for name, value in before.items():  # the function is pure
        np.testing.assert_array_equal(state[name], value)


def test_prune_keeps_the_mass_of_a_factor():
    network, state = state_of([8])
    pruned, index = prune(network, state, "topic1", [1, 5, 6], rescale=["gamma0"])
    assert pruned["gamma0"] / index.size == pytest.approx(2.0 / 8)


def test_prune_of_a_lower_layer_normalises_the_topics_above():
    network, state = state_of([6, 4])
    pruned, _ = prune(network, state, "topic1", [0, 1, 3])
    np.testing.assert_allclose(pruned["phi2"].sum(axis=1), 1.0)
    assert pruned["phi2"].shape == (4, 3)


def test_prune_of_an_unused_factor_does_not_change_the_rates():
    network, state = state_of([6, 4])
    state["theta2"][:, 1] = 0.0
    pruned, _ = prune(network, state, "topic2", [0, 2, 3])
    np.testing.assert_allclose(
        pruned["theta2"] @ pruned["phi2"], state["theta2"] @ state["phi2"], rtol=1e-12
    )


def test_prune_works_on_another_model():
    phi = pgbn.Dirichlet("phi", 0.1, over="term", dims="k")
    theta = pgbn.Gamma("theta", 0.5, 1.0, dims=("doc", "k"))
    network = pgbn.Network(pgbn.Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"k": 5})
    state = network.generate(0, sizes={"doc": 3, "term": 4})
    del state["x"]
    pruned, _ = prune(network, state, "k", np.arange(5) != 2)
    assert {name: value.shape for name, value in pruned.items()} == {
        "phi": (4, 4),
        "theta": (3, 4),
    }
    network.with_sizes(k=4).chain({"x": np.ones((3, 4), int)}, init=pruned).sweep()


@pytest.mark.parametrize(
    ("keep", "message"),
    [([], "keep is empty"), ([0, 9], "distinct indices"), ([1, 1], "distinct indices")],
)
def test_prune_refuses_a_bad_choice(keep, message):
    network, state = state_of([4])
    with pytest.raises(DataError, match=message):
        prune(network, state, "topic1", np.array(keep, int))


def test_prune_refuses_a_mask_of_another_size_and_an_unknown_dim():
    network, state = state_of([4])
    with pytest.raises(DataError, match="shape"):
        prune(network, state, "topic1", np.ones(3, bool))
    with pytest.raises(DataError, match="Did you mean 'topic1'"):
        prune(network, state, "topic", np.ones(4, bool))


def test_grow_adds_a_layer_and_leaves_the_rest():
    _, state = state_of([4])
    larger = pgbn.zoo.pgbn([4, 3])
    new = {"phi2": np.full((3, 4), 0.25), "theta2": 1 / 3, "r": 1 / 3, "c3": 1.0}
    del state["r"]
    grown, places = grow(larger, state, new, {"doc": 5, "term": 7})
    assert places == {}
    assert grown["theta2"].shape == (5, 3)
    assert grown["r"].tolist() == [1 / 3] * 3
    np.testing.assert_array_equal(grown["theta1"], state["theta1"])
    assert "gamma0" in grown


def test_grow_widens_a_layer_and_keeps_old_entries_first():
    _, state = state_of([4])
    grown, places = grow(
        pgbn.zoo.pgbn([6]), state, {"phi1": 1 / 7, "theta1": 0.1, "r": 0.01}, {"doc": 5, "term": 7}
    )
    assert places["topic1"].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(grown["phi1"][:4], state["phi1"])
    np.testing.assert_array_equal(grown["theta1"][:, :4], state["theta1"])
    assert (grown["theta1"][:, 4:] == 0.1).all()
    np.testing.assert_allclose(grown["phi1"].sum(axis=1), 1.0)


def test_grow_says_what_is_missing():
    _, state = state_of([4])
    with pytest.raises(DataError, match=r"give values\['(phi1|theta1|r)'\]"):
        grow(pgbn.zoo.pgbn([6]), state, {}, {"doc": 5, "term": 7})
    with pytest.raises(DataError, match="use prune"):
        grow(pgbn.zoo.pgbn([2]), state, {"phi1": 0.1, "r": 1, "theta1": 1}, {"doc": 5, "term": 7})


@pytest.mark.parametrize(
    "keep",
    [[0.5, 1.7], 0, True, [[0, 1]], ["a"], None, slice(2), [[0], [1, 2]], {"a": 1}],
    ids=repr,
)
def test_prune_takes_a_mask_or_indices_only(keep):
    network, state = state_of([4])
    with pytest.raises(DataError, match="prune: keep="):
        prune(network, state, "topic1", keep)


def test_prune_checks_the_other_arguments():
    network, state = state_of([4])
    one, _ = prune(network, state, "topic1", [0, 1], rescale="gamma0")
    assert one["gamma0"] == state["gamma0"] / 2
    with pytest.raises(DataError, match=r"rescale: no node 'gamma'.* Did you mean 'gamma0'"):
        prune(network, state, "topic1", [0, 1], rescale="gamma")
    with pytest.raises(DataError, match="rescale=3"):
        prune(network, state, "topic1", [0, 1], rescale=3)
    with pytest.raises(DataError, match=r"prune: network is dict; give a pgbn\.Network"):
        prune(state, network, "topic1", [0, 1])
    with pytest.raises(DataError, match="prune: state is list; give a dict"):
        prune(network, [1], "topic1", [0, 1])
    with pytest.raises(DataError, match="prune: theta1 has shape"):
        prune(network, {"theta1": np.ones(4)}, "topic1", [0, 1])
    with pytest.raises(DataError, match="prune: r has the dtype"):
        prune(network, {"r": ["a", "b"]}, "topic1", [0, 1])


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
def test_grow_refuses_impossible_values(name, value, message):
    _, state = state_of([4])
    del state["r"]
    new = {"phi2": 0.25, "theta2": 1 / 3, "r": 1 / 3, "c3": 1.0, name: value}
    with pytest.raises(DataError, match=f"grow: {message}"):
        grow(pgbn.zoo.pgbn([4, 3]), state, new, {"doc": 5, "term": 7})


def test_grow_checks_the_other_arguments():
    network, state = state_of([4])
    with pytest.raises(DataError, match=r"grow: network is TrainedNetwork; give a pgbn\.Net"):
        grow(TrainedNetwork.of_topics((np.full((2, 4), 0.25),), np.ones(2), np.ones(1)), state, {})
    with pytest.raises(DataError, match="grow: values is list; give a dict"):
        grow(network, state, [1])
    with pytest.raises(DataError, match=r"grow: sizes\['doc'\]='five'"):
        grow(network, state, {}, {"doc": "five"})
    with pytest.raises(DataError, match="grow: theta1 has shape"):
        grow(network, {**state, "theta1": np.ones(4)}, {})
    with pytest.raises(DataError, match="grow: gamma0 has the value -2"):
        grow(network, {**state, "gamma0": -2.0}, {})
    # The size of a new node is that of its array, where neither the network nor the user says it.
    with pytest.raises(DataError, match=r"phi1 has shape \(3, 7\); give .*\(4, 7\)"):
        grow(network, {}, {"phi1": np.full((3, 7), 1 / 7)})
