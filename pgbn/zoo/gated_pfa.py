"""Poisson factor analysis in which a binary gate switches each topic on or off."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Bernoulli, Beta, BetaOdds, Dirichlet, Gamma, Poisson
from pgbn.zoo.arguments import Positive, Prior, Width


@validated
def gated_pfa(
    width: Width,
    eta: Positive = 0.05,
    pi_prior: Prior = (1.0, 1.0),
    p_prior: Prior = (0.01, 0.01),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (0.01, 0.01),
) -> Network:
    """x_j ~ Pois(Φθ_j), θ_kj ~ Gam(r_k h_kj, (1−p_j)/p_j), h_kj ~ Bern(π_k), π_k ~ Beta.

    Topic k is absent from document j (θ_kj = 0) if the gate h_kj is 0. φ_k ~ Dir(η),
    r_k ~ Gam(γ0/K, c0). The defaults are those of `pfa`, and pgbn's own for π. Nodes: x, phi,
    theta, h, pi, r, p, c0, gamma0.

    Reference: Gan, Chen, Henao, Carlson & Carin, Scalable deep Poisson factor analysis for topic
    modeling, ICML 2015; here with independent gates instead of a sigmoid belief network above.

    Parameters
    ----------
    width : int
        The number of topics: K.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    pi_prior : (float, float)
        (a, b) of the beta prior of the π_k.
    p_prior : (float, float)
        (a, b) of the beta prior of the p_j.
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
    >>> net = pgbn.zoo.gated_pfa(4)
    >>> net.latent
    ['phi', 'gamma0', 'c0', 'r', 'pi', 'h', 'p', 'theta']
    """
    gamma0 = Gamma("gamma0", *gamma0_prior)
    c0 = Gamma("c0", *c0_prior)
    r = Gamma("r", gamma0 / width, c0, dims="topic")
    pi = Beta("pi", *pi_prior, dims="topic")
    h = Bernoulli("h", pi, dims=("doc", "topic"))
    p = BetaOdds("p", *p_prior, dims="doc")
    theta = Gamma("theta", r * h, p, dims=("doc", "topic"))
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    return Network(Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": width})
