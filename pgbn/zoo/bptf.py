"""Bayesian Poisson tensor factorisation: counts of any number of modes."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Gamma, Mix, Poisson
from pgbn.zoo.arguments import Modes, Positive, Prior, Width


@validated
def bptf(
    width: Width,
    modes: Modes = ("sender", "receiver", "action", "time"),
    alpha: Positive = 0.1,
    beta_prior: Prior = (1.0, 1.0),
) -> Network:
    """y_{i…l} ~ Pois(Σ_k θ¹_ik ⋯ θᴹ_lk), θᵐ_dk ~ Gam(α, α β_m), β_m ~ Gam.

    A component k is a kind of event: who takes part in it, what is done, and when. Data are
    coordinates and values, and all other cells are 0. Nodes: y (dims ``modes``), theta_<mode> and
    beta_<mode> for each mode. α = 0.1 is that of the released code, which sets β_m to one over the
    mean of θᵐ; its prior here is that of pgbn.

    Reference: Schein, Paisley, Blei & Wallach, Bayesian Poisson tensor factorization, KDD 2015.

    Parameters
    ----------
    width : int
        The number of components: K.
    modes : sequence of str
        The names of the modes of the tensor, which are its dims.
    alpha : float
        The shape α of the θ.
    beta_prior : (float, float)
        (shape, rate) of the gamma prior of the β.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.bptf(3, modes=("user", "item", "day"))
    >>> net.latent
    ['beta_user', 'theta_user', 'beta_item', 'theta_item', 'beta_day', 'theta_day']
    """
    factors = []
    for mode in modes:
        beta = Gamma(f"beta_{mode}", *beta_prior)
        factors.append(Gamma(f"theta_{mode}", alpha, alpha * beta, dims=(mode, "component")))
    y = Poisson("y", Mix(factors=tuple(factors), over="component"), dims=tuple(modes))
    return Network(y, sizes={"component": width})
