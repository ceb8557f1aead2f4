"""The Poisson–gamma dynamical system, with Dirichlet transitions."""

from __future__ import annotations

from pgbn.checks import check_flag
from pgbn.network.network import Network
from pgbn.nodes import Dirichlet, Gamma, Poisson, Self, Shift, distinct, same
from pgbn.nodes.expression import Expression
from pgbn.zoo.arguments import Prior, check_one_width, check_positive_number, check_prior


def pgds(
    width: int,
    eta: float = 0.1,
    epsilon: float = 0.1,
    tau: float = 1.0,
    gamma0: float = 50.0,
    beta_prior: Prior = (0.1, 0.1),
    delta_prior: Prior = (0.1, 0.1),
    shrinkage: bool = False,
    xi_prior: Prior = (0.1, 0.1),
) -> Network:
    """x_t ~ Pois(δ_t Φθ_t), θ_t ~ Gam(τ Πθ_{t−1}, τ), θ_1 ~ Gam(τν, τ), ν_k ~ Gam(γ0/K, β).

    φ_k ~ Dir(η) over terms and π_k ~ Dir(ε) over topics: column k of Π says where topic k leads;
    δ_t and β ~ Gam. With ``shrinkage``, the paper's prior of Π: π_k ~ Dir(ν_1 ν_k, …, ξ ν_k, …,
    ν_K ν_k) with ξ ν_k at entry k, ξ ~ Gam, and ε is not used. Nodes: x (dims time, term), phi,
    theta, pi (dims previous, topic), nu, beta, delta, xi. The defaults are the paper's, but for
    the prior of Π.

    Reference: Schein, Zhou & Wallach, Poisson–gamma dynamical systems, NIPS 2016.
    """
    check_one_width(width)
    tau = check_positive_number(tau, "tau")
    beta = Gamma("beta", *check_prior(beta_prior, "beta_prior"))
    nu = Gamma("nu", check_positive_number(gamma0, "gamma0") / width, beta, dims="topic")
    mass: Expression | float = check_positive_number(epsilon, "epsilon")
    if check_flag("shrinkage", shrinkage):
        xi, pair = Gamma("xi", *check_prior(xi_prior, "xi_prior")), ("topic", "previous")
        mass = distinct(nu * nu.rename(topic="previous"), *pair, ordered=True) + same(
            xi * nu, *pair
        )
    pi = Dirichlet("pi", mass, over="topic", dims="previous")
    lag = Shift(pi @ Self(topic="previous"), along="time", initial=nu)
    theta = Gamma("theta", tau * lag, tau, dims=("time", "topic"))
    delta = Gamma("delta", *check_prior(delta_prior, "delta_prior"), dims="time")
    phi = Dirichlet("phi", check_positive_number(eta, "eta"), over="term", dims="topic")
    x = Poisson("x", delta * (phi @ theta), dims=("time", "term"))
    return Network(x, sizes={"topic": width})
