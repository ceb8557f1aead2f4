"""Which sampler draws the first layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn import DataError, NetworkError, StaleReadError
from pgbn.engine.first_layer.choice import automatic, candidates, choose, samplers_of, schedule_for
from tests.helpers.models import pgbn
from tests.helpers.refusals import check_refused
from tests.helpers.small_data import X, run
from tests.helpers.small_networks import rates_of_documents

Cases = dict[str, tuple[Callable[[], Any], list[str]]]

REFUSED: Cases = {
    "layer1": (lambda: run(X, layer1="other"), ["layer1='other'", "collapsed", "blocked"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    check_refused(build, (DataError, NetworkError), words)


def test_auto_splits_cells_where_counts_are_large(documents) -> None:
    """A label for each of a million tokens in a cell would take a thousand times longer."""
    net = pg.zoo.pgbn([6, 4])
    assert net.chain({"x": documents}).layer1 == "collapsed"
    chain = net.chain({"x": documents * 10_000}).sweep(2)
    assert chain.layer1 == "blocked"
    assert np.array_equal(chain.counts["theta1"].sum(axis=1), documents.sum(axis=1) * 10_000)


@pytest.mark.parametrize(
    ("times", "cheaper"), [(1, "collapsed"), (4, "blocked"), (1000, "blocked")]
)
def test_the_estimated_cost_is_of_the_order_that_was_measured(times, cheaper) -> None:
    """20newsgroups, V = 2000, K = 50, counts multiplied: 43 and 52 ms; 134 and 88 ms (×4)."""
    counts = times * np.repeat([1, 2], [172_310, 387_371])
    cost = {kind.name: kind.nanoseconds(counts, 11_314, 2000, 50) for kind in automatic()}
    assert min(cost, key=cost.__getitem__) == cheaper
    assert (4 * cost["blocked"] < cost["collapsed"]) == (times == 1000)
    if times == 1:
        assert 30e6 < cost["collapsed"] < 60e6
        assert 35e6 < cost["blocked"] < 80e6


def test_layer1_that_does_not_apply_is_refused_with_the_reason(documents) -> None:
    net = pg.zoo.pgbn([3], link="bernoulli")
    with pytest.raises(pg.NetworkError, match="BernoulliPoisson"):
        net.chain({"x": documents > 0}, layer1="collapsed")
    assert net.chain({"x": documents > 0}).layer1 == "blocked"
    with pytest.raises(pg.NetworkError, match="layer1"):
        net.chain({"x": documents > 0}, layer1="colapsed")


def test_more_tokens_than_32_bits_count() -> None:
    data = {"x": np.array([[2_000_000_000, 1], [2_000_000_000, 3]])}
    chain = pg.zoo.pgbn([1]).chain(data, layer1="blocked").sweep(2)
    assert chain.layer1 == "composed"
    assert chain.counts["phi1"].tolist() == [[4_000_000_000, 4]]
    assert pg.zoo.pgbn([1]).chain(data).layer1 == "composed"


def test_collapsed_layer_needs_neither_phi1_nor_theta1():
    network = pgbn(2)
    schedule = {step.name: step for step in network.schedule_for("collapsed")}
    assert schedule["phi1"].on_demand
    assert schedule["theta1"].on_demand
    assert set(schedule["counts(x)"].marginalises) >= {"phi1", "theta1"}
    partial = {step.name: step for step in network.schedule_for("partial")}
    assert partial["theta1"].on_demand
    assert not partial["phi1"].on_demand
    assert "phi1" in {read.name for read in partial["counts(x)"].reads}


@pytest.mark.parametrize(
    ("layer1", "network", "data", "reason"),
    [
        ("partial", pg.zoo.pfa(2), np.full((2, 2), 2**30), r"there are 2\^31 tokens or more"),
        ("collapsed", pg.zoo.pfa(2**16), X, "there are more than 65,535 topics"),
    ],
)
def test_data_without_a_sampler(layer1: str, network: Any, data: Any, reason: str) -> None:
    with pytest.raises(NetworkError, match=f"layer1='{layer1}' is not available: {reason}"):
        network.chain({"x": data}, layer1=layer1)
    for other in ("auto", "blocked"):
        program = network.chain({"x": data}, layer1="composed").program
        name, schedule = choose(program, other)
        assert name == "composed"
        assert schedule is network.schedule
        assert samplers_of(program, name) == {}


@pytest.mark.parametrize(
    ("layer1", "network", "data", "reason"),
    [
        ("collapsed", pg.zoo.pfa(2), np.ma.masked_array(X, X == 1), "some cells are missing"),
        ("partial", pg.zoo.pfa(2, link="gamma"), X, "the data of PoissonGamma are not counts"),
        ("partial", pg.zoo.bnbp(2), X, "the rate of theta varies over topic"),
        ("collapsed", pg.zoo.pgds(2), X, "theta is a chain"),
    ],
)
def test_what_only_the_blocked_sampler_serves(
    layer1: str, network: Any, data: Any, reason: str
) -> None:
    with pytest.raises(NetworkError, match=f"layer1='{layer1}' is not available: {reason}"):
        network.chain({network.observed[0]: data}, layer1=layer1)
    for other in ("auto", "blocked"):
        assert network.chain({network.observed[0]: data}, layer1=other).layer1 == "blocked"


def test_the_general_rules_can_be_asked_for_the_first_layer_alone() -> None:
    chain = pg.zoo.pfa(2).chain({"x": X}, layer1="general")
    assert (chain.layer1, chain.program.kernels, chain.samplers) == ("composed", True, ())


@pytest.mark.parametrize(
    ("counts", "names"),
    [(1, ["collapsed", "partial", "blocked"]), (1000, ["blocked"])],
)
def test_auto_tries_those_that_mix_best_or_one_that_is_much_cheaper(
    counts: int, names: list[str]
) -> None:
    program = pg.zoo.pfa(5).chain({"x": np.full((20, 30), counts)}, layer1="composed").program
    assert [kind.name for kind in candidates(program.cells["x"], 5)] == names


def test_auto_takes_the_first_that_the_order_of_a_user_allows() -> None:
    """c reads Σ θ, which is stale after counts that were drawn with θ integrated out."""
    network = rates_of_documents()
    assert network.chain({"x": X}).layer1 == "collapsed"
    ordered = network.with_order(["counts(x)", "counts(theta)", "phi", "c", "r", "theta"])
    assert ordered.chain({"x": X}).layer1 == "blocked"
    for layer1 in ("collapsed", "partial"):
        with pytest.raises(StaleReadError, match="c conditions on theta"):
            ordered.chain({"x": X}, layer1=layer1)


def test_the_named_sampler_is_made() -> None:
    program = pg.zoo.pfa(2).chain({"x": X}, layer1="blocked").program
    samplers = samplers_of(program, "partial")
    assert list(samplers) == ["x"]
    assert (samplers["x"].name, samplers["x"].observed) == ("partial", "x")


def test_schedules_of_networks_without_a_first_layer_are_their_own() -> None:
    network = pg.zoo.pgds(2)
    assert schedule_for(network, "collapsed") is network.schedule
    assert schedule_for(pg.zoo.pfa(2), "composed").names == pg.zoo.pfa(2).schedule.names
    steps = {step.name: step for step in schedule_for(pg.zoo.pfa(2), "partial")}
    assert steps["counts(x)"].method == "partial"
