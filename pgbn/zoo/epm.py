"""The edge partition model: overlapping communities of a graph."""

from __future__ import annotations

from pgbn.checks import Flag, validated
from pgbn.network.network import Network
from pgbn.nodes import BernoulliPoisson, Gamma, Poisson, distinct
from pgbn.zoo.arguments import Prior, Width


@validated
def epm(
    width: Width,
    weighted: Flag = False,
    a_prior: Prior = (0.01, 0.01),
    c_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (1.0, 1.0),
) -> Network:
    """b_ij = 1(n_ij ≥ 1), n_ij ~ Pois(Σ_k r_k φ_ik φ_jk) for i < j, φ_ik ~ Gam(a_i, c_i).

    Vertex i belongs to community k by φ_ik, and r_k ~ Gam(γ0/K, c0) says how much community k
    links; a_i, c_i, c0 and γ0 ~ Gam. ``weighted``: the data are the counts n_ij themselves. Give
    each edge once, ``{"x": scipy.sparse.triu(A, 1)}``. Nodes: x (dims i, j), phi (dims vertex,
    community), a, c, r, c0, gamma0. The defaults are those of the released GP_EPM.m.

    Reference: Zhou, Infinite edge partition models for overlapping community detection and link
    prediction, AISTATS 2015.

    Parameters
    ----------
    width : int
        The number of communities: K.
    weighted : bool
        Whether the data are counts n_ij instead of 0 and 1.
    a_prior : (float, float)
        (shape, rate) of the gamma prior of the a_i.
    c_prior : (float, float)
        (shape, rate) of the gamma prior of the rates c.
    c0_prior : (float, float)
        (shape, rate) of the gamma prior of c0, the rate of the r_k.
    gamma0_prior : (float, float)
        (shape, rate) of the gamma prior of γ0, which says how many topics are used.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.epm(4)
    >>> net.latent
    ['gamma0', 'c0', 'r', 'a', 'c', 'phi']
    """
    gamma0 = Gamma("gamma0", *gamma0_prior)
    c0 = Gamma("c0", *c0_prior)
    r = Gamma("r", gamma0 / width, c0, dims="community")
    a = Gamma("a", *a_prior, dims="vertex")
    c = Gamma("c", *c_prior, dims="vertex")
    phi = Gamma("phi", a, c, dims=("vertex", "community"))
    both = phi.rename(vertex="i") * phi.rename(vertex="j")
    link = Poisson if weighted else BernoulliPoisson
    x = link("x", distinct(r @ both, "i", "j"), dims=("i", "j"))
    return Network(x, sizes={"community": width})
