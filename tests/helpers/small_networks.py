"""Nodes and networks of a line each, for tests of what may be built and what may not."""

from __future__ import annotations

from typing import Any

from pgbn import BetaOdds, Dirichlet, Gamma, Multinomial, Network, Poisson, distinct
from pgbn.extend import Product


def gamma(name: str = "g", shape: Any = 1.0, rate: Any = 1.0, **fields: Any) -> Gamma:
    return Gamma(name, shape, rate, **fields)


def poisson(rate: Any, dims: Any = ("doc", "term")) -> Network:
    return Network(Poisson("x", rate, dims=dims))


def theta(**fields: Any) -> Gamma:
    return gamma("theta", dims=("doc", "topic"), **fields)


def phi(name: str = "phi", over: str = "term") -> Dirichlet:
    return Dirichlet(name, 0.1, over=over, dims="topic")


def odds() -> BetaOdds:
    return BetaOdds("p", 1, 1, dims="doc")


def chain(shape: Any) -> Network:
    return poisson(gamma("g", shape, dims="doc"))


def square(node: Gamma) -> Product:
    return node * node


def two_modalities() -> Network:
    shared = theta(rate=odds())
    return Network(
        Poisson("x", phi() @ shared, dims=("doc", "term")),
        Poisson("y", phi("psi", "tag") @ shared, dims=("doc", "tag")),
    )


def two_kinds() -> Network:
    """A probability that is received by a gamma as odds, and by a Poisson as a rate."""
    shared = odds()
    return Network(
        Poisson("x", gamma("t", 1, shared, dims="doc"), dims="doc"),
        Poisson("y", shared, dims="doc"),
    )


def sized(sizes: Any) -> Network:
    return Network(Poisson("x", theta() @ gamma("w", dims="topic"), dims="doc"), sizes=sizes)


def deep() -> Network:
    return poisson(gamma("theta", gamma("r", 2, 1), gamma("c"), dims="doc"))


def rates_of_documents() -> Network:
    """x ~ Pois(φ·θ), θ ~ Gam(r, c) with a gamma rate for every document."""
    scores = theta(shape=gamma("r", dims="topic"), rate=gamma("c", dims="doc"))
    x = Poisson("x", phi() @ scores, dims=("doc", "term"))
    return Network(x, sizes={"topic": 2})


def topics_of_gammas() -> Network:
    """A second layer whose topics φ2 are gammas: its tables have a row a topic, not a document."""
    g = Gamma("g", 2, 1, dims="topic2")
    phi2 = Gamma("phi2", shape=g, rate=2, dims=("topic2", "topic1"))
    theta2 = Gamma("theta2", 1, 1, dims=("doc", "topic2"))
    theta1 = Gamma("theta1", shape=phi2 @ theta2, rate=1, dims=("doc", "topic1"))
    phi1 = Dirichlet("phi1", 0.1, over="term", dims="topic1")
    x = Poisson("x", rate=phi1 @ theta1, dims=("doc", "term"))
    return Network(x, sizes={"topic1": 5, "topic2": 3})


def words_and_sizes() -> Network:
    """Two observed nodes, one of them a vector."""
    scores = Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    words = Poisson("x", phi() @ scores, dims=("doc", "term"))
    sizes = Poisson("y", Gamma("size", 1.0, 1.0, dims="doc"), dims="doc")
    return Network(words, sizes, sizes={"topic": 2})


def graph(node: Any, **options: Any) -> Network:
    """x_ij ~ Pois(φ_i φ_j) for i < j."""
    pairs = node.rename(vertex="i") * node.rename(vertex="j")
    return Network(Poisson("x", distinct(pairs, "i", "j", **options), dims=("i", "j")))


def vertices(shape: Any = 1.0, rate: Any = 1.0) -> Gamma:
    return Gamma("phi", shape, rate, dims="vertex")


def multinomial(total: Any) -> Network:
    return Network(Multinomial("x", Dirichlet("p", 1, over="k"), over="k", dims="d", total=total))
