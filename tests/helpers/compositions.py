"""Compositions of many kinds, for the tests of what is written and drawn about a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

import pgbn as pg

__all__ = ["COMPOSITIONS"]


def odd_names() -> pg.Network:
    """Names that LaTeX must not see unescaped, and two terms in a rate."""
    doc, term = "50_größe_", "_中__x"
    phi = pg.Dirichlet("φ_", np.array([0.1, 0.2, 0.3]), over=term, dims="to_pic")
    known = pg.Constant(value=np.ones(4), dims=doc)
    theta = pg.Gamma("50_größe", 1e-5, known, dims=(doc, "to_pic"))
    base = pg.Gamma("x__中", 1, 1, dims=term)
    x = pg.Poisson("_x", phi @ theta + 2 * base, dims=(doc, term))
    return pg.Network(x, sizes={doc: 4, term: 3})


class Wobble(pg.extend.Latent):
    """A type of somebody else, whose posterior cannot be read from its code."""

    tag: ClassVar[str] = "compositions.wobble"
    shape: pg.extend.Slot
    generate = log_density = lambda *_, **slots: np.zeros(1)  # never run: only explained here


@pg.extend.draw_rule(Wobble, equation=r"\mathrm{Wob}(s + m,\ q)", reference="Nobody 1999")
def _wobble_posterior(count: Any, exposure: Any, shape: Any) -> Any:
    return {"shape": np.linalg.norm(shape) + count + exposure}


class Tally(pg.extend.Observed):
    """Data that pass their counts up by a rule of their own, without a link."""

    tag: ClassVar[str] = "compositions.tally"
    size: pg.extend.Slot
    chance: pg.extend.Slot
    generate = log_density = lambda *_, **slots: np.zeros(1)


@pg.extend.evidence_rule(
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
    "pgbn3": lambda: pg.zoo.pgbn([4, 3, 2]),
    "bernoulli": lambda: pg.zoo.pgbn([3, 2], link="bernoulli"),
    "pfa": lambda: pg.zoo.pfa(4),
    "pgds": lambda: pg.zoo.pgds(3),
    "gamma_markov_chain": lambda: pg.zoo.gp_dpfa(3),
    "hdp_lda": lambda: pg.zoo.hdp_lda(3),
    "gates": lambda: pg.zoo.gated_pfa(3),
    "multimodal": lambda: pg.zoo.multimodal(
        [3], {"words": "poisson", "tags": "bernoulli", "reals": "gamma"}
    ),
    "odd_names": odd_names,
    "plugins": plugins,
}
