"""Counts in time: chains of gammas, of hidden counts and of hidden states."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.checks import Flag, is_finite_number, validated
from pgbn.errors import NetworkError
from pgbn.network.network import Network
from pgbn.nodes import (
    Categorical,
    Dirichlet,
    Gamma,
    Poisson,
    RandomisedGamma,
    Self,
    Shift,
    distinct,
    same,
)
from pgbn.nodes.expression import Constant, Expression
from pgbn.zoo import layers
from pgbn.zoo.arguments import Positive, PositiveOrPrior, Prior, Width, Widths, observe, per_layer


# Gamma process dynamic Poisson factor analysis: a gamma Markov chain for each topic.
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

    Topics φ_k ~ Dir(η) have a weight λ_k and a strength θ_tk that walks in time; a1, c_t, c0 and
    γ0 ~ Gam. Nodes: x (dims time, term), phi, theta, lambda, a1, c, c0, gamma0. With
    ``link="bernoulli"`` the data are 0 and 1, as in the paper's dynamic networks. The defaults are
    ours.

    Reference: Acharya, Ghosh & Zhou, Nonparametric Bayesian factor analysis for dynamic count
    matrices, AISTATS 2015.
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


# Gamma process dynamic Poisson factor analysis: a gamma Markov chain for each topic.
def gamma_markov_chain(
    width: Width,
    eta: Positive = 0.05,
    c_prior: Prior = (1.0, 1.0),
    a1_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (1.0, 1.0),
) -> Network:
    """x_t ~ Pois(Σ_k λ_k φ_k θ_tk), θ_tk ~ Gam(θ_{t−1,k}, c_t), θ_0k = a1, λ_k ~ Gam(γ0/K, c0).

    Topics φ_k ~ Dir(η) have a weight λ_k and a strength θ_tk that walks in time; a1, c_t, c0 and
    γ0 ~ Gam: `gp_dpfa` of counts. Nodes: x (dims time, term), phi, theta, lambda, a1, c, c0,
    gamma0. The defaults are ours.

    Reference: Acharya, Ghosh & Zhou, Nonparametric Bayesian factor analysis for dynamic count
    matrices, AISTATS 2015.
    """
    return gp_dpfa(width, eta, c_prior, a1_prior, c0_prior, gamma0_prior)


# The Poisson–gamma dynamical system, with Dirichlet transitions.
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

    φ_k ~ Dir(η) over terms and π_k ~ Dir(ε) over topics: column k of Π says where topic k leads;
    δ_t and β ~ Gam. With ``shrinkage``, the paper's prior of Π: π_k ~ Dir(ν_1 ν_k, …, ξ ν_k, …,
    ν_K ν_k) with ξ ν_k at entry k, ξ ~ Gam, and ε is not used. Nodes: x (dims time, term), phi,
    theta, pi (dims previous, topic), nu, beta, delta, xi. The defaults are the paper's, but for
    the prior of Π.

    Reference: Schein, Zhou & Wallach, Poisson–gamma dynamical systems, NIPS 2016.
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


# Deep Poisson–gamma dynamical systems: layers of factors, each with transitions of its own.
@validated
def deep_pgds(
    widths: Widths,
    eta: float | Sequence[float] = 0.1,
    epsilon: Positive = 0.1,
    tau: Positive = 1.0,
    gamma0: Positive = 50.0,
    beta_prior: Prior = (0.1, 0.1),
    delta_prior: Prior = (0.1, 0.1),
    link: str = "poisson",
) -> Network:
    """x_t ~ Pois(δ_t Φ¹θ¹_t), θˡ_t ~ Gam(τ(Φˡ⁺¹θˡ⁺¹_t + Πˡθˡ_{t−1}), τ), l < L.

    At the top, θᴸ_t ~ Gam(τ Πᴸθᴸ_{t−1}, τ) and θᴸ_1 ~ Gam(τν, τ), ν_k ~ Gam(γ0/K_L, β); the columns
    φˡ_k ~ Dir(η), πˡ_k ~ Dir(ε), and δ_t, β ~ Gam; L = len(widths). Nodes: x (dims time, term),
    phi1…phiL, theta1…thetaL, pi1…piL (dims previous1, topic1, …), nu, beta, delta. Of one layer it
    is `pgds`. The defaults are those of `pgds`: the paper's but for its shrinkage prior of Π.

    Reference: Guo, Chen, Zhang & Zhou, Deep Poisson gamma dynamical systems, NeurIPS 2018.
    """
    sizes = {layers.topic(t): width for t, width in enumerate(widths, 1)}
    depth, etas = len(sizes), per_layer(eta, len(sizes), "eta")
    mass = gamma0 / sizes[layers.topic(depth)]
    beta = Gamma("beta", *beta_prior)
    nu = Gamma("nu", mass, beta, dims=layers.topic(depth))
    above: Expression | None = None
    for t in range(depth, 0, -1):
        topic, before, below = layers.topic(t), f"previous{t}", layers.topic(t - 1)
        pi = Dirichlet(f"pi{t}", epsilon, over=topic, dims=before)
        start = nu if above is None else Constant(value=0.0)
        lag: Expression = Shift(pi @ Self(**{topic: before}), along="time", initial=start)
        shape = tau * (lag if above is None else above + lag)
        theta = Gamma(layers.theta(t), shape, tau, dims=("time", topic))
        above = Dirichlet(layers.phi(t), etas[t - 1], over=below, dims=topic) @ theta
    delta = Gamma("delta", *delta_prior, dims="time")
    x = observe(layers.DATA, link, delta * above, ("time", "term"), layers.NOISE, (1.0, 1.0))
    before_sizes = {f"previous{t}": sizes[layers.topic(t)] for t in range(1, depth + 1)}
    return Network(x, sizes=sizes | before_sizes)


# The Poisson-randomised gamma dynamical system: factors that switch on and off.
@validated
def prgds(
    width: Width,
    offset: float = 0.0,
    eta: Positive = 0.1,
    epsilon: Positive = 1.0,
    tau: PositiveOrPrior = 1.0,
    gamma0_prior: Prior = (10.0, 10.0),
    delta_prior: Prior = (0.1, 0.1),
) -> Network:
    """x_t ~ Pois(δ_t Σ_k ν_k φ_k θ_tk), θ_tk ~ Gam(ε + h_tk, τ), h_tk ~ Pois(τ Σ_l π_kl θ_{t−1,l}).

    ε is ``offset``; with 0 a strength θ_tk is exactly 0 where its hidden count h_tk is, so that a
    factor can be silent. θ_0k = ν_k ~ Gam(ε/K + g_k, 1), g_k ~ Pois(γ0/K), is the weight of factor
    k; φ_k ~ Dir(η) over terms, π_l ~ Dir over topics, δ_t and γ0 ~ Gam. The hidden counts are not
    kept: θ and ν are drawn with them. Nodes: x (dims time, term), phi, theta, pi (dims previous,
    topic), nu, delta, gamma0. τ is a number or, given as a pair (shape, rate), a node tau ~ Gam: it
    stands in two slots of θ, and is drawn by slice sampling. Offset, γ0 and δ are those of the
    released code, which draws τ and the rate of ν too, here 1; η and ``epsilon``, the prior of Π,
    are ours.

    Reference: Schein, Linderman, Zhou, Blei & Wallach, Poisson-randomized gamma dynamical systems,
    NeurIPS 2019.
    """
    scale = Gamma("tau", *tau, update="slice") if isinstance(tau, tuple) else tau
    gamma0 = Gamma("gamma0", *gamma0_prior)
    if not is_finite_number(offset) or offset < 0:
        raise NetworkError(f"offset={offset!r:.60}: must be a number of at least 0")
    nu = RandomisedGamma("nu", gamma0 / width, 1.0, offset=offset / width, dims="topic")
    pi = Dirichlet("pi", epsilon, over="topic", dims="previous")
    walk = Shift(pi @ Self(topic="previous"), along="time", initial=nu)
    theta = RandomisedGamma("theta", scale * walk, scale, offset=offset, dims=("time", "topic"))
    delta = Gamma("delta", *delta_prior, dims="time")
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    x = Poisson("x", delta * (phi @ (nu * theta)), dims=("time", "term"))
    return Network(x, sizes={"topic": width})


# Hidden Markov model of counts.
@validated
def hidden_markov(
    states: Width, alpha: Positive = 1.0, move_alpha: Positive = 1.0, rate_prior: Prior = (1.0, 1.0)
) -> Network:
    """x_tv ~ Pois(λ_kv) with k = z_t, z_t ~ Cat(P_l) with l = z_{t−1}, z_1 ~ Cat(π).

    π ~ Dir(α, …, α), P_l ~ Dir(β, …, β), λ_kv ~ Gam. The states are drawn as a whole, by forward
    filtering and backward sampling. The defaults are ours. Nodes: x, rate, z, move (P), first (π).

    Reference: Zucchini & MacDonald, Hidden Markov models for time series, 2009; the sampler: Chib,
    Calculating posterior distributions and modal estimates in Markov mixture models, 1996.
    """
    first = Dirichlet("first", alpha, over="state")
    move = Dirichlet("move", move_alpha, over="state", dims="previous")
    chain = Shift(move @ Self(state="previous"), along="time", initial=first)
    z = Categorical("z", chain, over="state", dims="time")
    rate = Gamma("rate", *rate_prior, dims=("state", "term"))
    sizes = {"state": states, "previous": states}
    return Network(Poisson("x", z @ rate, dims=("time", "term")), sizes=sizes)
