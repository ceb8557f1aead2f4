"""The edge partition model with links between communities."""

from __future__ import annotations

from pgbn.checks import Flag, validated
from pgbn.network.network import Network
from pgbn.nodes import BernoulliPoisson, Gamma, Mix, Poisson, distinct
from pgbn.zoo.arguments import PositiveOrPrior, Prior, Width


@validated
def hgp_epm(
    width: Width,
    weighted: Flag = False,
    gamma0: PositiveOrPrior = 1.0,
    a_prior: Prior = (0.01, 0.01),
    c_prior: Prior = (1.0, 1.0),
    xi_prior: Prior = (0.01, 0.01),
    beta_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
) -> Network:
    """b_ij = 1(n_ij ≥ 1), n_ij ~ Pois(Σ_kl φ_ik λ_kl φ_jl) for i < j, φ_ik ~ Gam(a_i, c_i).

    λ_kl = λ_lk says how much communities k and l link: λ_kk ~ Gam(ξ r_k, β) is the node within,
    λ_kl ~ Gam(r_k r_l, β) for k < l the node between; r_k ~ Gam(γ0/K, c0), and a_i, c_i, ξ, β, c0
    ~ Gam. γ0 is a number or, given as a pair (shape, rate), a node gamma0 ~ Gam. The r_k are
    coupled and cannot be integrated out, so gamma0 is drawn by slice sampling given them. The data
    are as in `epm`. Nodes: x (dims i, j), phi (dims vertex, community), a, c, within, between (dims
    community, other), r, xi, beta, c0, gamma0. The defaults are those of the released HGP_EPM.m,
    with its first γ0.

    Reference: Zhou, Infinite edge partition models for overlapping community detection and link
    prediction, AISTATS 2015.

    Parameters
    ----------
    width : int
        The number of communities: K.
    weighted : bool
        Whether the data are counts n_ij instead of 0 and 1.
    gamma0 : float or (float, float)
        γ0, or (shape, rate) of its gamma prior.
    a_prior : (float, float)
        (shape, rate) of the gamma prior of the a_i.
    c_prior : (float, float)
        (shape, rate) of the gamma prior of the rates c.
    xi_prior : (float, float)
        (shape, rate) of the gamma prior of ξ.
    beta_prior : (float, float)
        (shape, rate) of the gamma prior of the β.
    c0_prior : (float, float)
        (shape, rate) of the gamma prior of c0, the rate of the r_k.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.hgp_epm(4)
    >>> net.latent
    ['xi', 'c0', 'r', 'beta', 'within', 'a', 'c', 'phi', 'between']
    """
    c0 = Gamma("c0", *c0_prior)
    mass = Gamma("gamma0", *gamma0, update="slice") if isinstance(gamma0, tuple) else gamma0
    r = Gamma("r", mass / width, c0, dims="community")
    xi = Gamma("xi", *xi_prior)
    beta = Gamma("beta", *beta_prior)
    within = Gamma("within", xi * r, beta, dims="community")
    pairs = distinct(r * r.rename(community="other"), "community", "other")
    between = Gamma("between", pairs, beta, dims=("community", "other"))
    a = Gamma("a", *a_prior, dims="vertex")
    c = Gamma("c", *c_prior, dims="vertex")
    phi = Gamma("phi", a, c, dims=("vertex", "community"))
    i, j = phi.rename(vertex="i"), phi.rename(vertex="j")
    ways = i * j.rename(community="other") + i.rename(community="other") * j
    over = ("community", "other")
    rate = within @ (i * j) + Mix(factors=(between, ways), over=over)
    link = Poisson if weighted else BernoulliPoisson
    x = link("x", distinct(rate, "i", "j"), dims=("i", "j"))
    return Network(x, sizes={"community": width})
