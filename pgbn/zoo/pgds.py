"""The Poisson–gamma dynamical system, with symmetric Dirichlet transitions."""

from __future__ import annotations

from pgbn.network.network import Network
from pgbn.nodes import Dirichlet, Gamma, Poisson, Self, Shift
from pgbn.zoo.arguments import Prior, check_one_width, check_positive_number, check_prior

__all__ = ["pgds"]


def pgds(
    width: int,
    eta: float = 0.1,
    epsilon: float = 0.1,
    tau: float = 1.0,
    gamma0: float = 50.0,
    beta_prior: Prior = (0.1, 0.1),
    delta_prior: Prior = (0.1, 0.1),
) -> Network:
    """x_t ~ Pois(δ_t Φθ_t), θ_t ~ Gam(τ Πθ_{t−1}, τ), θ_1 ~ Gam(τν, τ), ν_k ~ Gam(γ0/K, β).

    φ_k ~ Dir(η) over terms and π_k ~ Dir(ε) over topics: column k of Π says where topic k leads;
    δ_t and β ~ Gam. Nodes: x (dims time, term), phi, theta, pi (dims previous, topic), nu, beta,
    delta. The defaults are the paper's, but for its shrinkage prior of Π.

    Reference: Schein, Zhou & Wallach, Poisson–gamma dynamical systems, NIPS 2016.
    """
    check_one_width(width)
    tau = check_positive_number(tau, "tau")
    beta = Gamma("beta", *check_prior(beta_prior, "beta_prior"))
    nu = Gamma("nu", check_positive_number(gamma0, "gamma0") / width, beta, dims="topic")
    pi = Dirichlet("pi", check_positive_number(epsilon, "epsilon"), over="topic", dims="previous")
    lag = Shift(pi @ Self(topic="previous"), along="time", initial=nu)
    theta = Gamma("theta", tau * lag, tau, dims=("time", "topic"))
    delta = Gamma("delta", *check_prior(delta_prior, "delta_prior"), dims="time")
    phi = Dirichlet("phi", check_positive_number(eta, "eta"), over="term", dims="topic")
    x = Poisson("x", delta * (phi @ theta), dims=("time", "term"))
    return Network(x, sizes={"topic": width})
