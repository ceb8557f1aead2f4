"""Tiny networks with normal nodes, logistic gates and log-normal shapes."""

from __future__ import annotations

import numpy as np

import pgbn
from pgbn import Network

SIZES = {"doc": 4, "topic": 2, "feature": 2, "unit": 2, "term": 3}
WEIGHTS = np.array([[1.0, -0.5], [1.0, 2.0], [1.0, 0.3], [1.0, -1.2]])


def features() -> pgbn.Constant:
    return pgbn.Constant(WEIGHTS, dims=("doc", "feature"))


def regression() -> Network:
    """Weights drawn jointly, with a mean and a precision of their own, and an intercept."""
    spread = pgbn.Gamma("spread", 4, 4)
    w = pgbn.Normal("w", pgbn.Normal("mu", 0.5, 1.0), spread, dims=("topic", "feature"))
    b = pgbn.Normal("b", -0.3, 2.0, dims="topic")
    mean = features() @ w + 2.0 * b
    y = pgbn.ObservedNormal("y", mean, pgbn.Gamma("tau", 4, 4), dims=("doc", "topic"))
    return Network(y, sizes={dim: SIZES[dim] for dim in ("doc", "topic", "feature")})


def counts_under(shape: pgbn.extend.Latent | pgbn.extend.Product) -> pgbn.Poisson:
    """Counts of a factor model whose gammas have this shape."""
    rate = pgbn.Gamma("c", 4, 4, dims="doc")
    theta = pgbn.Gamma("theta", shape, rate, dims=("doc", "topic"))
    phi = pgbn.Dirichlet("phi", 1.0, over="term", dims="topic")
    return pgbn.Poisson("x", phi @ theta, dims=("doc", "term"))


def log_linear() -> Network:
    """Shapes whose logarithm is a linear predictor with noise; wider priors draw shapes of 10⁹."""
    w = pgbn.Normal("w", 0.0, pgbn.Gamma("spread", 16, 4), dims=("topic", "feature"))
    noise = pgbn.Gamma("tau", 16, 4)
    shape = pgbn.LogNormal("a", features() @ w, noise, dims=("doc", "topic"))
    sizes = {dim: SIZES[dim] for dim in ("doc", "topic", "feature", "term")}
    return Network(counts_under(shape), sizes=sizes)


def belief() -> Network:
    """Gates under a layer of bits, their weights normal: a sigmoid belief network."""
    above = pgbn.Bernoulli("g", pgbn.Beta("pi", 2, 2, dims="unit"), dims=("doc", "unit"))
    w = pgbn.Normal("w", 0.0, 0.25, dims=("topic", "unit"))
    b = pgbn.Normal("b", 0.5, 2.0, dims="topic")
    gate = pgbn.LogitBernoulli("h", w @ above + b, dims=("doc", "topic"))
    r = pgbn.Gamma("r", 4.0, 4.0, dims="topic")
    sizes = {dim: SIZES[dim] for dim in ("doc", "topic", "unit", "term")}
    return Network(counts_under(r * gate), sizes=sizes)


NETWORKS = {"regression": regression, "log_linear": log_linear, "belief": belief}
