"""Topics whose use depends on covariates of a document: its year, its source, its length."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Dirichlet, Gamma, LogNormal, Normal, Poisson
from pgbn.zoo.arguments import Features, Positive, Prior, Width


@validated
def covariates(
    width: Width,
    features: Features,
    eta: Positive = 0.05,
    spread_prior: Prior = (1.0, 1.0),
    noise_prior: Prior = (10.0, 1.0),
    c_prior: Prior = (1.0, 1.0),
) -> Network:
    """x_j ~ Pois(Φθ_j), θ_kj ~ Gam(a_kj, c_j), ln a_kj ~ N(b_k + Σ_l f_jl β_lk, 1/τ).

    ``features`` F (documents × covariates) are real numbers: standardised measurements, or 0 and 1.
    β_lk ~ N(0, 1/s_l) says by how much covariate l raises the logarithm of the weight of topic k
    relative to the other topics. c_j contains the length of a document, which all its topics share.
    b_k ~ N(0, 1) is the level of topic k; s_l, τ and c_j ~ Gam, φ_k ~ Dir(η). τ is the precision of
    the noise: the differences between documents that the covariates do not explain. Nodes: x, phi,
    theta, a, beta, bias, spread, noise, c. The priors are those of pgbn.

    The β are drawn jointly. Without the noise they would be in an exponent, which has no conjugate
    update. F belongs to these documents. For new documents build the network with their features,
    and give the learnt nodes (``given=``), as docs/howto/covariates.md shows.

    References: Mimno & McCallum, Topic models conditioned on arbitrary features with
    Dirichlet-multinomial regression, UAI 2008 (without noise, and with Dirichlet proportions);
    Zhou, Li, Dunson & Carin, Lognormal and gamma mixed negative binomial regression, ICML 2012.

    Parameters
    ----------
    width : int
        The number of topics: K.
    features : array
        F: a row for each document, and a column for each covariate.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    spread_prior : (float, float)
        (shape, rate) of the gamma prior of the precisions s_l.
    noise_prior : (float, float)
        (shape, rate) of the gamma prior of τ.
    c_prior : (float, float)
        (shape, rate) of the gamma prior of the rates c.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.covariates(4, features=[[0.0], [1.0], [0.5]])
    >>> net.latent
    ['phi', 'spread', 'beta', 'bias', 'noise', 'a', 'c', 'theta']
    """
    spread = Gamma("spread", *spread_prior, dims="covariate")
    beta = Normal("beta", 0.0, spread, dims=("topic", "covariate"))
    mean = features @ beta + Normal("bias", 0.0, 1.0, dims="topic")
    noise = Gamma("noise", *noise_prior)
    a = LogNormal("a", mean, noise, dims=("doc", "topic"))
    c = Gamma("c", *c_prior, dims="doc")
    theta = Gamma("theta", a, c, dims=("doc", "topic"))
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    x = Poisson("x", phi @ theta, dims=("doc", "term"))
    return Network(x, sizes={"topic": width})
