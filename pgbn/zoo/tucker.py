"""Bayesian Poisson Tucker decomposition: communities of each mode, and a core between them."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Gamma, Mix, Poisson
from pgbn.zoo.arguments import ModeWidths, Positive, Prior


@validated
def tucker(
    widths: ModeWidths,
    alpha: Positive = 0.1,
    beta_prior: Prior = (1.0, 1.0),
    core_prior: Prior = (0.1, 1.0),
) -> Network:
    """y_{i…l} ~ Pois(Σ_{c…t} λ_{c…t} θ¹_ic ⋯ θᴹ_lt), θᵐ_dc ~ Gam(α, β_m), β_m and λ ~ Gam.

    Each mode has its own communities; ``widths={"sender": 8, "action": 4, …}`` gives their numbers.
    The core λ says how often they meet. Data are coordinates and values. Nodes: y (dims: the
    modes), lambda (dims <mode>_community), theta_<mode> and beta_<mode> for each mode. The paper
    ties senders and receivers and has a hierarchy above λ; the priors here are those of pgbn.

    Reference: Schein, Zhou, Blei & Wallach, Bayesian Poisson Tucker decomposition, ICML 2016.

    Parameters
    ----------
    widths : dict of str to int
        The number of communities of each mode.
    alpha : float
        The shape α of the θ.
    beta_prior : (float, float)
        (shape, rate) of the gamma prior of the β.
    core_prior : (float, float)
        (shape, rate) of the gamma prior of the core λ.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.tucker({"user": 3, "item": 2})
    >>> net.latent
    ['lambda', 'beta_user', 'theta_user', 'beta_item', 'theta_item']
    """
    own = {mode: f"{mode}_community" for mode in widths}
    core = Gamma("lambda", *core_prior, dims=tuple(own.values()))
    thetas = [
        Gamma(f"theta_{mode}", alpha, Gamma(f"beta_{mode}", *beta_prior), dims=(mode, own[mode]))
        for mode in widths
    ]
    rate = Mix(factors=(core, *thetas), over=tuple(own.values()))
    y = Poisson("y", rate, dims=tuple(widths))
    return Network(y, sizes={own[mode]: width for mode, width in widths.items()})
