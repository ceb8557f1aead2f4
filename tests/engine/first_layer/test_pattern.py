"""The pattern x ~ Pois(φ·θ), and every reason why a network has it not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pgbn
from pgbn import Dirichlet, Gamma, Multinomial, Network, Poisson, Self, Shift
from pgbn.engine.first_layer.pattern import Pattern, find_pattern
from pgbn.nodes.rules import registry
from pgbn.samplers import vectorised

DIMS = ("doc", "term")


def phi(**fields: Any) -> Dirichlet:
    return Dirichlet("phi", **{"concentration": 0.1, "over": "term", "dims": "topic", **fields})


def theta(shape: Any = 1, rate: Any = 1, dims: Any = ("doc", "topic")) -> Gamma:
    return Gamma("theta", shape, rate, dims=dims)


def counts(rate: Any, dims: Any = DIMS) -> Network:
    return Network(Poisson("x", rate, dims=dims))


@pytest.mark.parametrize(
    ("network", "slot"),
    [
        (lambda: counts(phi() @ theta()), "shape"),
        (lambda: counts(theta() @ phi()), "shape"),
        (lambda: counts(3.0 * (phi() @ theta(rate=Gamma("c", 1, 1, dims="doc")))), "shape"),
        (
            lambda: counts(phi() @ theta(dims=("doc", "hour", "topic")), ("doc", "hour", "term")),
            "shape",
        ),
        (
            lambda: Network(
                Multinomial("x", phi() @ Dirichlet("theta", 1, over="topic", dims="doc"),
                            over="term", dims="doc")
            ),
            "concentration",
        ),
    ],
    ids=["poisson", "turned", "scaled", "three dims", "multinomial"],
)  # fmt: skip
def test_first_layers(network: Callable[[], Network], slot: str) -> None:
    assert find_pattern(network().wiring) == Pattern("x", "phi", "theta", slot)


def two_kinds_of_data() -> Network:
    scores = theta()
    return Network(
        Poisson("x", phi() @ scores, dims=DIMS),
        Poisson("y", scores @ Gamma("w", 1, 1, dims=("topic", "tag")), dims=("doc", "tag")),
    )


def shared_scores() -> Network:
    scores = theta()
    return counts(phi() @ scores + scores @ Gamma("w", 1, 1, dims=("topic", "term")))


def another_child() -> Network:
    """θ is also in the shape of the gamma that is the concentration of φ."""
    scores = theta()
    total = pgbn.Mix(factors=(scores,), over=("doc", "topic"))
    return counts(phi(concentration=Gamma("w", total, 1)) @ scores)


class Own(Gamma):
    """A gamma with a draw rule of its own."""


class Doubled(pgbn.Observed):
    """Counts that its rule changes on the way."""

    rate: pgbn.Slot

    def generate(self, stream: Any, **slots: Any) -> Any:
        return vectorised.poisson(stream, slots["rate"])


@pytest.fixture
def own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_evidence", "_draws", "_links"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    pgbn.draw_rule(Own)(lambda count, shape: {"shape": shape + count})
    pgbn.counts_are_data(Doubled, "rate")
    pgbn.evidence_rule(Doubled, "rate", relation="held", exposure=1.0)(
        lambda stream, count: 2 * count
    )


REASONS: dict[str, tuple[Callable[[], Network], str]] = {
    "no counts": (
        lambda: Network(pgbn.BernoulliPoisson("x", phi() @ theta(), dims=DIMS)),
        "the data of BernoulliPoisson are not counts",
    ),
    "one factor": (lambda: counts(theta(dims=DIMS)), "the rate of x is not a product of two nodes"),
    "two terms": (shared_scores, "the rate of x is not a product of two nodes"),
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
    "concentration": (
        lambda: counts(phi(concentration=Gamma("eta", 1, 1)) @ theta()),
        "the concentration of phi is not a number",
    ),
    "concentrations": (
        lambda: counts(phi(concentration=[0.1, 0.2]) @ theta()),
        "the concentration of phi is not a number",
    ),
    "other dims": (
        lambda: counts(phi(dims=("doc", "topic")) @ theta()),
        "phi or theta has other dims",
    ),
    "time": (
        lambda: counts(phi() @ theta(Shift(Self(), along="doc", initial=1.0))),
        "theta is a chain",
    ),
    "rates of topics": (
        lambda: counts(phi() @ theta(rate=Gamma("c", 1, 1, dims="topic"))),
        "the rate of theta varies over topic",
    ),
    "scores over another dim": (
        lambda: counts(phi() @ Dirichlet("theta", 1, over="doc", dims="topic")),
        "phi or theta has other dims",
    ),
    "another child": (another_child, "phi or theta has other children"),
    "several data": (two_kinds_of_data, "there are several observed nodes"),
}


@pytest.mark.usefixtures("own_rules")
@pytest.mark.parametrize("name", REASONS)
def test_reasons(name: str) -> None:
    build, reason = REASONS[name]
    assert find_pattern(build().wiring) == reason
