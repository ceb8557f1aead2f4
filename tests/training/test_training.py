"""Surgery on states and layer-wise training."""

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
import pgbn.report
from pgbn.errors import DataError, StorageError
from pgbn.training import train_layerwise
from pgbn.training.surgery import grow, prune
from pgbn.training.trained import TrainedNetwork


def documents(n=60, terms=30, topics=3, seed=0):
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(terms, 0.1), topics)
    return sp.csr_array(rng.poisson(rng.gamma(0.5, 20.0, (n, topics)) @ phi))


X = documents()
QUICK = {"burn_in": 15, "collect": 8, "threads": 1, "trace_every": 5}


@pytest.fixture(scope="module")
def trained():
    return train_layerwise(X, 12, 3, seed=3, keep_states=True, **QUICK)


# ---- surgery --------------------------------------------------------------------------


def state_of(widths, n=5, terms=7, seed=0):
    network = pgbn.zoo.pgbn(widths)
    # The prior of γ0 is nearly all at 0, where no scaling would show.
    given = {"gamma0": 2.0, "c0": 1.0, "p2": np.ones(n)}
    state = network.generate(seed, {"doc": n, "term": terms}, given)
    del state["x"]
    return network, state


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
        grow(TrainedNetwork((np.full((2, 4), 0.25),), np.ones(2), np.ones(1)), state, {})
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


# ---- training -------------------------------------------------------------------------


def test_every_depth_is_a_network_of_its_own(trained):
    assert [network.depth for network in trained.networks] == [1, 2, 3]
    for network in trained.networks:
        below = 30
        for phi in network.phi:
            assert phi.shape[1] == below
            np.testing.assert_allclose(phi.sum(axis=1), 1.0)
            assert (phi > 0).all()
            below = phi.shape[0]
        assert network.widths == tuple(sorted(network.widths, reverse=True))
        assert network.r.shape == (network.widths[-1],)
        assert network.c.shape == (network.depth,)
        assert (network.c > 0).all()
        assert network.network().sizes["topic1"] == network.widths[0]
        assert [w.size for w in network.weights] == list(network.widths)
    assert trained[2] is trained.networks[1]
    assert trained.widths[:2] == trained[2].widths


def test_phi_is_the_posterior_mean_given_the_last_counts_and_pruning_follows_the_counts():
    seen = {}

    def note(progress):
        counts = progress.chain.counts[f"theta{progress.depth}"].sum(axis=0)
        seen[progress.depth, progress.phase] = (progress.chain.counts, int((counts > 0).sum()))

    result = train_layerwise(X, 40, 2, seed=1, callback=note, **(QUICK | {"burn_in": 80}))
    for network in result.networks:
        depth = network.depth
        assert network.widths[-1] == seen[depth, "burn_in"][1]
        counts = seen[depth, "collect"][0]
        for t, phi in enumerate(network.phi, 1):
            shape = counts[f"phi{t}"] + 0.05
            np.testing.assert_allclose(phi, shape / shape.sum(axis=1, keepdims=True))
    assert result.widths[0] < 40  # three topics need not forty


def test_traces_and_medians(trained):
    deepest = trained.deepest
    assert deepest.traces["sweep"].tolist() == [5, 10, 15, 20]
    assert np.isfinite(deepest.traces["log_likelihood"]).all()
    np.testing.assert_allclose(deepest.c[0], np.median(deepest.state["p2"]))
    np.testing.assert_allclose(deepest.c[2], np.median(deepest.state["c4"]))
    assert deepest.sweeps == 3 * 23


