"""The pattern x ~ Pois(s φ·θ + …), and every reason why a network has it not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Dirichlet, Gamma, Network, Poisson
from pgbn.engine.first_layer.pattern import cannot_marginalise, find_patterns
from pgbn.nodes.rules import registry
from pgbn.samplers import vectorised
from tests.helpers.first_layer_variants import VARIANTS

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


class Doubled(pgbn.Observed):
    """Counts that its rule changes on the way."""

    rate: pgbn.Slot

    def generate(self, stream: Any, **slots: Any) -> Any:
        return vectorised.poisson(stream, slots["rate"])


class Waiting(pgbn.Observed):
    """Times, which have no link to counts."""

    rate: pgbn.Slot

    def generate(self, stream: Any, **slots: Any) -> Any:
        return vectorised.gamma(stream, 1.0, slots["rate"])


@pytest.fixture
def own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    for room, name in (registry, "_evidence"), (registry, "_draws"), (registry, "_links"):
        monkeypatch.setattr(room, name, dict(getattr(room, name)))
    pgbn.draw_rule(Own)(lambda count, shape: {"shape": shape + count})
    pgbn.evidence_rule(Waiting, "rate", relation="held", exposure="value")(
        lambda value: np.ones_like(value)
    )
    pgbn.counts_are_data(Doubled, "rate")
    pgbn.evidence_rule(Doubled, "rate", relation="held", exposure=1.0)(
        lambda stream, count: 2 * count
    )


REASONS: dict[str, tuple[Callable[[], Network], str]] = {
    "no counts": (
        lambda: Network(Waiting("x", rate=theta(dims=DIMS), dims=DIMS)),
        "the data of Waiting are not counts",
    ),
    "one factor": (lambda: counts(theta(dims=DIMS)), "the rate of x is not a product of two nodes"),
    "two terms": (shared_scores, "theta stands in several terms of the rate of x"),
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
