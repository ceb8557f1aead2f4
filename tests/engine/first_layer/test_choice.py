"""Which networks have a first layer, which sampler draws it, and one from outside the package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgbn
import pgbn as pg
from pgbn import Dirichlet, Gamma, Network, NetworkError, Poisson, StaleReadError
from pgbn.engine.first_layer import FirstLayer, choice
from pgbn.engine.first_layer.choice import automatic, cannot_marginalise, find_patterns
from pgbn.nodes import rules as registry
from pgbn.samplers import vectorised
from pgbn.testing import geweke
from tests.helpers.first_layer_variants import VARIANTS
from tests.helpers.models import pgbn as belief_network
from tests.helpers.own_sampler.plain import Plain
from tests.helpers.small_data import X
from tests.helpers.small_networks import rates_of_documents

DIMS = ("doc", "term")


def phi(**fields: Any) -> Dirichlet:
    return Dirichlet("phi", **{"concentration": 0.1, "over": "term", "dims": "topic", **fields})


def theta(shape: Any = 1, rate: Any = 1, dims: Any = ("doc", "topic")) -> Gamma:
    return Gamma("theta", shape, rate, dims=dims)


def counts(rate: Any, dims: Any = DIMS) -> Network:
    return Network(Poisson("x", rate, dims=dims))


def shared_scores() -> Network:
    scores = theta()
    return counts(phi() @ scores + scores @ Gamma("w", 1, 1, dims=("topic", "term")))


def shared_loadings() -> Network:
    topics, other = phi(), Gamma("w", 1, 1, dims=("note", "topic"))
    return Network(
        Poisson("x", topics @ theta(), dims=DIMS),
        Poisson("y", topics @ other, dims=("note", "term")),
    )


class Own(Gamma):
    """A gamma with a draw rule of its own."""


class Doubled(pgbn.extend.Observed):
    """Counts that its rule changes on the way."""

    rate: pgbn.extend.Slot

    def generate(self, stream: Any, **slots: Any) -> Any:
        return vectorised.poisson(stream, slots["rate"])


class Waiting(pgbn.extend.Observed):
    """Times, which have no link to counts."""

    rate: pgbn.extend.Slot

    def generate(self, stream: Any, **slots: Any) -> Any:
        return vectorised.gamma(stream, 1.0, slots["rate"])


@pytest.fixture
def own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    for room, name in (registry, "_evidence"), (registry, "_draws"), (registry, "_links"):
        monkeypatch.setattr(room, name, dict(getattr(room, name)))
    pgbn.extend.draw_rule(Own)(lambda count, shape: {"shape": shape + count})
    pgbn.extend.evidence_rule(Waiting, "rate", relation="given", exposure="value")(
        lambda value: np.ones_like(value)
    )
    pgbn.extend.counts_are_data(Doubled, "rate")
    pgbn.extend.evidence_rule(Doubled, "rate", relation="given", exposure=1.0)(
        lambda stream, count: 2 * count
    )


REASONS: dict[str, tuple[Callable[[], Network], str]] = {
    "no counts": (
        lambda: Network(Waiting("x", rate=theta(dims=DIMS), dims=DIMS)),
        "the data of Waiting are not counts",
    ),
    "one factor": (lambda: counts(theta(dims=DIMS)), "the rate of x is not a product of two nodes"),
    "two terms": (shared_scores, "theta is in several terms of the rate of x"),
    "a term of cells": (
        lambda: counts(phi() @ theta() + Gamma("b", 1, 1, dims=DIMS)),
        "a further term of the rate of x varies from cell to cell",
    ),
    "no Dirichlet": (
        lambda: counts(theta() @ Gamma("w", 1, 1, dims=("topic", "term"))),
        "the rate of x is not a Dirichlet times a Gamma or Dirichlet",
    ),
    "own rules": (
        lambda: counts(phi() @ Own("theta", 1, 1, dims=("doc", "topic"))),
        "theta (Own) has rules or a generate of its own",
    ),
    "changed counts": (
        lambda: Network(Doubled("x", rate=phi() @ theta(), dims=DIMS)),
        "the rule of Doubled for rate does not pass the counts on",
    ),
    "no sum": (
        lambda: counts(Dirichlet("phi", 1, over="term") * theta(dims="doc")),
        "the rate of x is not summed over one dim",
    ),
    "renamed": (
        lambda: counts(phi(dims="k").rename(k="topic") @ theta()),
        "the rate of x is not summed over one dim",
    ),
    "other dims": (
        lambda: counts(phi(dims=("doc", "topic")) @ theta()),
        "phi or theta has other dims",
    ),
    "a weight of topics": (
        lambda: counts((phi() * Gamma("w", 1, 1, dims="topic")) @ theta()),
        "w varies over topic or term",
    ),
    "scores over another dim": (
        lambda: counts(phi() @ Dirichlet("theta", 1, over="doc", dims="topic")),
        "phi or theta has other dims",
    ),
    "shared loadings": (shared_loadings, "phi has other children"),
    # single precision cut small entries of phi off, which drew the concentration away by |z| = 8
    "a slice of the concentration": (
        lambda: counts(phi(concentration=Gamma("e", 1, 1, update="slice")) @ theta()),
        "e is drawn by a kernel that reads the density of phi",
    ),
    "a choice of the concentration": (
        lambda: counts(
            phi(
                concentration=pgbn.Categorical("z", [0.5, 0.5], over="k", dims="topic")
                @ Gamma("e", 1, 1, dims="k")
            )
            @ theta()
        ),
        "z is drawn by a kernel that reads the density of phi",
    ),
}


@pytest.mark.usefixtures("own_rules")
@pytest.mark.parametrize("name", REASONS)
def test_reasons(name: str) -> None:
    build, reason = REASONS[name]
    assert find_patterns(build().wiring) == reason


def test_a_number_beside_the_loadings_is_no_score() -> None:
    phi, amount = pgbn.Dirichlet("phi", 0.5, over="term"), pgbn.Gamma("amount", 1, 1)
    net = pgbn.Network(pgbn.Poisson("x", phi * amount, dims="term"))
    assert "not summed over one dim" in str(find_patterns(net.wiring))
    assert net.chain({"x": np.array([3, 0, 2])}, threads=1).sweep(2).values["amount"] > 0


# ---- steps with θ integrated out: what they read, and where θ has to stay ------------------------


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("inferred eta", {"r", "eta"}),
        ("size factor", {"r", "s"}),
        ("background of documents", {"r", "p", "beta", "g"}),
        ("background and size", {"r", "c", "s", "b"}),
        ("two kinds of data", {"r"}),
    ],
)
def test_what_stands_beside_the_topics_is_read(name: str, reads: set[str]) -> None:
    """Further terms are weighed against θ, whose rate they need; a factor of rows cancels."""
    steps = {step.name: step for step in VARIANTS[name]().schedule_for("collapsed")}
    assert {read.name for read in steps["counts(x)"].reads} == reads
    assert {"phi", "theta"} <= set(steps["counts(x)"].marginalises)


def test_scores_with_children_of_another_kind_stay() -> None:
    wiring = VARIANTS["counts and binary data"]().wiring
    patterns = find_patterns(wiring)
    assert [cannot_marginalise(wiring, pattern, patterns) for pattern in patterns] == [
        "", "the data of BernoulliPoisson are not counts"
    ]  # fmt: skip
    assert cannot_marginalise(wiring, patterns[0], patterns[:1]) == "theta has other children"


# ---- which sampler draws the first layer, and a sampler from outside the package -----------------


def test_auto_splits_cells_where_counts_are_large(documents) -> None:
    """A label for each of a million tokens in a cell would take a thousand times longer."""
    net = pg.zoo.pgbn([6, 4])
    assert net.chain({"x": documents}).sampler == "collapsed"
    chain = net.chain({"x": documents * 10_000}).sweep(2)
    assert chain.sampler == "blocked"
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


def test_more_tokens_than_32_bits_count() -> None:
    data = {"x": np.array([[2_000_000_000, 1], [2_000_000_000, 3]])}
    chain = pg.zoo.pgbn([1]).chain(data, sampler="blocked").sweep(2)
    assert chain.sampler == "composed"
    assert chain.counts["phi1"].tolist() == [[4_000_000_000, 4]]
    assert pg.zoo.pgbn([1]).chain(data).sampler == "composed"


MASKED = np.ma.masked_array(X, X == 1)


@pytest.mark.filterwarnings("ignore:.*tokens. the samplers:pgbn.PgbnWarning")
@pytest.mark.parametrize(
    ("sampler", "network", "data", "reason", "instead"),
    [
        ("partial", pg.zoo.pfa(2), np.full((2, 2), 2**30), r"there are 2\^31 tokens or more", "composed"),
        ("collapsed", pg.zoo.pfa(2**16), X, "there are more than 65,535 topics", "composed"),
        ("collapsed", pg.zoo.pfa(2), MASKED, "some cells are missing", "blocked"),
        ("partial", pg.zoo.pfa(2, link="gamma"), X, "the data of PoissonGamma are not counts", "blocked"),
        ("partial", pg.zoo.bnbp(2), X, "the rate of theta varies over topic", "blocked"),
        ("collapsed", pg.zoo.pgds(2), X, "theta is a chain", "blocked"),
    ],
)  # fmt: skip
def test_data_without_a_sampler(
    sampler: str, network: Any, data: Any, reason: str, instead: str
) -> None:
    with pytest.raises(NetworkError, match=f"sampler='{sampler}' is not available: {reason}"):
        network.chain({network.observed[0]: data}, sampler=sampler)
    for other in ("auto", "blocked"):
        chain = network.chain({network.observed[0]: data}, sampler=other)
        assert chain.sampler == instead
        assert bool(chain._samplers) == (instead == "blocked")


def test_the_general_rules_can_be_asked_for_the_first_layer_alone() -> None:
    chain = pg.zoo.pfa(2).chain({"x": X}, sampler="general")
    assert (chain.sampler, chain._program.kernels, chain._samplers) == ("composed", True, ())


def test_auto_takes_the_first_that_the_order_of_a_user_allows() -> None:
    """c reads Σ θ, which is stale after counts that were drawn with θ integrated out."""
    network = rates_of_documents()
    assert network.chain({"x": X}).sampler == "collapsed"
    ordered = network.with_order(["counts(x)", "counts(theta)", "phi", "c", "r", "theta"])
    assert ordered.chain({"x": X}).sampler == "blocked"
    for sampler in ("collapsed", "partial"):
        with pytest.raises(StaleReadError, match="c conditions on theta"):
            ordered.chain({"x": X}, sampler=sampler)


# ---- a first-layer sampler in two files outside the package: a class and its kernel --------------


COUNTS = np.random.default_rng(0).poisson(1.0, (30, 20))


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_kinds", dict(choice._kinds))
    pgbn.extend.register_sampler(Plain)


def test_it_is_found_by_name_and_never_by_itself() -> None:
    network = pgbn.zoo.pgbn([4, 3])
    assert network.chain({"x": COUNTS}, sampler="plain").sampler == "plain"
    assert network.chain({"x": COUNTS}).sampler == "collapsed"
    assert set(network.time_samplers({"x": COUNTS}, burn_in=1, sweeps=1)) == {
        "plain", "collapsed", "partial", "blocked",
    }  # fmt: skip
    with pytest.raises(pgbn.NetworkError, match="auto, collapsed, partial, blocked, plain"):
        network.chain({"x": COUNTS}, sampler="plane")


def test_it_draws_the_posterior() -> None:
    network = belief_network(2)
    result = geweke(network, {"doc": 3, "term": 3}, 4_000, 6, 1, "plain")
    assert result.worst < 4, result


def test_a_training_takes_it() -> None:
    trained = pgbn.train_layerwise(
        COUNTS, 4, 2, burn_in=3, sweeps=2, sampler="plain", min_width=1, progress=False
    )
    assert len(trained.widths) == 2


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        *((type("Other", (Plain,), {"name": name}), "another name") for name in ("", "auto", "composed")),
        (type("Other", (Plain,), {"name": "blocked"}), "'blocked' is Blocked; give another name"),
        *((kind, "give a class derived from") for kind in (object, 3)),
        (FirstLayer, "the class does not define draw_loadings"),
    ],
)  # fmt: skip
def test_what_cannot_be_registered(kind: Any, words: str) -> None:
    with pytest.raises(pgbn.NetworkError, match=words):
        pgbn.extend.register_sampler(kind)
