"""Networks of every operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pgbn import (
    Bernoulli,
    BernoulliPoisson,
    Beta,
    Constant,
    Dirichlet,
    Gamma,
    Network,
    Poisson,
    PoissonGamma,
)
from pgbn.extend import Mix
from pgbn.nodes.expression import Expression

__all__ = ["COMPOSED"]


def two(name: str, *dims: str) -> Gamma:
    return Gamma(name, 2, 2, dims=dims)


def poisson(rate: Expression) -> Network:
    return Network(Poisson("x", rate, dims=("doc", "term")))


def twice() -> Expression:
    a = two("a", "doc")
    return a + a * two("b", "term")


def shared() -> Network:
    theta, phi = two("theta", "doc", "topic"), Dirichlet("phi", 0.5, over="term", dims="topic")
    return Network(
        Poisson("x", phi @ theta, dims=("doc", "term")),
        Poisson("y", theta * two("u", "topic"), dims=("doc", "topic")),
    )


def gate() -> Bernoulli:
    return Bernoulli("gate", Beta("pi", 2, 2), dims="doc")


def layer(shape: Expression, rate: Any = 1.0) -> Expression:
    return Gamma("t", shape, rate, dims=("doc", "topic")) @ two("w", "topic", "term")


def with_noise(noise: Expression) -> Network:
    return Network(PoissonGamma("x", two("a", "doc"), noise, dims=("doc", "term")))


def proportions(concentration: Expression) -> Network:
    phi = Dirichlet("phi", concentration, over="term", dims="topic")
    return poisson(phi @ two("theta", "doc", "topic"))


COMPOSED: dict[str, Callable[[], Network]] = {
    "sum with a number": lambda: poisson(two("a", "doc") + two("b", "term") + 0.5),
    "a node in two terms": lambda: poisson(twice()),
    "product of sums": lambda: poisson(
        (two("a", "doc") + 2) * (two("b", "term") + two("c", "doc", "term") * 3)
    ),
    "mix of a sum": lambda: poisson(
        (two("phi", "topic", "term") + two("psi", "topic", "term")) @ two("b", "doc", "topic") / 2
    ),
    "mix over a named dim": lambda: poisson(
        Mix(factors=(two("a", "doc", "topic"), two("b", "term")), over="topic")
    ),
    "mix over two dims": lambda: poisson(
        Mix(factors=(two("a", "topic", "other"), two("b", "topic")), over=("topic", "other"))
    ),
    "renamed": lambda: poisson(
        Mix(
            factors=(
                two("a", "doc", "topic"),
                two("s", "topic", "other").rename(topic="other", other="topic"),
                two("b", "other", "term"),
            )
        )
    ),
    "three dims": lambda: Network(
        Poisson(
            "x",
            Mix(factors=tuple(two(dim[0], dim, "topic") for dim in ("doc", "term", "hour"))),
            dims=("doc", "term", "hour"),
        )
    ),
    "sum in a shape": lambda: poisson(layer(two("a", "doc") + two("b", "topic") + 0.3)),
    "product in a shape and a rate": lambda: poisson(
        layer(two("a", "doc") * two("b"), 2 * two("c", "doc") * two("d"))
    ),
    "product as a noise": lambda: with_noise(two("n") * two("m", "term") * 2),
    "sum as a noise": lambda: with_noise(two("n") + two("m", "term")),
    "constant weights": lambda: poisson(
        Constant([[1.0, 0.0], [0.0, 3.0]], dims=("doc", "term")) * two("a", "doc")
    ),
    "constant mix": lambda: poisson(
        Constant([[1.0, 0.0], [0.5, 3.0]], dims=("term", "topic")) @ two("a", "doc", "topic")
    ),
    "gate": lambda: poisson(layer(gate() * two("r"))),
    "gate beside a number": lambda: poisson(layer(gate() * two("r") + 0.2)),
    "binary data": lambda: Network(
        BernoulliPoisson("x", two("a", "doc") + two("b", "term") + 0.2, dims=("doc", "term"))
    ),
    "two kinds of data": shared,
    "product as a concentration": lambda: proportions(two("e") * two("f", "term")),
    "sum as a concentration": lambda: proportions(two("e") + two("f", "term")),
    "no dims": lambda: Network(Poisson("x", two("a") * two("b"))),
}
