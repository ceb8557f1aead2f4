"""Negative binomial factor analysis: each count has its own overdispersion."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import BetaOdds, Dirichlet, Gamma, Poisson
from pgbn.zoo.arguments import Positive, Prior, Width


@validated
def nbfa(
    width: Width,
    eta: Positive = 0.05,
    p_prior: Prior = (0.01, 0.01),
    c_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (0.01, 0.01),
) -> Network:
    """x_vj ~ NB(Σ_k φ_vk θ_kj, p_j), as Pois(λ_vj) with λ_vj ~ Gam(Σ_k φ_vk θ_kj, (1−p_j)/p_j).

    θ_kj ~ Gam(r_k, c_j), φ_k ~ Dir(η), r_k ~ Gam(γ0/K, c0): words that come in bursts. λ is as
    large as the dense array of data. The priors are those of `pfa`. Nodes: x, lam, phi, theta, r,
    p, c, c0, gamma0.

    Reference: Zhou, Nonparametric Bayesian negative binomial factor analysis, Bayesian Analysis
    13, 2018.

    Parameters
    ----------
    width : int
        The number of topics: K.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    p_prior : (float, float)
        (a, b) of the beta prior of the p_j.
    c_prior : (float, float)
        (shape, rate) of the gamma prior of the rates c_j.
    c0_prior : (float, float)
        (shape, rate) of the gamma prior of c0, the rate of the r_k.
    gamma0_prior : (float, float)
        (shape, rate) of the gamma prior of γ0, which says how many topics are used.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.nbfa(4)
    >>> net.latent
    ['phi', 'gamma0', 'c0', 'r', 'c', 'theta', 'p', 'lam']
    """
    gamma0 = Gamma("gamma0", *gamma0_prior)
    c0 = Gamma("c0", *c0_prior)
    r = Gamma("r", gamma0 / width, c0, dims="topic")
    c = Gamma("c", *c_prior, dims="doc")
    theta = Gamma("theta", r, c, dims=("doc", "topic"))
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    p = BetaOdds("p", *p_prior, dims="doc")
    lam = Gamma("lam", phi @ theta, p, dims=("doc", "term"))
    return Network(Poisson("x", lam, dims=("doc", "term")), sizes={"topic": width})
