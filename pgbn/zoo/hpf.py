"""Hierarchical Poisson factorisation: ratings, purchases, counts of genes in cells."""

from __future__ import annotations

from typing import Any

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Gamma, Poisson
from pgbn.nodes.expression import Constant, Expression
from pgbn.zoo.arguments import Positive, Prior, Width


@validated
def hpf(
    width: Width,
    shape: Positive = 0.3,
    activity_prior: Prior = (0.3, 0.3),
    popularity_prior: Prior = (0.3, 0.3),
    size_factors: Any = None,
) -> Network:
    """y_ui ~ Pois(s_u Σ_k θ_uk β_ik), θ_uk ~ Gam(a, ξ_u), β_ik ~ Gam(a, η_i), ξ_u, η_i ~ Gam.

    Users differ in activity, items in popularity, and zeros cost nothing. ``size_factors`` has one
    positive number s_u for each row, 1 by default: the depths of cells in single-cell counts (users
    are then cells, items genes). Nodes: y (dims user, item), theta, beta, xi, eta. The shapes and
    rates of 0.3 are those of the released hgaprec.

    References: Gopalan, Hofman & Blei, UAI 2015; Levitin et al., scHPF, 2019.

    Parameters
    ----------
    width : int
        The number of factors: K.
    shape : float
        The shape a of θ and β.
    activity_prior : (float, float)
        (shape, rate) of the gamma prior of the ξ_u.
    popularity_prior : (float, float)
        (shape, rate) of the gamma prior of the η_i.
    size_factors : array, optional
        The s_u, one positive number for each row. The default is 1.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.hpf(4)
    >>> net.latent
    ['xi', 'theta', 'eta', 'beta']
    """
    a = shape
    xi = Gamma("xi", *activity_prior, dims="user")
    eta = Gamma("eta", *popularity_prior, dims="item")
    theta = Gamma("theta", a, xi, dims=("user", "factor"))
    rate: Expression = theta @ Gamma("beta", a, eta, dims=("item", "factor"))
    if size_factors is not None:
        rate = Constant(value=size_factors, dims="user") * rate
    y = Poisson("y", rate, dims=("user", "item"))
    return Network(y, sizes={"factor": width})
