"""Layer-wise training."""

import numpy as np
import pytest

import pgbn
import pgbn.report
from pgbn.errors import DataError
from pgbn.training import train_layerwise
from pgbn.training.trained import TrainedNetwork
from tests.helpers.training import QUICK, X


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
    with pytest.raises(DataError, match="60 entries along 'doc', but X has 59"):
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
