"""Compositions of many kinds, for the tests of what is written and drawn about a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

import pgbn as pg

__all__ = ["COMPOSITIONS", "gamma_markov_chain", "pfa"]


def pfa() -> pg.Network:
    gamma0 = pg.Gamma("gamma0", 0.01, 0.01)
    r = pg.Gamma("r", gamma0 / 4, pg.Gamma("c0", 1, 1), dims="topic")
    p = pg.BetaOdds("p", 0.01, 0.01, dims="doc")
    theta = pg.Gamma("theta", r, p, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.05, over="term", dims="topic")
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 4})


def pgds() -> pg.Network:
    nu = pg.Gamma("nu", 1.0, pg.Gamma("beta", 1, 1), dims="topic")
    pi = pg.Dirichlet("pi", 0.1, over="topic", dims="previous")
    lag = pg.Shift(pi @ pg.Self(topic="previous"), along="time", initial=nu)
    theta = pg.Gamma("theta", 2.0 * lag, 2.0, dims=("time", "topic"))
    delta = pg.Gamma("delta", 1, 1, dims="time")
    phi = pg.Dirichlet("phi", 0.1, over="term", dims="topic")
    return pg.Network(pg.Poisson("x", delta * (phi @ theta), dims=("time", "term")))


def gamma_markov_chain() -> pg.Network:
    c = pg.Gamma("c", 1, 1, dims="time")
    start = pg.Gamma("start", 1, 1)
    chain = pg.Shift(pg.Self(), along="time", initial=start)
    theta = pg.Gamma("theta", chain, c, dims=("time", "topic"))
    weight = pg.Gamma("lambda", 1, 1, dims="topic")
    phi = pg.Dirichlet("phi", 0.1, over="term", dims="topic")
    return pg.Network(pg.Poisson("x", phi @ (weight * theta), dims=("time", "term")))


def lda() -> pg.Network:
    alpha = pg.Gamma("alpha", 1, 1)
    pi = pg.Dirichlet("pi", 0.5, over="topic")
    theta = pg.Dirichlet("theta", alpha * pi, over="topic", dims="doc")
    phi = pg.Dirichlet("phi", 0.05, over="term", dims="topic")
    return pg.Network(pg.Multinomial("x", phi @ theta, over="term", dims="doc"))


def gates() -> pg.Network:
    r = pg.Gamma("r", 1, 1, dims="topic")
    h = pg.Bernoulli("h", pg.Beta("pi", 1, 1, dims="topic"), dims=("doc", "topic"))
    theta = pg.Gamma("theta", r * h, pg.BetaOdds("p", 1, 1, dims="doc"), dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.05, over="term", dims="topic")
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")))


def multimodal() -> pg.Network:
    c = pg.Gamma("c2", 1, 1, dims="doc")
    theta = pg.Gamma("theta1", pg.Gamma("r", 1, 1, dims="topic1"), c, dims=("doc", "topic1"))
    data: list[Any] = []
    for name, kind in (("words", pg.Poisson), ("tags", pg.BernoulliPoisson)):
        phi = pg.Dirichlet(f"phi_{name}", 0.1, over=f"term_{name}", dims="topic1")
        data.append(kind(name, phi @ theta, dims=("doc", f"term_{name}")))
    phi = pg.Dirichlet("phi_reals", 0.1, over="term_reals", dims="topic1")
    noise = pg.Gamma("noise", 1, 1)
    data.append(pg.PoissonGamma("reals", phi @ theta, noise, dims=("doc", "term_reals")))
    return pg.Network(*data)


def odd_names() -> pg.Network:
    """Names that LaTeX, Markdown and XML must not see unescaped, and two terms in a rate."""
    doc, term = "50%_&<b>", '$x^~\\"|'
    phi = pg.Dirichlet("φ_", np.array([0.1, 0.2, 0.3]), over=term, dims="to#pic")
    known = pg.Constant(value=np.ones(4), dims=doc)
    theta = pg.Gamma("50_größe", 1e-5, known, dims=(doc, "to#pic"))
    base = pg.Gamma("x__中", 1, 1, dims=term)
    x = pg.Poisson("_x", phi @ theta + 2 * base, dims=(doc, term))
    return pg.Network(x, sizes={doc: 4, term: 3})


class Wobble(pg.Latent):
    """A type of somebody else, whose posterior cannot be read from its code."""

    tag: ClassVar[str] = "compositions.wobble"
    positional: ClassVar[tuple[str, ...]] = ("shape",)
    shape: pg.Slot
    generate = log_density = lambda *_, **slots: np.zeros(1)  # never run: only explained here


@pg.draw_rule(Wobble, equation=r"\mathrm{Wob}(s + m,\ q)", reference="Nobody 1999")
def _wobble_posterior(count: Any, exposure: Any, shape: Any) -> Any:
    return {"shape": np.linalg.norm(shape) + count + exposure}


class Tally(pg.Observed):
    """Data that pass their counts up by a rule of their own, without a link."""

    tag: ClassVar[str] = "compositions.tally"
    positional: ClassVar[tuple[str, ...]] = ("size", "chance")
    size: pg.Slot
    chance: pg.Slot
    generate = log_density = lambda *_, **slots: np.zeros(1)


@pg.evidence_rule(
    Tally,
    "size",
    exposure=lambda chance: -np.log1p(-chance),
    equation=r"\ell \sim \mathrm{CRT}(x, s)",
    reference="Somebody 2001",
)
def _tally_counts(stream: Any, value: Any, size: Any) -> Any:
    return value


def plugins() -> pg.Network:
    wobble = Wobble("w", 2.0, dims="doc")
    return pg.Network(Tally("y", 3 * wobble, 0.25, dims=("doc", "item")))


COMPOSITIONS: dict[str, Callable[[], pg.Network]] = {
    "pgbn1": lambda: pg.zoo.pgbn([3]),
    "pgbn2": lambda: pg.zoo.pgbn([3, 2]),
    "pgbn3": lambda: pg.zoo.pgbn([4, 3, 2]),
    "bernoulli": lambda: pg.zoo.pgbn([3, 2], link="bernoulli"),
    "gamma": lambda: pg.zoo.pgbn([3, 2], link="gamma"),
    "pfa": pfa,
    "pgds": pgds,
    "gamma_markov_chain": gamma_markov_chain,
    "lda": lda,
    "gates": gates,
    "multimodal": multimodal,
    "odd_names": odd_names,
    "plugins": plugins,
}
