"""Networks with Dirichlets over the cells of several dims."""

from __future__ import annotations

import numpy as np

import pgbn as pg


def filters() -> pg.Network:
    """Topics that are proportions of place × term, with a concentration for each term."""
    eta = pg.Gamma("eta", 3.0, 3.0, dims="term")
    theta = pg.Gamma("theta", 1.5, 1.0, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", eta, over=("place", "term"), dims="topic")
    x = pg.Poisson("x", phi @ theta, dims=("doc", "place", "term"))
    return pg.Network(x, sizes={"topic": 2, "place": 2, "term": 2, "doc": 2})


def table() -> pg.Network:
    """One table of proportions, whose concentrations are rows times columns."""
    a, b = pg.Gamma("a", 3.0, 3.0, dims="row"), pg.Gamma("b", 3.0, 3.0, dims="column")
    size = pg.Gamma("size", 4.0, 0.5)
    pi = pg.Dirichlet("pi", a * b, over=("row", "column"))
    return pg.Network(pg.Poisson("x", size * pi, dims=("row", "column")),
                      sizes={"row": 2, "column": 3})  # fmt: skip


def exposed() -> pg.Network:
    """Known exposures of places: proportions of place × term that need pseudo-counts."""
    known = pg.Constant(np.array([1.0, 0.25]), dims="place")
    theta = pg.Gamma("theta", 1.5, 1.0, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.8, over=("place", "term"), dims="topic")
    x = pg.Poisson("x", known * (phi @ theta), dims=("doc", "place", "term"))
    return pg.Network(x, sizes={"topic": 2, "term": 2, "doc": 3})


NETWORKS = (filters, table, exposed)
