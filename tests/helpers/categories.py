"""Small networks whose values are read through categories."""

from __future__ import annotations

import numpy as np

import pgbn
from pgbn import Categories, Dirichlet, Gamma, Network, Poisson

__all__ = ["AUTHORS", "authors", "grouped", "looked_up_pairs"]

AUTHORS = [2, 0, 0, 2]


def authors() -> Network:
    """x ~ Pois(s_j Σ_k φ_kv θ_{author(j) k}), with an author (1) whom no document has."""
    author = Categories("author", dims="doc", of="writer", values=AUTHORS)
    scale = Gamma("s", 4.0, 4.0, dims="doc")
    shape = Gamma("r", 2.0, 2.0, dims="topic")
    theta = Gamma("theta", shape, 2.0, dims=("writer", "topic"))
    phi = Dirichlet("phi", 0.8, over="term", dims="topic")
    x = Poisson("x", phi @ (scale * theta[author]), dims=("doc", "term"))
    return Network(x, sizes={"topic": 2, "writer": 3, "term": 3})


def grouped() -> Network:
    """Shapes, rates and odds of groups of rows."""
    group = Categories("group", dims="doc", of="team", values=[1, 0, 1])
    shape, rate = Gamma("a", 3.0, 3.0, dims="team"), Gamma("c", 4.0, 3.0, dims="team")
    odds = pgbn.BetaOdds("p", 3.0, 3.0, dims="team")
    theta = Gamma("theta", shape[group], rate[group], dims="doc")
    other = Gamma("other", 1.5, odds[group], dims="doc")
    x = Poisson("x", theta, dims=("doc", "term"))
    return Network(x, Poisson("y", other, dims="doc"), sizes={"team": 2, "term": 2})


def looked_up_pairs() -> Network:
    """Two dims of one node read through categories of the same rows, and a known array."""
    row = Categories("row", dims="edge", of="block", values=[0, 1, 1, 2])
    column = Categories("column", dims="edge", of="other", values=[1, 1, 0, 0])
    rate = Gamma("rate", 1.5, 1.5, dims=("block", "other"))
    known = pgbn.Constant(np.array([1.0, 2.0, 0.5]), dims="block")
    x = Poisson("x", rate[row, column] * known[row], dims="edge")
    return Network(x, sizes={"block": 3, "other": 2})
