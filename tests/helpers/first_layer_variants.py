"""Variants of the first layer that have kernels of their own, with priors whose moments exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pgbn import (
    BernoulliPoisson,
    BetaOdds,
    Categories,
    Constant,
    Dirichlet,
    Gamma,
    Network,
    Poisson,
    PoissonGamma,
)

__all__ = ["VARIANTS", "VARIANT_SIZES"]

_GROUP = Categories("group", dims="doc", of="team", values=[1, 0, 1])
VARIANT_SIZES = {"doc": 3, "term": 3, "tag": 2, "team": 2}


def _phi(eta: Any = 0.5, name: str = "phi", over: str = "term") -> Dirichlet:
    return Dirichlet(name, eta, over=over, dims="topic")


def _mild(name: str, *dims: str) -> Gamma:
    return Gamma(name, 4, 4, dims=dims)


def _theta(rate: Any = None, shape: Any = None) -> Gamma:
    shape = Gamma("r", _mild("g0") / 2, 4.0, dims="topic") if shape is None else shape
    rate = _mild("c", "doc") if rate is None else rate
    return Gamma("theta", shape, rate, dims=("doc", "topic"))


def _counts(rate: Any, kind: Any = Poisson, **fields: Any) -> Network:
    x = kind("x", rate, dims=("doc", "term"), **fields)
    sizes = {"topic": 2, "above": 2, "other": 2}
    used = {dim: size for dim, size in sizes.items() if dim in Network(x).dims}
    return Network(x, sizes=used)


def _eta(*dims: str) -> Callable[[], Network]:
    return lambda: _counts(_phi(_mild("eta", *dims)) @ _theta(3.0))


def _by_group() -> Network:
    member = Constant([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dims=("doc", "group"))
    return _counts((member @ _mild("s", "group")) * (_phi() @ _theta()))


def _by_index() -> Network:
    """Rows read the factor and the background of their group, by its number."""
    usual = _mild("g", "team")[_GROUP] * Dirichlet("beta", 0.5, over="term")
    return _counts(_mild("s", "team")[_GROUP] * (_phi() @ _theta()) + usual)


def _of_authors(rate: Any) -> Network:
    """Rows read the scores of their author."""
    theta = Gamma("theta", Gamma("r", _mild("g0") / 2, 4.0, dims="topic"), _mild("c", "team"),
                  dims=("team", "topic"))  # fmt: skip
    return rate(theta)


def _authors_and_tags(theta: Gamma) -> Network:
    return Network(
        Poisson("x", _phi() @ theta[_GROUP], dims=("doc", "term")),
        Poisson("y", _phi(0.7, "psi", "tag") @ theta, dims=("team", "tag")),
        sizes={"topic": 2},
    )


def _author_topic() -> Network:
    theta = Dirichlet("theta", 0.5, over="topic", dims="team")
    return _counts(_mild("s", "doc") * (_phi(_mild("eta")) @ theta[_GROUP]))


def _background_of_documents() -> Network:
    usual = Dirichlet("beta", 0.5, over="term") * _mild("g", "doc")
    return _counts(_phi() @ _theta(BetaOdds("p", 4, 8, dims="doc")) + usual)


def _background_and_size() -> Network:
    return _counts(_mild("s", "doc") * (_phi() @ _theta()) + _mild("b", "term") + 0.1)


def _two_mixtures() -> Network:
    other = Dirichlet("psi", 0.5, over="term", dims="other") @ _mild("w", "doc", "other")
    return _counts(_phi() @ _theta() + other)


def _two(kind: Any) -> Network:
    theta = _theta()
    tags = _mild("s", "doc") * (_phi(0.7, "psi", "tag") @ theta)
    return Network(
        Poisson("x", _phi() @ theta, dims=("doc", "term")),
        kind("y", tags, dims=("doc", "tag")),
        sizes={"topic": 2},
    )


def _deep() -> Network:
    above = Dirichlet("phi2", 0.7, over="topic", dims="above")
    theta = _theta(shape=above @ Gamma("theta2", 2, 2, dims=("doc", "above")))
    return _counts(_phi(_mild("eta")) @ theta + _mild("b", "term"))


VARIANTS: dict[str, Callable[[], Network]] = {
    "inferred eta": _eta(),
    "eta of words": _eta("term"),
    "eta of topics": _eta("topic"),
    "eta of words and topics": _eta("topic", "term"),
    "known etas": lambda: _counts(_phi(Constant([0.3, 0.7, 1.5], dims="term")) @ _theta()),
    "size factor": lambda: _counts(_mild("s", "doc") * (_phi() @ _theta())),
    "known size": lambda: _counts(Constant([0.5, 2.0, 1.0], dims="doc") * (_phi() @ _theta())),
    "size of groups": _by_group,
    "size of groups, by number": lambda: _counts(_mild("s", "team")[_GROUP] * (_phi() @ _theta())),
    "size and background of groups, by number": _by_index,
    "scores of authors": lambda: _of_authors(lambda theta: _counts(_phi() @ theta[_GROUP])),
    "scores of authors, size": lambda: _of_authors(
        lambda theta: _counts(_mild("s", "doc") * (_phi() @ theta[_GROUP]))
    ),
    "scores of authors, tags of authors": lambda: _of_authors(_authors_and_tags),
    "shares of authors": _author_topic,
    "background of terms": lambda: _counts(_phi() @ _theta() + _mild("b", "term")),
    "background of documents": _background_of_documents,
    "background and size": _background_and_size,
    "two mixtures": _two_mixtures,
    "two kinds of data": lambda: _two(Poisson),
    "counts and binary data": lambda: _two(BernoulliPoisson),
    "binary data": lambda: _counts(_phi() @ _theta(), BernoulliPoisson),
    "binary data, background": lambda: _counts(
        _mild("s", "doc") * (_phi() @ _theta()) + _mild("b", "term"), BernoulliPoisson
    ),
    "reals": lambda: _counts(_phi() @ _theta(), PoissonGamma, noise=_mild("noise")),
    "rates of topics": lambda: _counts(_phi() @ _theta(_mild("c", "topic"))),
    "deep": _deep,
}
