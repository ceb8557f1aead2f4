"""Poisson factor analysis with the beta–negative binomial process."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import BetaOdds, Dirichlet, Gamma, Poisson
from pgbn.zoo.arguments import Positive, Prior, Width


@validated
def bnbp(
    width: Width, eta: Positive = 0.05, concentration: Positive = 1.0, r_prior: Prior = (1.0, 1.0)
) -> Network:
    """x_j ~ Pois(Φθ_j), θ_kj ~ Gam(r_j, (1−p_k)/p_k), p_k ~ Beta(cε, c(1−ε)), φ_k ~ Dir(η).

    Each document has a shape r_j ~ Gam, and each topic a probability. c is ``concentration`` and
    ε = 1/K (½ for a single topic, since 1/K would leave no beta). The defaults are those of pgbn.
    Nodes: x, phi, theta, r, p.

    References: Zhou, Hannah, Dunson & Carin, AISTATS 2012; Zhou, NIPS 2014.

    Parameters
    ----------
    width : int
        The number of topics: K.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    concentration : float
        c of the beta prior of the p_k.
    r_prior : (float, float)
        (shape, rate) of the gamma prior of the r.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.bnbp(4)
    >>> net.latent
    ['phi', 'r', 'p', 'theta']
    """
    c, epsilon = concentration, 1 / max(width, 2)
    r = Gamma("r", *r_prior, dims="doc")
    p = BetaOdds("p", c * epsilon, c * (1 - epsilon), dims="topic")
    theta = Gamma("theta", r, p, dims=("doc", "topic"))
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    return Network(Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": width})
