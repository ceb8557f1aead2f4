"""The Poisson–gamma dynamical system, with Dirichlet transitions."""

from __future__ import annotations

from pgbn.checks import Flag, validated
from pgbn.network.network import Network
from pgbn.nodes import Dirichlet, Gamma, Poisson, Self, Shift, distinct, same
from pgbn.nodes.expression import Expression
from pgbn.zoo.arguments import Positive, Prior, Width


@validated
def pgds(
    width: Width,
    eta: Positive = 0.1,
    epsilon: Positive = 0.1,
    tau: Positive = 1.0,
    gamma0: Positive = 50.0,
    beta_prior: Prior = (0.1, 0.1),
    delta_prior: Prior = (0.1, 0.1),
    shrinkage: Flag = False,
    xi_prior: Prior = (0.1, 0.1),
) -> Network:
    """x_t ~ Pois(δ_t Φθ_t), θ_t ~ Gam(τ Πθ_{t−1}, τ), θ_1 ~ Gam(τν, τ), ν_k ~ Gam(γ0/K, β).

    φ_k ~ Dir(η) over terms and π_k ~ Dir(ε) over topics; δ_t and β ~ Gam. Column k of Π gives the
    topics that follow topic k. ``shrinkage`` uses the paper's prior of Π instead of ε:
    π_k ~ Dir(ν_1 ν_k, …, ξ ν_k, …, ν_K ν_k) with ξ ν_k at entry k, and ξ ~ Gam. Nodes: x (dims
    time, term), phi, theta, pi (dims previous, topic), nu, beta, delta, xi. The defaults are those
    of the paper, except the prior of Π.

    Reference: Schein, Zhou & Wallach, Poisson–gamma dynamical systems, NIPS 2016.

    Parameters
    ----------
    width : int
        The number of topics: K.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    epsilon : float
        The concentration ε of the columns of Π.
    tau : float
        τ: larger values let strengths change more slowly.
    gamma0 : float
        γ0, which says how many topics are used.
    beta_prior : (float, float)
        (shape, rate) of the gamma prior of the β.
    delta_prior : (float, float)
        (shape, rate) of the gamma prior of the δ_t.
    shrinkage : bool
        Whether Π has the shrinkage prior of the paper.
    xi_prior : (float, float)
        (shape, rate) of the gamma prior of ξ.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.pgds(4)
    >>> net.latent
    ['delta', 'phi', 'pi', 'beta', 'nu', 'theta']
    """
    beta = Gamma("beta", *beta_prior)
    nu = Gamma("nu", gamma0 / width, beta, dims="topic")
    mass: Expression | float = epsilon
    if shrinkage:
        xi, pair = Gamma("xi", *xi_prior), ("topic", "previous")
        mass = distinct(nu * nu.rename(topic="previous"), *pair, ordered=True) + same(
            xi * nu, *pair
        )
    pi = Dirichlet("pi", mass, over="topic", dims="previous")
    lag = Shift(pi @ Self(topic="previous"), along="time", initial=nu)
    theta = Gamma("theta", tau * lag, tau, dims=("time", "topic"))
    delta = Gamma("delta", *delta_prior, dims="time")
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    x = Poisson("x", delta * (phi @ theta), dims=("time", "term"))
    return Network(x, sizes={"topic": width})
