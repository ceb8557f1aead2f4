"""Gamma process dynamic Poisson factor analysis: a gamma Markov chain for each topic."""

from __future__ import annotations

from pgbn.network.network import Network
from pgbn.zoo.arguments import Positive, Prior, Width
from pgbn.zoo.gp_dpfa import gp_dpfa


def gamma_markov_chain(
    width: Width,
    eta: Positive = 0.05,
    c_prior: Prior = (1.0, 1.0),
    a1_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (1.0, 1.0),
) -> Network:
    """x_t ~ Pois(Σ_k λ_k φ_k θ_tk), θ_tk ~ Gam(θ_{t−1,k}, c_t), θ_0k = a1, λ_k ~ Gam(γ0/K, c0).

    It is `gp_dpfa` for counts. Topics φ_k ~ Dir(η) have a weight λ_k and a strength θ_tk that
    changes in time; a1, c_t, c0 and γ0 ~ Gam. Nodes: x (dims time, term), phi, theta, lambda, a1,
    c, c0, gamma0. The defaults are those of pgbn.

    Reference: Acharya, Ghosh & Zhou, Nonparametric Bayesian factor analysis for dynamic count
    matrices, AISTATS 2015.
    """
    return gp_dpfa(width, eta, c_prior, a1_prior, c0_prior, gamma0_prior)
