"""A handful of counts, and networks that are run on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import pgbn
from pgbn import Network, zoo

__all__ = [
    "BINARY",
    "NET",
    "REAL",
    "X",
    "corpus",
    "counts",
    "draw",
    "equal_arrays",
    "run",
    "same",
    "sample",
]

X = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [3, 1, 0, 0]])  # an empty document, an empty term
NET = zoo.pfa(2, eta=0.5, p_prior=(2, 2), gamma0_prior=(1, 1))
BINARY = zoo.pfa(2, link="bernoulli")
REAL = zoo.pfa(2, link="gamma")


def run(x: Any, net: Network = NET, **options: Any) -> pgbn.Chain:
    return net.chain({"x": x}, **options).sweep(2)


def same(first: pgbn.Chain, second: pgbn.Chain) -> bool:
    return all(np.array_equal(first.values[n], second.values[n]) for n in first.network.latent)


def sample(**options: Any) -> pgbn.Draws:
    return NET.sample({"x": X}, **{"burn_in": 1, "draws": 1, "progress": False, **options})


def draw(**options: Any) -> dict[str, Any]:
    return NET.generate(sizes={"doc": 2, "term": 3}, **options)


def equal_arrays(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two dicts of arrays have the same names and the same bits."""
    return first.keys() == second.keys() and all(
        np.array_equal(first[name], second[name]) for name in first
    )


def counts() -> np.ndarray:
    """Counts of 40 documents × 50 terms with 5 topics."""
    rng = np.random.default_rng(0)
    return rng.poisson(rng.gamma(0.3, 1, (40, 5)) @ rng.dirichlet([0.1] * 50, 5) * 12)


def corpus(seed: int = 0, documents: int = 1500, terms: int = 60) -> sp.csr_matrix:
    """Counts of documents × terms, one document empty."""
    rng = np.random.default_rng(seed)
    x = rng.poisson(rng.gamma(0.2, 1.0, (documents, terms)))
    x[5] = 0
    return sp.csr_matrix(x)
