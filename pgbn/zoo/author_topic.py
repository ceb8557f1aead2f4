"""Topics of authors: documents of an author share their proportions."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Categories, Dirichlet, Gamma, Poisson
from pgbn.zoo.arguments import Positive, Prior, Width


@validated
def author_topic(
    width: Width, alpha: Positive = 0.5, eta: Positive = 0.01, length_prior: Prior = (1.0, 0.01)
) -> Network:
    """x_jv ~ Pois(l_j Σ_k φ_kv θ_{author(j) k}), θ_a ~ Dir(α), φ_k ~ Dir(η), l_j ~ Gam.

    The author of each document is data: ``{"x": X, "author": numbers}``. A document is multinomial
    given its length, as in the paper, but has one author. Nodes: x (dims doc, term), phi, theta
    (dims writer, topic), length. The defaults are those of pgbn (the authors' program takes α and η
    as arguments). The data nearly determine the length.

    Reference: Rosen-Zvi, Griffiths, Steyvers & Smyth, The author-topic model, UAI 2004.

    Parameters
    ----------
    width : int
        The number of topics: K.
    alpha : float
        The concentration α.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    length_prior : (float, float)
        (shape, rate) of the gamma prior of the lengths l_j.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.author_topic(4)
    >>> net.latent
    ['phi', 'length', 'theta']
    """
    author = Categories("author", dims="doc", of="writer")
    length = Gamma("length", *length_prior, dims="doc")
    theta = Dirichlet("theta", alpha, over="topic", dims="writer")
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    x = Poisson("x", phi @ (length * theta[author]), dims=("doc", "term"))
    return Network(x, sizes={"topic": width})
