"""Deep Poisson–gamma dynamical systems: layers of factors, each with its own transitions."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Dirichlet, Gamma, Self, Shift
from pgbn.nodes.expression import Constant, Expression
from pgbn.zoo import layers
from pgbn.zoo.arguments import Positive, Prior, Widths, observe, per_layer


@validated
def deep_pgds(
    widths: Widths,
    eta: float | Sequence[float] = 0.1,
    epsilon: Positive = 0.1,
    tau: Positive = 1.0,
    gamma0: Positive = 50.0,
    beta_prior: Prior = (0.1, 0.1),
    delta_prior: Prior = (0.1, 0.1),
    link: str = "poisson",
) -> Network:
    """x_t ~ Pois(δ_t Φ¹θ¹_t), θˡ_t ~ Gam(τ(Φˡ⁺¹θˡ⁺¹_t + Πˡθˡ_{t−1}), τ), l < L.

    At the top, θᴸ_t ~ Gam(τ Πᴸθᴸ_{t−1}, τ) and θᴸ_1 ~ Gam(τν, τ), ν_k ~ Gam(γ0/K_L, β); the columns
    φˡ_k ~ Dir(η), πˡ_k ~ Dir(ε), and δ_t, β ~ Gam; L = len(widths). Nodes: x (dims time, term),
    phi1…phiL, theta1…thetaL, pi1…piL (dims previous1, topic1, …), nu, beta, delta. With one layer
    it is `pgds`. The defaults are those of `pgds`: the paper's, except its shrinkage prior of Π.

    Reference: Guo, Chen, Zhang & Zhou, Deep Poisson gamma dynamical systems, NeurIPS 2018.

    Parameters
    ----------
    widths : int or list of int
        The number of topics of each layer, the one nearest to the data first.
    eta : float or list of float
        The concentration η of the topics, for all layers or for each.
    epsilon : float
        The concentration ε of the columns of Π.
    tau : float
        τ: larger values let strengths change more slowly.
    gamma0 : float
        γ0, which says how many topics are used.
    beta_prior : (float, float)
        (shape, rate) of the gamma prior of the β.
    delta_prior : (float, float)
        (shape, rate) of the gamma prior of the δ_t.
    link : str
        What the data are: "poisson" (counts), "bernoulli" (0 and 1) or "gamma" (reals ≥ 0), or a
        link of your own.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.deep_pgds([4, 2])
    >>> net.latent
    ['delta', 'phi1', 'phi2', 'pi2', 'beta', 'nu', 'theta2', 'pi1', 'theta1']
    """
    sizes = {layers.topic(t): width for t, width in enumerate(widths, 1)}
    depth, etas = len(sizes), per_layer(eta, len(sizes), "eta")
    mass = gamma0 / sizes[layers.topic(depth)]
    beta = Gamma("beta", *beta_prior)
    nu = Gamma("nu", mass, beta, dims=layers.topic(depth))
    above: Expression | None = None
    for t in range(depth, 0, -1):
        topic, before, below = layers.topic(t), f"previous{t}", layers.topic(t - 1)
        pi = Dirichlet(f"pi{t}", epsilon, over=topic, dims=before)
        start = nu if above is None else Constant(value=0.0)
        lag: Expression = Shift(pi @ Self(**{topic: before}), along="time", initial=start)
        shape = tau * (lag if above is None else above + lag)
        theta = Gamma(layers.theta(t), shape, tau, dims=("time", topic))
        above = Dirichlet(layers.phi(t), etas[t - 1], over=below, dims=topic) @ theta
    delta = Gamma("delta", *delta_prior, dims="time")
    x = observe(layers.DATA, link, delta * above, ("time", "term"), layers.NOISE, (1.0, 1.0))
    before_sizes = {f"previous{t}": sizes[layers.topic(t)] for t in range(1, depth + 1)}
    return Network(x, sizes=sizes | before_sizes)
