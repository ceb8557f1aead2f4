"""Finite mixture of Poisson vectors."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Categorical, Dirichlet, Gamma, Poisson
from pgbn.zoo.arguments import Positive, Prior, Width


@validated
def poisson_mixture(
    components: Width, alpha: Positive = 1.0, rate_prior: Prior = (1.0, 1.0)
) -> Network:
    """x_jv ~ Pois(λ_kv) with k = z_j, z_j ~ Cat(π), π ~ Dir(α, …, α), λ_kv ~ Gam.

    Every row belongs to one component; P(z_j = k | −) ∝ π_k Π_v Pois(x_jv; λ_kv). The defaults are
    those of pgbn. Nodes: x, rate, z, pi.

    Reference: McLachlan & Peel, Finite mixture models, 2000; the sampler: Diebolt & Robert,
    Estimation of finite mixture distributions through Bayesian sampling, JRSS B 1994.

    Parameters
    ----------
    components : int
        The number of components.
    alpha : float
        The concentration α.
    rate_prior : (float, float)
        (shape, rate) of the gamma prior of the λ_kv.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.poisson_mixture(4)
    >>> net.latent
    ['pi', 'z', 'rate']
    """
    pi = Dirichlet("pi", alpha, over="component")
    z = Categorical("z", pi, over="component", dims="doc")
    rate = Gamma("rate", *rate_prior, dims=("component", "term"))
    return Network(Poisson("x", z @ rate, dims=("doc", "term")), sizes={"component": components})