def test_training_improves_the_fit():
    result = train_layerwise(X, 8, 1, burn_in=40, collect=10, trace_every=1, threads=1)
    trace = result.deepest.traces["log_likelihood"]
    assert trace[-5:].mean() > trace[0] + 100


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(trained):
    again = train_layerwise(X, 12, 3, seed=3, **(QUICK | {"threads": 2}))
    for one, two in zip(trained.networks, again.networks, strict=True):
        np.testing.assert_array_equal(one.r, two.r)
        for a, b in zip(one.phi, two.phi, strict=True):
            np.testing.assert_array_equal(a, b)
    binary = [
        train_layerwise((X > 0).astype(int), 4, 1, link="bernoulli", **(QUICK | {"threads": n}))
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(binary[0].deepest.r, binary[1].deepest.r)
    other = train_layerwise(X, 12, 1, seed=4, **QUICK)
    assert other.widths != again[1].widths or (other[1].r != again[1].r).any()


@pytest.mark.parametrize("link", ["poisson", "bernoulli", "gamma"])
def test_every_link(link):
    data = {"poisson": X, "bernoulli": (X > 0).astype(int), "gamma": X * 0.37}[link]
    result = train_layerwise(data, 6, 2, link=link, burn_in=6, collect=4, threads=1)
    assert result.deepest.link == link
    assert (result.deepest.noise != 1.0) == (link == "gamma")
    assert np.isfinite(result.deepest.traces["log_likelihood"]).all()


def test_a_saved_network_goes_on_as_if_nothing_had_happened(trained, tmp_path):
    trained[2].save(tmp_path / "two")
    loaded = TrainedNetwork.load(tmp_path / "two")
    assert loaded.widths == trained[2].widths
    assert loaded.priors == trained[2].priors
    resumed = train_layerwise(X, 12, 3, seed=3, start_from=tmp_path / "two", **QUICK)
    assert [network.depth for network in resumed.networks] == [2, 3]
    np.testing.assert_array_equal(resumed.deepest.r, trained.deepest.r)
    np.testing.assert_array_equal(resumed.deepest.phi[0], trained.deepest.phi[0])


def test_a_finished_network_trains_more(trained):
    more = train_layerwise(X, 12, 3, seed=3, start_from=trained, **QUICK)
    assert more.widths == trained.widths
    assert more.deepest.sweeps == trained.deepest.sweeps + 8
    assert (more.deepest.r != trained.deepest.r).any()


def test_start_from_is_checked(trained):
    with pytest.raises(DataError, match="60 documents, but X has 59"):
        train_layerwise(X[:59], 12, 4, start_from=trained, **QUICK)
    with pytest.raises(DataError, match="no state"):
        train_layerwise(X, 12, 4, start_from=trained.deepest.without_state(), **QUICK)
    with pytest.raises(DataError, match="link"):
        train_layerwise(X, 12, 4, start_from=trained, link="gamma", **QUICK)


def test_only_the_deepest_keeps_its_state_unless_asked(trained):
    short = train_layerwise(X, 5, 2, **QUICK)
    assert not short[1].state
    assert short[2].state
    assert trained[1].state


def test_stop_rules():
    narrow = train_layerwise(X, 5, 4, min_width=5, **QUICK)
    assert len(narrow.networks) == 1
    assert "≤ 5 factors" in narrow.stopped
    few = train_layerwise(X, 8, 4, min_count=10**9, min_width=1, **QUICK)
    assert len(few.networks) == 1
    assert "counts" in few.stopped


def test_averaging_over_the_last_sweeps():
    one = train_layerwise(X, 8, 1, average=1, **QUICK).deepest
    all_of_them = train_layerwise(X, 8, 1, average=8, **QUICK).deepest
    assert one.widths == all_of_them.widths  # the chain itself is the same
    assert (one.phi[0] != all_of_them.phi[0]).any()
    np.testing.assert_allclose(all_of_them.phi[0].sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"depth": 0}, "depth=0"),
        ({"max_width": 2.5}, "max_width=2.5"),
        ({"burn_in": [5]}, "one for each of 2 layers"),
        ({"collect": 0}, "collect=0"),
        ({"eta": -1.0}, "eta=-1.0"),
        ({"link": "probit"}, "link='probit'"),
        ({"seed": -3}, "seed=-3"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    settings = {"max_width": 4, "depth": 2, **QUICK, **arguments}
    with pytest.raises(pgbn.PgbnError, match=message):
        train_layerwise(X, **settings)


def test_budgets_and_eta_may_differ_by_layer():
    sweeps = []
    train_layerwise(
        X, 6, 2, eta=[0.1, 0.5], burn_in=[3, 5], collect=[2, 1], min_width=1, threads=1,
        callback=lambda progress: sweeps.append((progress.depth, progress.phase)),
    )  # fmt: skip
    assert [sweeps.count(pair) for pair in
            ((1, "burn_in"), (1, "collect"), (2, "burn_in"), (2, "collect"))] == [3, 2, 5, 1]  # fmt: skip


def test_a_file_that_is_not_a_network(tmp_path, trained):
    np.savez(tmp_path / "x.npz", a=np.ones(3))
    with pytest.raises(StorageError, match="no saved model there"):
        TrainedNetwork.load(tmp_path / "x.npz")
    pgbn.save(pgbn.zoo.pfa(3), tmp_path / "network")
    with pytest.raises(DataError, match="holds a Network, not a trained network"):
        TrainedNetwork.load(tmp_path / "network")
    pgbn.save(trained, tmp_path / "training")
    assert TrainedNetwork.load(tmp_path / "training").widths == trained.widths
    with pytest.raises(DataError, match="start_from=3: give a trained network"):
        train_layerwise(X, 12, 3, start_from=3)


def test_a_trained_network_is_checked():
    with pytest.raises(DataError, match="sum to one"):
        TrainedNetwork((np.ones((2, 3)),), np.ones(2), np.ones(1))
    with pytest.raises(DataError, match="r has shape"):
        TrainedNetwork((np.full((2, 4), 0.25),), np.ones(3), np.ones(1))


def test_labels_of_topics_are_saved_and_shown(trained, tmp_path):
    named = trained.deepest.with_labels({(1, 0): "weather \u202e", (2, 1): "<b>travel"})
    pgbn.save(named, tmp_path / "named", vocabulary=[f"w{v}" for v in range(30)])
    loaded = pgbn.load(tmp_path / "named")
    assert loaded.labels == {(1, 0): "weather \u202e", (2, 1): "<b>travel"}
    shown = {topic.index: topic for topic in pgbn.evaluation.topics(loaded, 2)}
    assert shown[1].label == "<b>travel"
    assert ") <b>travel: w" in str(shown[1])
    assert shown[0].label == ""
    page = loaded.report(tmp_path / "report.html").read_text("utf-8")
    assert '"labels":{"0":"weather' in page
    assert "\\u003cb\\u003etravel" in page
    assert "&lt;b&gt;travel" in pgbn.report.summary_html(loaded, topics=99)
    assert loaded.with_labels({(1, 0): ""}).labels == {(2, 1): "<b>travel"}
    for wrong in ({(9, 0): "x"}, {(1, 99): "x"}, {(1, 0): 3}, {"a": "b"}, 3):
        with pytest.raises(DataError, match="labels"):
            loaded.with_labels(wrong)
