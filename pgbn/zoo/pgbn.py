"""The Poisson gamma belief network, for any number of layers, and its case of one layer."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.checks import validated
from pgbn.errors import NetworkError
from pgbn.network.evidence import counts_name
from pgbn.network.network import Network
from pgbn.nodes import BetaOdds, Dirichlet, Gamma
from pgbn.nodes.base import Latent
from pgbn.nodes.expression import Expression
from pgbn.zoo import layers
from pgbn.zoo.arguments import Positive, Prior, Width, Widths, observe, per_layer


@validated
def pgbn(
    widths: Widths,
    eta: float | Sequence[float] = 0.05,
    p_prior: Prior = (0.01, 0.01),
    c_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (0.01, 0.01),
    link: str = "poisson",
    noise_prior: Prior = (1.0, 1.0),
    order: str = "derived",
) -> Network:
    """x_j ~ Pois(Φ¹θ¹_j), θᵗ_j ~ Gam(Φᵗ⁺¹θᵗ⁺¹_j, cᵗ⁺¹_j), θᵀ_j ~ Gam(r, cᵀ⁺¹_j).

    φᵗ_k ~ Dir(η), r_k ~ Gam(γ0/K_T, c0), c²_j = (1−p²_j)/p²_j with p²_j ~ Beta, and
    cᵗ_j, c0, γ0 ~ Gam; T = len(widths). Nodes: x, phi1…phiT, theta1…thetaT, r, gamma0, c0, p2,
    c3…c{T+1}, and ``noise`` if the link has noise ("gamma"); the value of p2 is the rate
    c² = (1−p²)/p². The defaults are those of the paper. ``order="paper"`` uses the order of its
    Algorithm 1; by default the order is derived from the graph. Both are valid.

    Reference: Zhou, Cong & Chen, The Poisson gamma belief network, NIPS 2015; Augmentable gamma
    belief networks, JMLR 17(163), 2016.

    Parameters
    ----------
    widths : int or list of int
        The number of topics of each layer, the one nearest to the data first.
    eta : float or list of float
        The concentration η of the topics, for all layers or for each.
    p_prior : (float, float)
        (a, b) of the beta prior of the p_j.
    c_prior : (float, float)
        (shape, rate) of the gamma prior of the rates c.
    c0_prior : (float, float)
        (shape, rate) of the gamma prior of c0, the rate of the r_k.
    gamma0_prior : (float, float)
        (shape, rate) of the gamma prior of γ0, which says how many topics are used.
    link : str
        What the data are: "poisson" (counts), "bernoulli" (0 and 1) or "gamma" (reals ≥ 0), or a
        link of your own.
    noise_prior : (float, float)
        (shape, rate) of the gamma prior of noise, if the link has noise.
    order : str
        "derived", or "paper" for the order of Algorithm 1.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.pgbn([8, 4])
    >>> net.latent
    ['phi1', 'phi2', 'gamma0', 'c0', 'r', 'c3', 'theta2', 'p2', 'theta1']
    """
    if not isinstance(order, str) or order not in ("derived", "paper"):
        raise NetworkError(f"order={order!r}: must be 'derived' or 'paper'")
    sizes = {layers.topic(t): width for t, width in enumerate(widths, 1)}
    depth, etas = len(sizes), per_layer(eta, len(sizes), "eta")
    gamma0 = Gamma(layers.GAMMA0, *gamma0_prior)
    c0 = Gamma(layers.TOP_RATE, *c0_prior)
    top = layers.topic(depth)
    shape: Expression = Gamma(layers.TOP_SHAPE, gamma0 / sizes[top], c0, dims=top)
    for t in range(depth, 0, -1):
        topic, below = layers.topic(t), layers.topic(t - 1)
        kind, prior = (Gamma, c_prior) if t > 1 else (BetaOdds, p_prior)
        rate: Latent = kind(layers.rate(t + 1), *prior, dims="doc")
        theta = Gamma(layers.theta(t), shape, rate, dims=("doc", topic))
        shape = Dirichlet(layers.phi(t), etas[t - 1], over=below, dims=topic) @ theta
    x = observe(layers.DATA, link, shape, ("doc", "term"), layers.NOISE, noise_prior)
    network = Network(x, sizes=sizes)
    return network.with_order(_algorithm_1(network, depth)) if order == "paper" else network


def _algorithm_1(network: Network, depth: int) -> list[str]:
    """The steps of Algorithm 1.

    Upward, the counts of each layer and then its Φ; the rates, given the old r and θ; the roots;
    downward, θ."""
    steps = [counts_name(layers.DATA), layers.phi(1)]
    steps += [layers.NOISE] if layers.NOISE in network else []
    for t in range(1, depth):
        steps += [counts_name(layers.theta(t)), layers.phi(t + 1)]
    steps += [counts_name(layers.theta(depth)), counts_name(layers.TOP_SHAPE)]
    steps += [layers.rate(t) for t in range(2, depth + 2)]
    steps += [layers.TOP_RATE, layers.GAMMA0, layers.TOP_SHAPE]
    return steps + [layers.theta(t) for t in range(depth, 0, -1)]


@validated
def pfa(
    width: Width,
    eta: Positive = 0.05,
    p_prior: Prior = (0.01, 0.01),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (0.01, 0.01),
    link: str = "poisson",
    noise_prior: Prior = (1.0, 1.0),
) -> Network:
    """x_j ~ Pois(Φθ_j), φ_k ~ Dir(η), θ_kj ~ Gam(r_k, (1−p_j)/p_j), r_k ~ Gam(γ0/K, c0).

    Poisson factor analysis with the gamma–negative binomial process: the belief network of one
    layer, with its names (phi1, theta1, p2) and its defaults.

    Reference: Zhou & Carin, Negative binomial process count and mixture modeling, TPAMI 2015.

    Parameters
    ----------
    width : int
        The number of topics: K.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    p_prior : (float, float)
        (a, b) of the beta prior of the p_j.
    c0_prior : (float, float)
        (shape, rate) of the gamma prior of c0, the rate of the r_k.
    gamma0_prior : (float, float)
        (shape, rate) of the gamma prior of γ0, which says how many topics are used.
    link : str
        What the data are: "poisson" (counts), "bernoulli" (0 and 1) or "gamma" (reals ≥ 0), or a
        link of your own.
    noise_prior : (float, float)
        (shape, rate) of the gamma prior of noise, if the link has noise.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.pfa(4)
    >>> net.latent
    ['phi1', 'gamma0', 'c0', 'r', 'p2', 'theta1']
    """
    return pgbn([width], eta, p_prior, c0_prior=c0_prior,
                gamma0_prior=gamma0_prior, link=link, noise_prior=noise_prior)  # fmt: skip
