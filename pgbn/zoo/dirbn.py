"""The Dirichlet belief network: topics whose prior is a mixture of topics of a layer above."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import BetaOdds, Dirichlet, Gamma, Poisson
from pgbn.zoo import layers
from pgbn.zoo.arguments import Positive, Prior, Widths

NAMES = ("gamma0", "c0")


@validated
def dirbn(
    widths: Widths,
    eta: Positive = 0.05,
    c_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (1.0, 1.0),
    r_prior: Prior = (1.0, 1.0),
    p_prior: Prior = (0.01, 0.01),
) -> Network:
    """x_j ~ Pois(Φ¹θ_j), φᵗ_k ~ Dir(Σ_l βᵗ⁺¹_lk φᵗ⁺¹_l), t < T, and φᵀ_l ~ Dir(η).

    The weights are βᵗ_lk ~ Gam(gᵗ_l, cᵗ), gᵗ_l ~ Gam(γᵗ0/K_t, cᵗ0), and cᵗ, cᵗ0, γᵗ0 ~ Gam. The
    topic weights are those of Poisson factor analysis, θ_jk ~ Gam(r_k, (1−p_j)/p_j). All topics
    are distributions over the terms; those of a higher layer are more general. T = len(widths).
    Nodes: x, phi1…phiT, beta2…betaT (dims topic2, topic1, …), g2…, c2…, c0_2…, gamma0_2…, theta,
    r, p. eta is that of the authors' program, the other defaults are those of pgbn.

    Reference: Zhao, Du, Buntine & Zhou, Dirichlet belief networks for topic structure learning,
    NeurIPS 2018. Its program draws g, γ0, c0 and c before β, given the old β (and counts tables one
    customer too late). pgbn rejects that order.

    Parameters
    ----------
    widths : int or list of int
        The number of topics of each layer, the one nearest to the data first.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    c_prior : (float, float)
        (shape, rate) of the gamma prior of the rates c.
    c0_prior : (float, float)
        (shape, rate) of the gamma prior of c0, the rate of the r_k.
    gamma0_prior : (float, float)
        (shape, rate) of the gamma prior of γ0, which says how many topics are used.
    r_prior : (float, float)
        (shape, rate) of the gamma prior of the r.
    p_prior : (float, float)
        (a, b) of the beta prior of the p_j.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.dirbn([8, 4])
    >>> net.latent
    ['gamma0_2', 'c0_2', 'g2', 'c2', 'beta2', 'phi2', 'phi1', 'r', 'p', 'theta']
    """
    sizes = {layers.topic(t): width for t, width in enumerate(widths, 1)}
    base = gamma0_prior, c0_prior
    phi = Dirichlet(layers.phi(len(sizes)), eta, over="term", dims=layers.topic(len(sizes)))
    for t in range(len(sizes), 1, -1):
        topic, below = layers.topic(t), layers.topic(t - 1)
        gamma0, c0 = (Gamma(f"{name}_{t}", *prior) for name, prior in zip(NAMES, base, strict=True))
        g = Gamma(f"g{t}", gamma0 / sizes[topic], c0, dims=topic)
        beta = Gamma(f"beta{t}", g, Gamma(f"c{t}", *c_prior), dims=(topic, below))
        phi = Dirichlet(layers.phi(t - 1), beta @ phi, over="term", dims=below)
    r = Gamma("r", *r_prior, dims="topic1")
    p = BetaOdds("p", *p_prior, dims="doc")
    theta = Gamma("theta", r, p, dims=("doc", "topic1"))
    return Network(Poisson("x", phi @ theta, dims=("doc", "term")), sizes=sizes)
