"""The multimodal Poisson gamma belief network: several kinds of data on one hidden layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pgbn.network.network import Network
from pgbn.nodes import Dirichlet, Gamma
from pgbn.nodes.expression import Expression
from pgbn.zoo.arguments import (
    Prior,
    check_modalities,
    check_prior,
    check_widths,
    observe,
    per_layer,
)

__all__ = ["multimodal"]


def multimodal(
    widths: Sequence[int],
    modalities: Mapping[str, str],
    eta: float | Sequence[float] = 0.05,
    c_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (0.01, 0.01),
    noise_prior: Prior = (1.0, 1.0),
) -> Network:
    """x^s_j ~ Pois(Φ^{s,1}θ¹_j) for every modality s; above θ¹ the belief network of `pgbn`.

    ``modalities`` maps names to links: {"words": "poisson", "tags": "bernoulli"}. Modality s has
    the data node s with dims (doc, term_s), the topics phi1_s and, if its link has noise ("gamma"),
    noise_s. θ¹_j hears an exposure of one from each modality, so its rate c²_j is a gamma instead
    of (1−p)/p, which needs an exposure of one in all. Other nodes: phi2…phiT, theta1…thetaT,
    c2…c{T+1}, r, gamma0, c0.

    Reference: Wang, Chen & Zhou, Multimodal Poisson gamma belief network, AAAI 2018.
    """
    layers, links = check_widths(widths), check_modalities(modalities)
    depth, etas = len(layers), per_layer(eta, len(layers), "eta")
    gamma0 = Gamma("gamma0", *check_prior(gamma0_prior, "gamma0_prior"))
    c0 = Gamma("c0", *check_prior(c0_prior, "c0_prior"))
    shape: Expression = Gamma("r", gamma0 / layers[-1], c0, dims=f"topic{depth}")
    for t in range(depth, 0, -1):
        c = Gamma(f"c{t + 1}", *check_prior(c_prior, "c_prior"), dims="doc")
        theta = Gamma(f"theta{t}", shape, c, dims=("doc", f"topic{t}"))
        if t > 1:
            phi = Dirichlet(f"phi{t}", etas[t - 1], over=f"topic{t - 1}", dims=f"topic{t}")
            shape = phi @ theta
    data = []
    for name, link in links.items():
        phi = Dirichlet(f"phi1_{name}", etas[0], over=f"term_{name}", dims="topic1")
        dims = ("doc", f"term_{name}")
        data.append(observe(name, link, phi @ theta, dims, f"noise_{name}", noise_prior))
    return Network(*data, sizes={f"topic{t}": width for t, width in enumerate(layers, 1)})
