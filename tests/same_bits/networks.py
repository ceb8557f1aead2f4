"""The networks of the cases, and data for them."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

import pgbn as pg
from pgbn import zoo

__all__ = ["LARGE_SIZES", "SMALL_SIZES", "data_for", "large_zoo", "small_zoo", "topical"]

MILD = (4.0, 4.0)
BETA = (2.0, 4.0)
LINKS = {"words": "poisson", "tags": "bernoulli", "ratings": "gamma"}
SMALL_SIZES = {
    "doc": 3, "term": 3, "time": 3, "previous": 2, "term_words": 3, "term_tags": 3, "term_ratings": 2,
}  # fmt: skip
LARGE_SIZES = {
    "doc": 60, "term": 80, "time": 40, "previous": 6, "term_words": 80, "term_tags": 30, "term_ratings": 20,
}  # fmt: skip


def _mild(depth: int, link: str) -> pg.Network:
    return zoo.pgbn([2] * depth, 0.5, BETA, MILD, MILD, MILD, link, MILD)


@cache
def small_zoo() -> dict[str, pg.Network]:
    """Every model of the zoo, tiny and with mild priors."""
    deep = {f"pgbn {link} {depth}": _mild(depth, link)
            for link in LINKS.values() for depth in (1, 2, 3)}  # fmt: skip
    return deep | {
        "pfa": zoo.pfa(2, 0.5, BETA, MILD, MILD),
        "lda": zoo.lda(2, 0.5, 0.5, total=[2, 0, 5]),
        "hdp_lda": zoo.hdp_lda(2, (8.0, 2.0), (8.0, 2.0), 0.5, total=[2, 0, 5]),
        "bnbp": zoo.bnbp(2, 0.5, 4.0, MILD),
        "multimodal": zoo.multimodal([2, 2], LINKS, 0.5, MILD, MILD, MILD, MILD),
        "gamma_markov_chain": zoo.gp_dpfa(2, 0.5, MILD, MILD, MILD, MILD),
        "pgds": zoo.pgds(2, 0.5, 0.5, 1.5, 4.0, MILD, MILD),
        "gated_pfa": zoo.gated_pfa(2, 0.5, (2.0, 2.0), BETA, MILD, MILD),
    }


@cache
def large_zoo() -> dict[str, pg.Network]:
    """Every model of the zoo with the priors it has by default, in sizes of a small corpus."""
    widths = [12, 8, 5]
    deep = {f"pgbn {link}": zoo.pgbn(widths, link=link) for link in LINKS.values()}
    return deep | {
        "pfa": zoo.pfa(12),
        "lda": zoo.lda(12),
        "hdp_lda": zoo.hdp_lda(12),
        "bnbp": zoo.bnbp(12),
        "multimodal": zoo.multimodal(widths, LINKS),
        "gamma_markov_chain": zoo.gp_dpfa(6),
        "pgds": zoo.pgds(6),
        "gated_pfa": zoo.gated_pfa(12),
    }


def topical(documents: int, terms: int, mean: float = 1.0, seed: int = 0) -> NDArray[np.int64]:
    """Counts of documents that are about one or two of six themes, ``mean`` a cell."""
    rng = np.random.default_rng(seed)
    themes = rng.dirichlet(np.full(terms, 0.1), 6)
    shares = rng.dirichlet(np.full(6, 0.2), documents)
    return rng.poisson(mean * terms * (shares @ themes) + 0.05 * mean)


def data_for(
    network: pg.Network, sizes: dict[str, int], mean: float = 1.0, seed: int = 0
) -> dict[str, NDArray[np.generic]]:
    """Data of every observed node: counts, 0 and 1, or reals of at least 0."""
    every, out = {**sizes, **network.sizes}, {}
    for number, name in enumerate(network.observed):
        node = network[name]
        shape = tuple(every[dim] for dim in node.axes)
        columns = shape[-1] if shape else 1
        counts = topical(int(np.prod(shape)) // columns, columns, mean, seed + number)
        counts = counts.reshape(shape)
        if isinstance(node, pg.BernoulliPoisson):
            out[name] = (counts > 0).astype(np.int64)
        elif isinstance(node, pg.PoissonGamma):
            out[name] = counts * np.random.default_rng(seed).uniform(0.5, 1.5, shape)
        else:
            out[name] = counts
    return out
