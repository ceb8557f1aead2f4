"""Finite mixture of Poisson vectors."""

from __future__ import annotations

from pgbn.network.network import Network
from pgbn.nodes import Categorical, Dirichlet, Gamma, Poisson
from pgbn.zoo.arguments import Prior, check_one_width, check_positive_number, check_prior


def poisson_mixture(components: int, alpha: float = 1.0, rate_prior: Prior = (1.0, 1.0)) -> Network:
    """x_jv ~ Pois(λ_kv) with k = z_j, z_j ~ Cat(π), π ~ Dir(α, …, α), λ_kv ~ Gam.

    Every row belongs to one component; P(z_j = k | −) ∝ π_k Π_v Pois(x_jv; λ_kv). The defaults are
    ours. Nodes: x, rate, z, pi.

    Reference: McLachlan & Peel, Finite mixture models, 2000; the sampler: Diebolt & Robert,
    Estimation of finite mixture distributions through Bayesian sampling, JRSS B 1994.
    """
    check_one_width(components, "components")
    pi = Dirichlet("pi", check_positive_number(alpha, "alpha"), over="component")
    z = Categorical("z", pi, over="component", dims="doc")
    rate = Gamma("rate", *check_prior(rate_prior, "rate_prior"), dims=("component", "term"))
    return Network(Poisson("x", z @ rate, dims=("doc", "term")), sizes={"component": components})
