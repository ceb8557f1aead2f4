"""Deep Poisson factor analysis: topics under the binary units of a sigmoid belief network."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Bernoulli, Beta, BetaOdds, Dirichlet, Gamma, LogitBernoulli, Normal, Poisson
from pgbn.nodes.base import Latent
from pgbn.zoo.arguments import Positive, Prior, Widths


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

    ``widths`` K1, K2, … are those of the layers, topics first. The top layer is h^T_kj ~ Bern(π_k)
    with π_k ~ Beta. w^t_kl ~ N(0, 1/τ_t), b^t_k ~ N(0, 1/τ_t), τ_t ~ Gam; φ_k ~ Dir(η), r_k ~
    Gam(γ0/K1, c0), p_j ~ Beta. Nodes: x, phi, theta, r, p, c0, gamma0, h1, w1, b1, tau1, h2, …, pi.
    The paper fixes p_j at 1/2 and gives the weights another shrinkage prior; the priors here are
    those of pgbn.

    Reference: Gan, Chen, Henao, Carlson & Carin, Scalable deep Poisson factor analysis for topic
    modeling, ICML 2015.

    Parameters
    ----------
    widths : int or list of int
        The numbers of topics and of units of each layer, topics first.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    pi_prior : (float, float)
        (a, b) of the beta prior of the π_k.
    w_prior : (float, float)
        (shape, rate) of the gamma prior of the precisions τ_t of the weights.
    p_prior : (float, float)
        (a, b) of the beta prior of the p_j.
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
    >>> net = pgbn.zoo.dpfa_sbn([8, 4])
    >>> net.latent
    ['phi', 'gamma0', 'c0', 'r', 'tau1', 'w1', 'pi', 'h2', 'b1', 'h1', 'p', 'theta']
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
