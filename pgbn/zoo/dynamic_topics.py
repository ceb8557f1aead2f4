"""Dynamic topics: topics that change from one time to the next, a chain of Dirichlets each."""

from __future__ import annotations

from typing import Any

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import BetaOdds, Categories, Dirichlet, Gamma, Poisson, Self, Shift
from pgbn.zoo.arguments import Positive, Prior, Width


@validated
def dynamic_topics(
    width: Width,
    eta: Positive = 0.1,
    kappa_prior: Prior = (1.0, 0.01),
    r_prior: Prior = (1.0, 1.0),
    p_prior: Prior = (0.01, 0.01),
    period: Any = None,
) -> Network:
    """x_j ~ Pois(Σ_k φ_{t(j),k} θ_jk), φ_1k ~ Dir(η), φ_tk ~ Dir(κ_k φ_{t−1,k}).

    Document j was written at time t(j), a number from 0 on that is given with the data as
    ``period``, or here. A topic with a larger κ_k ~ Gam changes more slowly: its entries have the
    variance φ (1 − φ) / (κ_k + 1) from one time to the next. The topic weights are those of Poisson
    factor analysis, θ_jk ~ Gam(r_k, (1−p_j)/p_j) and r_k ~ Gam. Nodes: x (dims doc, term), phi
    (dims time, topic, term), kappa, theta, r, p. The defaults are those of pgbn.

    Reference: the chain of Dirichlets is that of Iwata, Watanabe, Yamada & Ueda, Topic tracking
    model for analyzing consumer purchase behavior, IJCAI 2009; here it is drawn, not estimated.

    Parameters
    ----------
    width : int
        The number of topics: K.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    kappa_prior : (float, float)
        (shape, rate) of the gamma prior of the κ_k.
    r_prior : (float, float)
        (shape, rate) of the gamma prior of the r.
    p_prior : (float, float)
        (a, b) of the beta prior of the p_j.
    period : array of int, optional
        The times t(j) of the documents. By default they are given with the data.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.dynamic_topics(4)
    >>> net.latent
    ['kappa', 'phi', 'r', 'p', 'theta']
    """
    kappa = Gamma("kappa", *kappa_prior, dims="topic")
    walk = Shift(kappa * Self(), along="time", initial=eta)
    phi = Dirichlet("phi", walk, over="term", dims=("time", "topic"))
    r = Gamma("r", *r_prior, dims="topic")
    p = BetaOdds("p", *p_prior, dims="doc")
    theta = Gamma("theta", r, p, dims=("doc", "topic"))
    written = Categories("period", dims="doc", of="time", values=period)
    return Network(Poisson("x", phi[written] @ theta, dims=("doc", "term")), sizes={"topic": width})
