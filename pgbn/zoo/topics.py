"""Topic models: documents × terms, with what is known of the documents or of their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pgbn.checks import check_integer, numbers, validated
from pgbn.errors import DataError
from pgbn.network.network import Network
from pgbn.nodes import (
    Bernoulli,
    Beta,
    BetaOdds,
    Categories,
    Dirichlet,
    Gamma,
    LogitBernoulli,
    LogNormal,
    Multinomial,
    Normal,
    Poisson,
    Self,
    Shift,
)
from pgbn.nodes.base import Latent
from pgbn.zoo import layers
from pgbn.zoo.arguments import Features, Positive, Prior, Total, Width, Widths


# Latent Dirichlet allocation, and its hierarchical Dirichlet process.
@validated
def lda(
    width: Width, alpha: Positive | None = None, eta: Positive = 0.1, total: Total = None
) -> Network:
    """x_j ~ Mult(N_j, Φθ_j), θ_j ~ Dir(α), φ_k ~ Dir(η); α = 50/K if left out.

    Nodes: x, phi, theta. ``total`` gives the length N_j of generated documents (a number, or one
    for each document); data bring their own.

    References: Blei, Ng & Jordan, JMLR 3, 2003; the defaults are those of Griffiths & Steyvers,
    PNAS 101, 2004.
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
    """
    gamma0 = Gamma("gamma0", *gamma0_prior)
    pi = Dirichlet("pi", gamma0 / width, over="topic")
    alpha = Gamma("alpha", *alpha_prior)
    theta = Dirichlet("theta", alpha * pi, over="topic", dims="doc")
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    x = Multinomial("x", phi @ theta, over="term", dims="doc", total=total)
    return Network(x, sizes={"topic": width})


# Poisson factor analysis with the beta–negative binomial process.
@validated
def bnbp(
    width: Width, eta: Positive = 0.05, concentration: Positive = 1.0, r_prior: Prior = (1.0, 1.0)
) -> Network:
    """x_j ~ Pois(Φθ_j), θ_kj ~ Gam(r_j, (1−p_k)/p_k), p_k ~ Beta(cε, c(1−ε)), φ_k ~ Dir(η).

    A shape r_j ~ Gam for each document and a probability for each topic; c is ``concentration``
    and ε = 1/K (½ for a single topic, where 1/K would leave no beta). The defaults are ours. Nodes:
    x, phi, theta, r, p.

    References: Zhou, Hannah, Dunson & Carin, AISTATS 2012; Zhou, NIPS 2014.
    """
    c, epsilon = concentration, 1 / max(width, 2)
    r = Gamma("r", *r_prior, dims="doc")
    p = BetaOdds("p", c * epsilon, c * (1 - epsilon), dims="topic")
    theta = Gamma("theta", r, p, dims=("doc", "topic"))
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    return Network(Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": width})


# Negative binomial factor analysis: each count has an overdispersion of its own.
@validated
def nbfa(
    width: Width,
    eta: Positive = 0.05,
    p_prior: Prior = (0.01, 0.01),
    c_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (0.01, 0.01),
) -> Network:
    """x_vj ~ NB(Σ_k φ_vk θ_kj, p_j), as Pois(λ_vj) with λ_vj ~ Gam(Σ_k φ_vk θ_kj, (1−p_j)/p_j).

    θ_kj ~ Gam(r_k, c_j), φ_k ~ Dir(η), r_k ~ Gam(γ0/K, c0): words that come in bursts. λ is as
    large as the data written out. The priors are those of `pfa`. Nodes: x, lam, phi, theta, r, p,
    c, c0, gamma0.

    Reference: Zhou, Nonparametric Bayesian negative binomial factor analysis, Bayesian Analysis
    13, 2018.
    """
    gamma0 = Gamma("gamma0", *gamma0_prior)
    c0 = Gamma("c0", *c0_prior)
    r = Gamma("r", gamma0 / width, c0, dims="topic")
    c = Gamma("c", *c_prior, dims="doc")
    theta = Gamma("theta", r, c, dims=("doc", "topic"))
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    p = BetaOdds("p", *p_prior, dims="doc")
    lam = Gamma("lam", phi @ theta, p, dims=("doc", "term"))
    return Network(Poisson("x", lam, dims=("doc", "term")), sizes={"topic": width})


# Poisson factor analysis in which a binary gate switches each topic on or off.
@validated
def gated_pfa(
    width: Width,
    eta: Positive = 0.05,
    pi_prior: Prior = (1.0, 1.0),
    p_prior: Prior = (0.01, 0.01),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (0.01, 0.01),
) -> Network:
    """x_j ~ Pois(Φθ_j), θ_kj ~ Gam(r_k h_kj, (1−p_j)/p_j), h_kj ~ Bern(π_k), π_k ~ Beta.

    Where the gate h_kj is 0, topic k is absent from document j (θ_kj = 0). φ_k ~ Dir(η),
    r_k ~ Gam(γ0/K, c0). The defaults are those of `pfa`; of π, ours. Nodes: x, phi, theta, h, pi,
    r, p, c0, gamma0.

    Reference: Gan, Chen, Henao, Carlson & Carin, Scalable deep Poisson factor analysis for topic
    modeling, ICML 2015; here with independent gates instead of a sigmoid belief network above.
    """
    gamma0 = Gamma("gamma0", *gamma0_prior)
    c0 = Gamma("c0", *c0_prior)
    r = Gamma("r", gamma0 / width, c0, dims="topic")
    pi = Beta("pi", *pi_prior, dims="topic")
    h = Bernoulli("h", pi, dims=("doc", "topic"))
    p = BetaOdds("p", *p_prior, dims="doc")
    theta = Gamma("theta", r * h, p, dims=("doc", "topic"))
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    return Network(Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": width})


# Deep Poisson factor analysis: topics under the binary units of a sigmoid belief network.
@validated
def dpfa_sbn(
    widths: Widths,
    eta: Positive = 0.05,
    pi_prior: Prior = (1.0, 1.0),
    w_prior: Prior = (1.0, 1.0),
    p_prior: Prior = (0.01, 0.01),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (0.01, 0.01),
) -> Network:
    """x_j ~ Pois(Φθ_j), θ_kj ~ Gam(r_k h¹_kj, (1−p_j)/p_j), h^t_j ~ Bern(σ(W^t h^{t+1}_j + b^t)).

    ``widths`` K1, K2, … are those of the layers, topics first; of the top, h^T_kj ~ Bern(π_k) with
    π_k ~ Beta. w^t_kl ~ N(0, 1/τ_t), b^t_k ~ N(0, 1/τ_t), τ_t ~ Gam; φ_k ~ Dir(η), r_k ~ Gam(γ0/K1,
    c0), p_j ~ Beta. Nodes: x, phi, theta, r, p, c0, gamma0, h1, w1, b1, tau1, h2, …, pi. The paper
    fixes p_j at 1/2 and gives the weights another shrinkage prior; those here are ours.

    Reference: Gan, Chen, Henao, Carlson & Carin, Scalable deep Poisson factor analysis for topic
    modeling, ICML 2015.
    """
    sizes = {"topic" if t == 1 else f"unit{t}": k for t, k in enumerate(widths, 1)}
    *lower, top = sizes
    pi = Beta("pi", *pi_prior, dims=top)
    h: Latent = Bernoulli(f"h{len(sizes)}", pi, dims=("doc", top))
    for t, dim in reversed(list(enumerate(lower, 1))):
        tau = Gamma(f"tau{t}", *w_prior)
        w = Normal(f"w{t}", 0.0, tau, dims=(dim, h.axes[1]))
        h = LogitBernoulli(f"h{t}", w @ h + Normal(f"b{t}", 0.0, tau, dims=dim), dims=("doc", dim))
    gamma0 = Gamma("gamma0", *gamma0_prior)
    c0 = Gamma("c0", *c0_prior)
    r = Gamma("r", gamma0 / sizes["topic"], c0, dims="topic")
    p = BetaOdds("p", *p_prior, dims="doc")
    theta = Gamma("theta", r * h, p, dims=("doc", "topic"))
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    return Network(Poisson("x", phi @ theta, dims=("doc", "term")), sizes=sizes)


# The Dirichlet belief network: topics whose prior is a mixture of topics of a layer above.
@validated
def dirbn(
    widths: Widths,
    eta: Positive = 0.05,
    c_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (1.0, 1.0),
    r_prior: Prior = (1.0, 1.0),
    p_prior: Prior = (0.01, 0.01),
) -> Network:
    """x_j ~ Pois(Φ¹θ_j), φᵗ_k ~ Dir(Σ_l βᵗ⁺¹_lk φᵗ⁺¹_l), t < T, and φᵀ_l ~ Dir(η).

    The weights are βᵗ_lk ~ Gam(gᵗ_l, cᵗ), gᵗ_l ~ Gam(γᵗ0/K_t, cᵗ0), and cᵗ, cᵗ0, γᵗ0 ~ Gam; the
    scores those of Poisson factor analysis, θ_jk ~ Gam(r_k, (1−p_j)/p_j). All topics are
    distributions over the terms, those of layer t of T = len(widths) more general than those below.
    Nodes: x, phi1…phiT, beta2…betaT (dims topic2, topic1, …), g2…, c2…, c0_2…, gamma0_2…, theta,
    r, p.
    The defaults are ours; of eta, that of the authors' program.

    Reference: Zhao, Du, Buntine & Zhou, Dirichlet belief networks for topic structure learning,
    NeurIPS 2018. Its program draws g, γ0, c0 and c before β, given the old β (and counts tables one
    customer too late): an order that is refused here.
    """
    sizes = {layers.topic(t): width for t, width in enumerate(widths, 1)}
    phi = Dirichlet(layers.phi(len(sizes)), eta, over="term", dims=layers.topic(len(sizes)))
    for t in range(len(sizes), 1, -1):
        topic, below = layers.topic(t), layers.topic(t - 1)
        gamma0 = Gamma(f"gamma0_{t}", *gamma0_prior)
        g = Gamma(f"g{t}", gamma0 / sizes[topic], Gamma(f"c0_{t}", *c0_prior), dims=topic)
        beta = Gamma(f"beta{t}", g, Gamma(f"c{t}", *c_prior), dims=(topic, below))
        phi = Dirichlet(layers.phi(t - 1), beta @ phi, over="term", dims=below)
    r = Gamma("r", *r_prior, dims="topic1")
    p = BetaOdds("p", *p_prior, dims="doc")
    theta = Gamma("theta", r, p, dims=("doc", "topic1"))
    return Network(Poisson("x", phi @ theta, dims=("doc", "term")), sizes=sizes)


# Topics of authors: documents of an author share their proportions.
@validated
def author_topic(
    width: Width, alpha: Positive = 0.5, eta: Positive = 0.01, length_prior: Prior = (1.0, 0.01)
) -> Network:
    """x_jv ~ Pois(l_j Σ_k φ_kv θ_{author(j) k}), θ_a ~ Dir(α), φ_k ~ Dir(η), l_j ~ Gam.

    The author of each document is data: ``{"x": X, "author": numbers}``. Given its length, a
    document is multinomial, as in the paper, here with one author each. Nodes: x (dims doc, term),
    phi, theta (dims writer, topic), length. The defaults are
    ours (the authors' program takes α and η as arguments); the length is nearly known.

    Reference: Rosen-Zvi, Griffiths, Steyvers & Smyth, The author-topic model, UAI 2004.
    """
    author = Categories("author", dims="doc", of="writer")
    length = Gamma("length", *length_prior, dims="doc")
    theta = Dirichlet("theta", alpha, over="topic", dims="writer")
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    x = Poisson("x", phi @ (length * theta[author]), dims=("doc", "term"))
    return Network(x, sizes={"topic": width})


# Topics whose use depends on what is known of a document: its year, its source, its length.
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
    β_lk ~ N(0, 1/s_l) says by how much covariate l raises the logarithm of the weight of topic k,
    beside the other topics: what all topics of a document share, its length, is in c_j. b_k ~ N(0,
    1) is the level of topic k; s_l, τ and c_j ~ Gam, φ_k ~ Dir(η). τ is the precision of what
    documents have beside their covariates. Nodes: x, phi, theta, a, beta, bias, spread, noise, c.
    The priors are ours. Without that noise the β would stand in an exponent alone, where nothing is
    conjugate; with it they are drawn jointly. F belongs to these documents: for new ones build the
    network with theirs, and hold what was learnt (``given=``), as docs/howto/covariates.md shows.

    References: Mimno & McCallum, Topic models conditioned on arbitrary features with
    Dirichlet-multinomial regression, UAI 2008 (without noise, and with Dirichlet proportions);
    Zhou, Li, Dunson & Carin, Lognormal and gamma mixed negative binomial regression, ICML 2012.
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


# Dynamic topics: topics that change from one time to the next, a chain of Dirichlets each.
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
    ``period``, or here. The larger κ_k ~ Gam, the slower topic k moves: its entries have the
    variance φ (1 − φ) / (κ_k + 1) from one time to the next. The scores are those of Poisson factor
    analysis, θ_jk ~ Gam(r_k, (1−p_j)/p_j) and r_k ~ Gam. Nodes: x (dims doc, term), phi (dims
    time, topic, term), kappa, theta, r, p. The defaults are ours.

    Reference: the chain of Dirichlets is that of Iwata, Watanabe, Yamada & Ueda, Topic tracking
    model for analyzing consumer purchase behavior, IJCAI 2009; here it is drawn, not estimated.
    """
    kappa = Gamma("kappa", *kappa_prior, dims="topic")
    walk = Shift(kappa * Self(), along="time", initial=eta)
    phi = Dirichlet("phi", walk, over="term", dims=("time", "topic"))
    r = Gamma("r", *r_prior, dims="topic")
    p = BetaOdds("p", *p_prior, dims="doc")
    theta = Gamma("theta", r, p, dims=("doc", "topic"))
    written = Categories("period", dims="doc", of="time", values=period)
    return Network(Poisson("x", phi[written] @ theta, dims=("doc", "term")), sizes={"topic": width})


# Convolutional Poisson gamma belief network: topics that are short phrases.
@validated
def cpgbn(
    width: Width,
    phrase: Width = 3,
    eta: Positive = 0.05,
    r_prior: Prior = (1.0, 1.0),
    c_prior: Prior = (1.0, 1.0),
) -> Network:
    """x_iv ~ Pois(Σ_k Σ_s φ_ksv θ_{window(i, s) k}), φ_k ~ Dir(η) over all shifts s and terms v.

    Word i of a text is caused by the s-th word of a phrase that began s words before it, at the
    place window(i, s). θ_lk ~ Gam(u_{text(l) k}, c_{text(l)}), u_jk ~ Gam(r_k, 1), r_k, c_j ~ Gam:
    the units u_j of a text say how often it has each phrase. `phrase_windows` makes the data of
    texts. Nodes: x (dims position, term), phi (dims topic, shift, term), theta (dims place, topic),
    u (dims doc, topic), r, c. The priors are ours, and so is that a phrase may begin before a text.

    Reference: Wang, Chen, Xiao & Zhou, Convolutional Poisson gamma belief network, ICML 2019.
    """
    sizes = {"topic": width, "shift": phrase}
    window = Categories("window", dims=("position", "shift"), of="place")
    text = Categories("text", dims="place", of="doc")
    r = Gamma("r", *r_prior, dims="topic")
    c = Gamma("c", *c_prior, dims="doc")
    u = Gamma("u", r, 1.0, dims=("doc", "topic"))
    theta = Gamma("theta", u[text], c[text], dims=("place", "topic"))
    phi = Dirichlet("phi", eta, over=("shift", "term"), dims="topic")
    return Network(Poisson("x", phi @ theta[window], dims=("position", "term")), sizes=sizes)


@validated
def phrase_windows(
    texts: Iterable[Sequence[int]], phrase: Width = 3, terms: int | None = None
) -> dict[str, Any]:
    """The data of `cpgbn`: texts, as the numbers of their words in order, one after another.

    A text of n words has n positions and n + phrase − 1 places at which a phrase may begin.
    """
    words = [_word_numbers(text) for text in texts] if np.iterable(texts) else []
    if not words:
        raise DataError("texts: give the numbers of the words of at least one")
    every = np.concatenate(words)
    lengths = np.array([each.size for each in words])
    doc = np.repeat(np.arange(lengths.size), lengths)
    first = np.arange(every.size) + doc * (phrase - 1)  # each text has so many places more
    size = int(every.max()) + 1 if terms is None else check_integer("terms", terms, 1)
    if size <= every.max():
        raise DataError(f"terms={terms!r}: a word has the number {every.max()}")
    x = csr_array((np.ones(every.size, np.int64), every, np.arange(every.size + 1)),
                  shape=(every.size, size))  # fmt: skip
    text = np.repeat(np.arange(lengths.size), lengths + phrase - 1)
    return {"x": x, "window": first[:, None] + np.arange(phrase - 1, -1, -1), "text": text}


def _word_numbers(text: Any) -> NDArray[np.int64]:
    """The words of a text: whole numbers from 0 on, one at least."""
    found = numbers("texts: a text", text)
    whole = found.dtype.kind in "iu" or bool((np.mod(found, 1) == 0).all())
    if (
        found.ndim != 1
        or not found.size
        or not whole
        or not 0 <= found.min() <= found.max() < 2**31
    ):
        raise DataError(
            f"texts: {text!r:.60}: give the numbers, from 0 on, of the words of each, at least one"
        )
    return found.astype(np.int64)
