"""The Poisson-randomised gamma dynamical system: factors that switch on and off."""

from __future__ import annotations

from pgbn.checks import is_finite_number, validated
from pgbn.errors import NetworkError
from pgbn.network.network import Network
from pgbn.nodes import Dirichlet, Gamma, Poisson, RandomisedGamma, Self, Shift
from pgbn.zoo.arguments import Positive, PositiveOrPrior, Prior, Width


@validated
def prgds(
    width: Width,
    offset: float = 0.0,
    eta: Positive = 0.1,
    epsilon: Positive = 1.0,
    tau: PositiveOrPrior = 1.0,
    gamma0_prior: Prior = (10.0, 10.0),
    delta_prior: Prior = (0.1, 0.1),
) -> Network:
    """x_t ~ Pois(δ_t Σ_k ν_k φ_k θ_tk), θ_tk ~ Gam(ε + h_tk, τ), h_tk ~ Pois(τ Σ_l π_kl θ_{t−1,l}).

    ε is ``offset``. With 0, a strength θ_tk is exactly 0 if its hidden count h_tk is 0, so that a
    factor can switch off. θ_0k = ν_k ~ Gam(ε/K + g_k, 1), g_k ~ Pois(γ0/K), is the weight of factor
    k; φ_k ~ Dir(η) over terms, π_l ~ Dir over topics, δ_t and γ0 ~ Gam. The hidden counts are not
    kept: θ and ν are drawn with them. Nodes: x (dims time, term), phi, theta, pi (dims previous,
    topic), nu, delta, gamma0.

    τ is a number or, given as a pair (shape, rate), a node tau ~ Gam. Two slots of θ contain it, so
    it is drawn by slice sampling. Offset, γ0 and δ are those of the released code. That code also
    draws τ and the rate of ν, which is 1 here. η and ``epsilon``, the prior of Π, are those of
    pgbn.

    Reference: Schein, Linderman, Zhou, Blei & Wallach, Poisson-randomized gamma dynamical systems,
    NeurIPS 2019.

    Parameters
    ----------
    width : int
        The number of topics: K.
    offset : float
        The ε in the shape of θ, at least 0.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    epsilon : float
        The concentration of the columns of Π.
    tau : float or (float, float)
        τ, or (shape, rate) of its gamma prior.
    gamma0_prior : (float, float)
        (shape, rate) of the gamma prior of γ0, which says how many topics are used.
    delta_prior : (float, float)
        (shape, rate) of the gamma prior of the δ_t.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.prgds(4)
    >>> net.latent
    ['delta', 'phi', 'gamma0', 'nu', 'pi', 'theta']
    """
    scale = Gamma("tau", *tau, update="slice") if isinstance(tau, tuple) else tau
    gamma0 = Gamma("gamma0", *gamma0_prior)
    if not is_finite_number(offset) or offset < 0:
        raise NetworkError(f"offset={offset!r:.60}: must be a number of at least 0")
    nu = RandomisedGamma("nu", gamma0 / width, 1.0, offset=offset / width, dims="topic")
    pi = Dirichlet("pi", epsilon, over="topic", dims="previous")
    walk = Shift(pi @ Self(topic="previous"), along="time", initial=nu)
    theta = RandomisedGamma("theta", scale * walk, scale, offset=offset, dims=("time", "topic"))
    delta = Gamma("delta", *delta_prior, dims="time")
    phi = Dirichlet("phi", eta, over="term", dims="topic")
    x = Poisson("x", delta * (phi @ (nu * theta)), dims=("time", "term"))
    return Network(x, sizes={"topic": width})
