"""Where the chains of a layer-wise training begin, and which of their numbers are kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pgbn.training import LayerwiseTraining, train_layerwise
from pgbn.training.family import Family
from pgbn.training.growing import Plan, Progress, start_of_layer
from pgbn.zoo import pgbn
from tests.helpers.training import documents, state_of

X = documents()
SHORT: dict[str, Any] = {"burn_in": 5, "collect": 8, "threads": 1, "progress": False}


@pytest.fixture(scope="module")
def training() -> Any:
    """A training of two layers: its result, where its chains began, and γ0 after each phase."""
    begun: list[SimpleNamespace] = []
    gamma0: dict[tuple[int, str], float] = {}
    chain = Plan.chain

    def spy(plan: Plan, X: Any, widths: Any, state: Any, sweeps: int) -> Any:
        copy = {name: np.array(value) for name, value in state.items()}
        begun.append(SimpleNamespace(widths=widths, state=copy, sweeps=sweeps))
        return chain(plan, X, widths, state, sweeps)

    def note(event: Progress) -> None:
        gamma0[event.depth, event.phase] = float(event.chain.values["gamma0"])

    def train(start_from: LayerwiseTraining | None) -> LayerwiseTraining:
        begun.clear()
        settings = SHORT | {"burn_in": 80, "min_width": 1, "seed": 1}
        return train_layerwise(X, 40, 2, start_from=start_from, callback=note, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "chain", spy)
        result = train(None)
        chains, after = list(begun), dict(gamma0)
        train(result)
    return SimpleNamespace(result=result, chains=chains, gamma0=after, later=begun)


def test_every_chain_has_streams_that_no_other_had(training: Any) -> None:
    assert [chain.sweeps for chain in training.chains[:3]] == [0, 80, 88]
    assert training.later
    assert all(chain.sweeps >= training.result.deepest.sweeps for chain in training.later)


def test_pruning_keeps_the_mass_of_a_factor(training: Any) -> None:
    whole, pruned = training.chains[:2]
    assert whole.widths == (40,)
    assert pruned.widths == (training.result.widths[0],)
    assert pruned.widths[0] < 40
    expected = training.gamma0[1, "burn_in"] * pruned.widths[0] / 40
    assert pruned.state["gamma0"] == pytest.approx(expected, rel=1e-12)


def test_a_new_layer_has_equal_units(training: Any) -> None:
    for chain in (training.chains[0], training.chains[2]):
        share = 1 / chain.widths[-1]
        assert np.all(chain.state[f"theta{len(chain.widths)}"] == share)
        assert np.all(chain.state["r"] == share)


def start(*widths: int) -> dict[str, Any]:
    """The state at which a network begins, given one of all layers but the last."""
    _, state = state_of(list(widths[:-1]))
    return start_of_layer(Family(pgbn), widths, {"doc": 5, "term": 7}, state, 0)


def test_gamma0_begins_at_the_share_of_the_first_width() -> None:
    assert start(4, 4)["gamma0"] == 1.0
    assert start(4, 3, 3)["gamma0"] == 3 / 4


def test_layers_of_equal_width_begin_at_different_topics() -> None:
    second, third = start(4, 4)["phi2"], start(4, 4, 4)["phi3"]
    assert second.shape == third.shape
    assert (second != third).any()


def test_r_and_phi_are_means_over_the_last_sweeps() -> None:
    seen: list[tuple[Any, Any]] = []

    def note(event: Progress) -> None:
        shape = event.chain.counts["phi1"] + 0.05
        seen.append((event.chain.values["r"].copy(), shape / shape.sum(axis=1, keepdims=True)))

    network = train_layerwise(X, 8, 1, average=3, callback=note, **SHORT).deepest
    np.testing.assert_allclose(network.r, np.mean([r for r, _ in seen[-3:]], axis=0))
    np.testing.assert_allclose(network.phi[0], np.mean([phi for _, phi in seen[-3:]], axis=0))


def test_means_use_the_eta_of_each_layer() -> None:
    counts: dict[str, Any] = {}
    network = train_layerwise(
        X, 6, 2, eta=[0.05, 0.7], min_width=0,
        callback=lambda event: counts.update(event.chain.counts), **SHORT,
    ).deepest  # fmt: skip
    for phi, name, eta in zip(network.phi, ("phi1", "phi2"), (0.05, 0.7), strict=True):
        shape = counts[name] + eta
        np.testing.assert_allclose(phi, shape / shape.sum(axis=1, keepdims=True))


def test_weights_are_sums_and_the_trace_counts_active_factors() -> None:
    widths: list[int] = []

    def note(event: Progress) -> None:
        widths.append(int((event.chain.counts["theta1"].sum(axis=0) > 0).sum()))

    settings = SHORT | {"burn_in": 30}
    network = train_layerwise(X, 40, 1, trace_every=1, callback=note, **settings).deepest
    np.testing.assert_allclose(network.weights[0], network.state["theta1"].sum(axis=0))
    assert network.traces["width"].tolist() == widths
    assert min(widths) < 40


def test_as_many_counts_as_min_count_are_enough() -> None:
    totals: list[int] = []

    def note(event: Progress) -> None:
        totals.append(int(event.chain.counts["theta1"].sum()))

    train_layerwise(X, 8, 1, callback=note, **SHORT)
    for more, depth in ((0, 2), (1, 1)):
        result = train_layerwise(X, 8, 2, min_width=0, min_count=totals[-1] + more, **SHORT)
        assert len(result) == depth


def test_a_resumed_training_counts_the_sweeps_of_the_whole():
    """ "12 of 16" is followed by "13 of 16", in whichever layer and phase it was stopped."""
    seen = []
    train_layerwise(X, 6, 2, burn_in=5, collect=3, min_width=0, callback=seen.append,
                    threads=1, progress=False)  # fmt: skip
    assert [(event.done, event.total) for event in seen] == [(n, 16) for n in range(1, 17)]
    at = []

    def stop(event):
        at.append(event)
        if event.done == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_layerwise(X, 6, 2, burn_in=5, collect=3, min_width=0, callback=stop, threads=1,
                        progress=False)  # fmt: skip
    rest = []
    train_layerwise(X, 6, 2, burn_in=5, collect=3, min_width=0, callback=rest.append,
                    resume=at[-1], threads=1, progress=False)  # fmt: skip
    assert [(event.done, event.total) for event in rest] == [(n, 16) for n in range(13, 17)]
