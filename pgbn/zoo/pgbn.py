"""The Poisson gamma belief network (Zhou, Cong & Chen 2015), for any number of layers."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.errors import NetworkError
from pgbn.network import Network
from pgbn.nodes import BernoulliPoisson, BetaOdds, Dirichlet, Gamma, Poisson, PoissonGamma
from pgbn.nodes.base import Latent, Observed
from pgbn.nodes.expression import Expression

__all__ = ["pfa", "pgbn"]


def pgbn(
    widths: Sequence[int],
    eta: float | Sequence[float] = 0.05,
    p_prior: tuple[float, float] = (0.01, 0.01),
    c_prior: tuple[float, float] = (1.0, 1.0),
    c0_prior: tuple[float, float] = (1.0, 1.0),
    gamma0_prior: tuple[float, float] = (0.01, 0.01),
    link: str = "poisson",
    noise_prior: tuple[float, float] = (1.0, 1.0),
) -> Network:
    """T = len(widths) layers; the defaults are the paper's. Nodes: x, phi1…phiT, theta1…thetaT,
    r, gamma0, c0, p2, c3…c{T+1}, and ``noise`` if link="gamma"."""
    widths, etas = list(widths), _per_layer(eta, len(list(widths)))
    depth = len(widths)
    gamma0 = Gamma("gamma0", *gamma0_prior)
    c0 = Gamma("c0", *c0_prior)
    shape: Expression = Gamma("r", gamma0 / widths[-1], c0, dims=f"topic{depth}")
    for t in range(depth, 0, -1):
        topic, below = f"topic{t}", f"topic{t - 1}" if t > 1 else "term"
        rate: Latent = BetaOdds("p2", *p_prior, dims="doc")
        if t > 1:
            rate = Gamma(f"c{t + 1}", *c_prior, dims="doc")
        theta = Gamma(f"theta{t}", shape, rate, dims=("doc", topic))
        shape = Dirichlet(f"phi{t}", etas[t - 1], over=below, dims=topic) @ theta
    x = _observe(link, shape, noise_prior)
    return Network(x, sizes={f"topic{t}": width for t, width in enumerate(widths, 1)})


def pfa(
    width: int,
    eta: float = 0.05,
    p_prior: tuple[float, float] = (0.01, 0.01),
    c0_prior: tuple[float, float] = (1.0, 1.0),
    gamma0_prior: tuple[float, float] = (0.01, 0.01),
    link: str = "poisson",
) -> Network:
    """Poisson factor analysis with the gamma–negative binomial process (Zhou & Carin 2015):
    the network of one layer."""
    gamma0 = Gamma("gamma0", *gamma0_prior)
    c0 = Gamma("c0", *c0_prior)
    r = Gamma("r", gamma0 / width, c0, dims="topic1")
    p2 = BetaOdds("p2", *p_prior, dims="doc")
    theta = Gamma("theta1", r, p2, dims=("doc", "topic1"))
    phi = Dirichlet("phi1", eta, over="term", dims="topic1")
    return Network(_observe(link, phi @ theta, (1.0, 1.0)), sizes={"topic1": width})


def _observe(link: str, rate: Expression, noise_prior: tuple[float, float]) -> Observed:
    dims = ("doc", "term")
    if link == "poisson":
        return Poisson("x", rate, dims=dims)
    if link == "bernoulli":
        return BernoulliPoisson("x", rate, dims=dims)
    if link == "gamma":
        return PoissonGamma("x", rate, Gamma("noise", *noise_prior), dims=dims)
    raise NetworkError(f"link={link!r}: must be 'poisson', 'bernoulli' or 'gamma'")


def _per_layer(eta: float | Sequence[float], depth: int) -> list[float]:
    if depth == 0:
        raise NetworkError("widths=[]: give the width of at least one layer, e.g. widths=[100]")
    etas = [eta] * depth if isinstance(eta, (int, float)) else list(eta)
    if len(etas) != depth:
        raise NetworkError(f"eta={eta!r}: give one number, or one for each of {depth} layers")
    return [float(value) for value in etas]
