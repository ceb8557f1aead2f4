"""Gamma process dynamic Poisson factor analysis: a gamma Markov chain for each topic."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Dirichlet, Gamma, Self, Shift
from pgbn.zoo.arguments import Positive, Prior, Width, observe


@validated
def gp_dpfa(
    width: Width,
    eta: Positive = 0.05,
    c_prior: Prior = (1.0, 1.0),
    a1_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (1.0, 1.0),
    link: str = "poisson",
) -> Network:
    """x_t ~ Pois(Σ_k λ_k φ_k θ_tk), θ_tk ~ Gam(θ_{t−1,k}, c_t), θ_0k = a1, λ_k ~ Gam(γ0/K, c0).

    Topics φ_k ~ Dir(η) have a weight λ_k and a strength θ_tk that changes in time; a1, c_t, c0 and
    γ0 ~ Gam. Nodes: x (dims time, term), phi, theta, lambda, a1, c, c0, gamma0. With
    ``link="bernoulli"`` the data are 0 and 1, as in the paper's dynamic networks. The defaults are
    those of pgbn.

    Reference: Acharya, Ghosh & Zhou, Nonparametric Bayesian factor analysis for dynamic count
    matrices, AISTATS 2015.

    Parameters
    ----------
    width : int
        The number of topics: K.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    c_prior : (float, float)
        (shape, rate) of the gamma prior of the rates c.
    a1_prior : (float, float)
        (shape, rate) of the gamma prior of a1.
    c0_prior : (float, float)
        (shape, rate) of the gamma prior of c0, the rate of the r_k.
    gamma0_prior : (float, float)
        (shape, rate) of the gamma prior of γ0, which says how many topics are used.
    link : str
        What the data are: "poisson" (counts), "bernoulli" (0 and 1) or "gamma" (reals ≥ 0), or a
        link of your own.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.gp_dpfa(4)
    >>> net.latent
    ['phi', 'gamma0', 'c0', 'lambda', 'a1', 'c', 'theta']
    """
    gamma0 = Gamma("gamma0", *gamma0_prior)
    c0 = Gamma("c0", *c0_prior)
    weight = Gamma("lambda", gamma0 / width, c0, dims="topic")
    a1 = Gamma("a1", *a1_prior)
    c = Gamma("c", *c_prior, dims="time")
    theta = Gamma("theta", Shift(Self(), along="time", initial=a1), c, dims=("time", "topic"))
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    rate, dims = phi @ (weight * theta), ("time", "term")
    return Network(observe("x", link, rate, dims, "noise", (1.0, 1.0)), sizes={"topic": width})
