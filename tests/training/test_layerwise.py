"""Layer-wise training: what is kept of its chains, where they begin, their sampler, when it stops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.engine.first_layer import Blocked
from pgbn.training import checkpoints, train_layerwise
from pgbn.training.growing import Plan, start_of_layer
from pgbn.training.layerwise import train_settings
from pgbn.training.numbering import numbered_as_in_chain
from pgbn.training.settings import Family, Settings
from tests.helpers import short_training
from tests.helpers.saved import same_networks as same
from tests.helpers.training import QUICK, X, state_of


def test_every_depth_is_a_network_of_its_own(trained):
    assert [network.depth for network in trained] == [1, 2, 3]
    for network in trained:
        assert [phi.shape[1] for phi in network.phi] == [30, *network.widths[:-1]]
        for phi in network.phi:
            np.testing.assert_allclose(phi.sum(axis=1), 1.0)
            assert (phi > 0).all()
        assert network.widths == tuple(sorted(network.widths, reverse=True))
        assert network.r.shape == (network.widths[-1],)
        assert network.c.shape == (network.depth,)
        assert network.network.sizes["topic1"] == network.widths[0]
        assert [w.size for w in network.weights] == list(network.widths)
        assert network.state  # of all, with keep_states
    assert trained[2] is trained.models[1]
    assert [bool(network.state) for network in train_layerwise(X, 5, 2, **QUICK)] == [False, True]


def test_means_weights_and_traces_are_those_of_the_sweeps():
    """Φ is the posterior mean given the counts, with the eta of its layer, and r the value, over
    the last sweeps; a layer keeps the factors that have counts after its burn-in."""
    seen: dict[Any, list[Any]] = {}

    def note(event):
        counts, active = event.chain.counts, int((unit_counts(event) > 0).sum())
        seen.setdefault((event.depth, event.phase), []).append(
            (counts, event.chain.values["r"].copy(), active)
        )

    def unit_counts(event):
        return event.chain.counts[f"theta{event.depth}"].sum(axis=0)

    etas = (0.05, 0.7)
    result = train_layerwise(X, 40, 2, seed=1, eta=etas, average=3, burn_in=[80, 20],
                             sweeps=[8, 5], trace_every=1, min_width=0, callback=note,
                             threads=1)  # fmt: skip
    assert result.widths[0] < 40  # three topics need not forty
    for network in map(numbered_as_in_chain, result):
        burnt, last = (seen[network.depth, phase] for phase in ("burn_in", "collect"))
        assert network.widths[-1] == burnt[-1][2]
        assert network.traces["width"].tolist() == [width for *_, width in (*burnt, *last)]
        np.testing.assert_allclose(network.r, np.mean([r for _, r, _ in last[-3:]], axis=0))
        for t, (phi, eta) in enumerate(zip(network.phi, etas, strict=False), 1):
            shapes = [counts[f"phi{t}"] + eta for counts, *_ in last[-3:]]
            means = [shape / shape.sum(axis=1, keepdims=True) for shape in shapes]
            np.testing.assert_allclose(phi, np.mean(means, axis=0))
    state = result.deepest.state
    np.testing.assert_allclose(result.deepest.weights[0], state["theta1"].sum(axis=0))
    np.testing.assert_allclose(result.deepest.c, [np.median(state[name]) for name in ("p2", "c3")])
    assert result.deepest.sweeps == 88 + 25
    trace = result[1].traces["log_likelihood"]
    assert trace[-5:].mean() > trace[0] + 100


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(trained):
    same(trained, train_layerwise(X, 12, 3, seed=3, keep_states=True, **QUICK | {"threads": 2}))
    binary = [
        train_layerwise((X > 0).astype(int), 4, 1, link="bernoulli", **QUICK | {"threads": n})
        for n in (1, 2)
    ]
    same(*binary)
    assert (train_layerwise(X, 12, 1, seed=4, **QUICK)[1].phi[0][:2] != trained[1].phi[0][:2]).any()


@pytest.mark.parametrize("link", ["poisson", "bernoulli", "gamma"])
def test_every_link(link):
    data = {"poisson": X, "bernoulli": (X > 0).astype(int), "gamma": X * 0.37}[link]
    result = train_layerwise(data, 6, 2, link=link, burn_in=6, sweeps=4, threads=1)
    assert result.deepest.link == link
    assert (result.deepest.noise != 1.0) == (link == "gamma")
    assert np.isfinite(result.deepest.traces["log_likelihood"]).all()


def test_a_saved_network_goes_on_as_if_nothing_had_happened(trained, tmp_path):
    trained[2].save(tmp_path / "two")
    loaded = pgbn.load(tmp_path / "two")
    assert (loaded.widths, loaded.priors) == (trained[2].widths, trained[2].priors)
    resumed = train_layerwise(X, 12, 3, seed=3, start_from=tmp_path / "two", **QUICK)
    assert [network.depth for network in resumed] == [2, 3]
    np.testing.assert_array_equal(resumed.deepest.r, trained.deepest.r)
    np.testing.assert_array_equal(resumed.deepest.phi[0], trained.deepest.phi[0])


def test_stop_rules():
    narrow = train_layerwise(X, 5, 4, min_width=5, **QUICK)
    assert len(narrow) == 1
    assert "≤ 5 factors" in narrow.stopped
    counts = int(X.sum())  # those of the first layer, of which min_count are enough
    for least, depth in ((counts, 2), (counts + 1, 1)):
        found = train_layerwise(X, 8, 2, min_width=0, min_count=least, **QUICK)
        assert len(found) == depth
        assert found.stopped.startswith(f"layer {depth} has ")
        assert "counts" in found.stopped


def test_every_chain_has_streams_that_no_other_had(monkeypatch):
    """They are numbered by the sweeps that were run before."""
    begun, chain = [], Plan.chain

    def spy(plan, data, widths, state, sweeps):
        begun.append(sweeps)
        return chain(plan, data, widths, state, sweeps)

    monkeypatch.setattr(Plan, "chain", spy)
    result = train_layerwise(X, 40, 2, min_width=1, seed=1, **QUICK | {"burn_in": 80})
    assert begun[:3] == [0, 80, 88]
    begun.clear()
    train_layerwise(X, 40, 2, min_width=1, start_from=result, **QUICK)
    assert begun == [result.deepest.sweeps]


def test_layers_of_equal_width_begin_at_different_topics():
    second, third = (
        start_of_layer(Family(pgbn.zoo.pgbn), (4,) * depth, {"doc": 5, "term": 7},
                       state_of([4] * (depth - 1))[1], 0)[f"phi{depth}"]
        for depth in (2, 3)
    )  # fmt: skip
    assert second.shape == third.shape
    assert (second != third).any()


def test_a_resumed_training_counts_the_sweeps_of_the_whole():
    """ "12 of 16" is followed by "13 of 16", in whichever layer and phase it was stopped."""
    few: dict[str, Any] = {"burn_in": 5, "sweeps": 3, "min_width": 0}
    seen: list[Any] = []

    def note(event):
        seen.append(event)
        if event.done == 12 and len(seen) == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_layerwise(X, 6, 2, callback=note, threads=1, progress=False, **few)
    last = seen[-1]
    train_settings(Settings(6, 2, **few), X, last.networks, resume=last, callback=note, threads=1,
                   progress=False)  # fmt: skip
    assert [(event.done, event.total) for event in seen] == [(n, 16) for n in range(1, 17)]


# ---- the sampler of the first layer that a training chooses ----------------------------------

LARGE = np.random.default_rng(1).poisson(100 * np.outer(np.ones(12), np.arange(1, 11)) / 5)
FEW = short_training.X


def samplers_of(data: Any, width: int, **arguments: Any) -> set[str]:
    seen: set[str] = set()
    note = {"callback": lambda event: seen.add(event.chain.sampler)}
    train_layerwise(data, width, 1, **short_training.QUICK | note | arguments)
    return seen


def test_auto_goes_by_the_cost_of_the_data_and_the_width(monkeypatch, tmp_path):
    corpus = pgbn.Corpus.build(FEW, tmp_path / "corpus")
    assert samplers_of(FEW, 6) == {"collapsed"}
    assert samplers_of(LARGE, 3) == {"blocked"}
    assert samplers_of(LARGE, 60) == {"collapsed"}
    assert samplers_of(LARGE, 3, sampler="collapsed") == {"collapsed"}
    mask = np.random.default_rng(0).random(FEW.shape) < 0.1
    assert samplers_of(np.ma.masked_array(FEW, mask), 4) == {"blocked"}
    assert samplers_of(np.ma.masked_array(FEW, mask & False), 4) == {"collapsed"}
    monkeypatch.setattr("pgbn.training.layerwise.MOST_TOKENS", 100)
    assert samplers_of(FEW, 6) == {"blocked"}
    assert samplers_of(corpus, 6) == {"partial"}, "its labels may be on disk"


def test_tokens_beyond_all_samplers_are_said(monkeypatch, tmp_path):
    """As if a corpus had 2^31 tokens."""
    corpus = pgbn.Corpus.build(FEW, tmp_path / "corpus")
    for module in ("engine.first_layer.choice", "training.layerwise"):
        monkeypatch.setattr(f"pgbn.{module}.MOST_TOKENS", 100)
    for data in (FEW, corpus):
        with pytest.warns(pgbn.PgbnWarning, match=r"tokens: the samplers of the first layer"):
            assert samplers_of(data, 6) == {"composed"}
        for sampler in ("auto", "blocked"):
            with pytest.warns(pgbn.PgbnWarning, match="the general rules are used"):
                assert pgbn.zoo.pfa(3).chain({"x": data}, sampler=sampler).sampler == "composed"


def test_layer_by_layer_is_the_chain_of_one_go_though_the_first_layer_is_pruned(monkeypatch):
    """At the first 40 topics "collapsed" is chosen, at those that are left "blocked" would be."""

    def for_fewer(counts: Any, documents: int, vocabulary: int, topics: int) -> float:
        return 0.0 if topics < 40 else np.inf

    monkeypatch.setattr(Blocked, "nanoseconds", for_fewer)
    settings = QUICK | {"burn_in": [80, 5], "min_width": 1}
    seen: set[str] = set()
    whole = train_layerwise(X, 40, 2, callback=lambda e: seen.add(e.chain.sampler), **settings)
    assert seen == {"collapsed"}
    assert whole.widths[0] < 40
    first = train_layerwise(X, 40, 1, **settings | {"burn_in": 80})
    second = train_layerwise(X, 40, 2, start_from=first, **settings)
    np.testing.assert_array_equal(whole.deepest.r, second.deepest.r)
    np.testing.assert_array_equal(whole.deepest.phi[0], second.deepest.phi[0])


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("at", [3, 14])
def test_a_resumed_training_has_the_sampler_it_had(
    tmp_path: Path, at: int, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another version of pgbn would choose otherwise."""
    data = np.ma.masked_array(LARGE, np.eye(*LARGE.shape, dtype=bool)) if masked else LARGE
    settings = short_training.QUICK
    whole = train_layerwise(data, 4, 2, **settings)
    with pytest.raises(RuntimeError, match="power cut"):
        checkpoints.train_with_checkpoints(data, tmp_path, 4, 2, every=1, share=1e9,
                         callback=short_training.cut_at(at + 1), **settings)  # fmt: skip
    monkeypatch.setattr(Blocked, "nanoseconds", lambda *sizes: np.inf)
    same(pgbn.resume(tmp_path, progress=False), whole)
