"""The multimodal Poisson gamma belief network: several kinds of data on one hidden layer."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Dirichlet, Gamma
from pgbn.nodes.expression import Expression
from pgbn.zoo import layers
from pgbn.zoo.arguments import Modalities, Prior, Widths, observe, per_layer


@validated
def multimodal(
    widths: Widths,
    modalities: Modalities,
    eta: float | Sequence[float] = 0.05,
    c_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (0.01, 0.01),
    noise_prior: Prior = (1.0, 1.0),
) -> Network:
    """x^s_j ~ Pois(Φ^{s,1}θ¹_j) for every modality s; above θ¹ the belief network of `pgbn`.

    ``modalities`` maps names to links: {"words": "poisson", "tags": "bernoulli"}. Modality s has
    the data node s with dims (doc, term_s), the topics phi1_s and, if its link has noise ("gamma"),
    noise_s. θ¹_j receives an exposure of one from each modality. So its rate c²_j is a gamma
    instead of (1−p)/p, which needs a total exposure of one. Other nodes: phi2…phiT,
    theta1…thetaT, c2…c{T+1}, r, gamma0, c0. The defaults are those of `pgbn`.

    Reference: Wang, Chen & Zhou, Multimodal Poisson gamma belief network, AAAI 2018.

    Parameters
    ----------
    widths : int or list of int
        The number of topics of each layer, the one nearest to the data first.
    modalities : dict of str to str
        The link of each modality, by its name.
    eta : float or list of float
        The concentration η of the topics, for all layers or for each.
    c_prior : (float, float)
        (shape, rate) of the gamma prior of the rates c.
    c0_prior : (float, float)
        (shape, rate) of the gamma prior of c0, the rate of the r_k.
    gamma0_prior : (float, float)
        (shape, rate) of the gamma prior of γ0, which says how many topics are used.
    noise_prior : (float, float)
        (shape, rate) of the gamma prior of noise, if the link has noise.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.multimodal(4, {"words": "poisson", "tags": "bernoulli"})
    >>> net.observed
    ['words', 'tags']
    """
    sizes = {layers.topic(t): width for t, width in enumerate(widths, 1)}
    depth, etas = len(sizes), per_layer(eta, len(sizes), "eta")
    gamma0 = Gamma(layers.GAMMA0, *gamma0_prior)
    c0 = Gamma(layers.TOP_RATE, *c0_prior)
    top = layers.topic(depth)
    shape: Expression = Gamma(layers.TOP_SHAPE, gamma0 / sizes[top], c0, dims=top)
    for t in range(depth, 0, -1):
        topic, below = layers.topic(t), layers.topic(t - 1)
        c = Gamma(layers.plain_rate(t + 1), *c_prior, dims="doc")
        theta = Gamma(layers.theta(t), shape, c, dims=("doc", topic))
        if t > 1:
            shape = Dirichlet(layers.phi(t), etas[t - 1], over=below, dims=topic) @ theta
    data = []
    for name, link in modalities.items():
        term, noise = (layers.of_modality(each, name) for each in (layers.TERM, layers.NOISE))
        phi = Dirichlet(layers.of_modality(layers.phi(1), name), etas[0], over=term, dims=topic)
        data.append(observe(name, link, phi @ theta, ("doc", term), noise, noise_prior))
    return Network(*data, sizes=sizes)
