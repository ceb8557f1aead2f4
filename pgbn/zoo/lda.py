"""Latent Dirichlet allocation, and its hierarchical Dirichlet process."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Dirichlet, Gamma, Multinomial
from pgbn.zoo.arguments import Positive, Prior, Total, Width


@validated
def lda(
    width: Width, alpha: Positive | None = None, eta: Positive = 0.1, total: Total = None
) -> Network:
    """x_j ~ Mult(N_j, Φθ_j), θ_j ~ Dir(α), φ_k ~ Dir(η); α = 50/K by default.

    Nodes: x, phi, theta. ``total`` gives the length N_j of generated documents (a number, or one
    for each document); observed data have their own lengths.

    References: Blei, Ng & Jordan, JMLR 3, 2003; the defaults are those of Griffiths & Steyvers,
    PNAS 101, 2004.

    Parameters
    ----------
    width : int
        The number of topics: K.
    alpha : float, optional
        The concentration α of the topic weights, by default 50/K.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    total : int or array, optional
        The lengths N_j of generated documents. Observed data have their own.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.lda(4)
    >>> net.latent
    ['phi', 'theta']
    """
    each = 50 / width if alpha is None else alpha
    theta = Dirichlet("theta", each, over="topic", dims="doc")
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    x = Multinomial("x", phi @ theta, over="term", dims="doc", total=total)
    return Network(x, sizes={"topic": width})


@validated
def hdp_lda(
    width: Width,
    alpha_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (1.0, 0.1),
    eta: Positive = 0.5,
    total: Total = None,
) -> Network:
    """x_j ~ Mult(N_j, Φθ_j), θ_j ~ Dir(απ), π ~ Dir(γ0/K), φ_k ~ Dir(η); α, γ0 ~ Gam.

    The hierarchical Dirichlet process truncated to K = ``width`` topics (its weak limit). Nodes:
    x, phi, theta, alpha, pi, gamma0. ``total``: see `lda`.

    Reference: Teh, Jordan, Beal & Blei, Hierarchical Dirichlet processes, JASA 101, 2006, whose
    priors are the defaults.

    Parameters
    ----------
    width : int
        The number of topics: K.
    alpha_prior : (float, float)
        (shape, rate) of the gamma prior of α.
    gamma0_prior : (float, float)
        (shape, rate) of the gamma prior of γ0, which says how many topics are used.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    total : int or array, optional
        The lengths N_j of generated documents. Observed data have their own.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.hdp_lda(4)
    >>> net.latent
    ['phi', 'alpha', 'gamma0', 'pi', 'theta']
    """
    gamma0 = Gamma("gamma0", *gamma0_prior)
    pi = Dirichlet("pi", gamma0 / width, over="topic")
    alpha = Gamma("alpha", *alpha_prior)
    theta = Dirichlet("theta", alpha * pi, over="topic", dims="doc")
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    x = Multinomial("x", phi @ theta, over="term", dims="doc", total=total)
    return Network(x, sizes={"topic": width})
