"""Events of runs."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.engine.run.progress import Event
from tests.helpers.small_data import counts


def test_events_of_sample() -> None:
    events: list[Event] = []
    X = counts()
    network = zoo.pgbn([6, 4])
    network.sample({"x": X}, 3, 2, thin=2, chains=2, callback=events.append, progress=False)
    assert [(e.phase, e.sweep, e.sweeps) for e in events[:7]] == [
        ("burn_in", 1, 3), ("burn_in", 2, 3), ("burn_in", 3, 3),
        ("collect", 1, 4), ("collect", 2, 4), ("collect", 3, 4), ("collect", 4, 4),
    ]  # fmt: skip
    assert [e.done for e in events] == list(range(1, 15))
    assert {e.total for e in events} == {14}
    last = events[-1]
    assert last.chain.number == 1
    assert last.tokens == X.sum()
    assert last.tokens_per_second == pytest.approx(X.sum() / last.sweep_seconds)
    assert last.seconds >= sum(e.sweep_seconds for e in events) * 0.999
    received = last.chain.counts
    assert last.widths == tuple(int((received[f"theta{t}"].sum(axis=0) > 0).sum()) for t in (1, 2))
    assert last.log_likelihood == last.chain.log_likelihood() / X.sum()


def test_events_of_other_networks() -> None:
    """Reals have no tokens, and not every network has layers."""
    events: list[Event] = []
    network = zoo.pgds(2)
    data = network.generate(1, sizes={"term": 4, "time": 5})
    network.sample({"x": data["x"]}, 1, 1, callback=events.append)
    assert events[-1].widths == ()
    assert np.isfinite(events[-1].log_likelihood)
    network = zoo.pgbn([3], link="gamma")
    network.sample(
        {"x": np.random.default_rng(0).gamma(1, 1, (5, 4))}, 1, 1, callback=events.append
    )
    assert events[-1].tokens == 20


def test_widths_of_any_network_with_layers() -> None:
    """The factors that have counts, though no node is called theta1."""
    events: list[Event] = []
    zoo.bnbp(5).sample({"x": counts()}, 2, 1, callback=events.append, progress=False)
    received = events[-1].chain.counts["theta"]
    assert events[-1].widths == (int((received.sum(axis=0) > 0).sum()),)
    zoo.lda(5).sample({"x": counts()}, 2, 1, callback=events.append, progress=False)
    assert events[-1].widths == ()  # its topics are as many as were asked for


def test_what_the_line_calls_a_sweep() -> None:
    """A training tells the layer, a network that is sampled has none to tell."""
    sampled: list[Event] = []
    trained: list[pgbn.Progress] = []
    zoo.pfa(3).sample({"x": counts()}, 1, 1, callback=sampled.append, progress=False)
    pgbn.train_layerwise(counts(), 3, 1, burn_in=1, collect=1, trace_every=1,
                         callback=trained.append, progress=False)  # fmt: skip
    assert [event.stage for event in sampled] == ["burn-in", "collect"]
    assert [event.stage for event in trained] == ["layer 1 burn-in", "layer 1 collect"]
    assert sampled[0].noted_likelihood is None
    assert trained[-1].noted_likelihood == pytest.approx(trained[-1].log_likelihood)


def test_a_callback_does_not_change_the_chain() -> None:
    def look(event: Event) -> None:
        assert event.widths
        assert np.isfinite(event.log_likelihood)

    network, data = zoo.pgbn([6, 4]), {"x": counts()}
    one = network.sample(data, 5, 3, layer1="collapsed", callback=look)
    two = network.sample(data, 5, 3, layer1="collapsed")
    for name in network.latent:
        assert np.array_equal(one[name], two[name])


def test_events_of_training() -> None:
    events: list[pgbn.Progress] = []
    pgbn.train_layerwise(
        counts(), 6, 2, burn_in=[4, 3], collect=[2, 1], min_width=1, callback=events.append
    )
    assert [e.done for e in events] == list(range(1, 11))
    assert [e.depth for e in events] == [1] * 6 + [2] * 4
    assert {e.total for e in events} == {10}
    assert [e.phase for e in events][-2:] == ["burn_in", "collect"]


def test_what_a_callback_raises_stops_the_run() -> None:
    def stop(event: Event) -> None:
        if event.sweep == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        zoo.pfa(3).sample({"x": counts()}, 10, 1, callback=stop)
