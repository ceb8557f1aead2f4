"""Bayesian Poisson Tucker decomposition: communities of each mode, and a core between them."""

from __future__ import annotations

from collections.abc import Mapping

from pgbn.network.network import Network
from pgbn.nodes import Gamma, Mix, Poisson
from pgbn.zoo.arguments import Prior, check_mode_widths, check_positive_number, check_prior


def tucker(
    widths: Mapping[str, int],
    alpha: float = 0.1,
    beta_prior: Prior = (1.0, 1.0),
    core_prior: Prior = (0.1, 1.0),
) -> Network:
    """y_{i…l} ~ Pois(Σ_{c…t} λ_{c…t} θ¹_ic ⋯ θᴹ_lt), θᵐ_dc ~ Gam(α, β_m), β_m and λ ~ Gam.

    Each mode has communities of its own, ``widths={"sender": 8, "action": 4, …}`` of them; the core
    λ says how often they meet. Data are coordinates and values. Nodes: y (dims: the modes), lambda
    (dims <mode>_community), theta_<mode> and beta_<mode> for each mode. The paper ties senders and
    receivers and has a hierarchy above λ; the priors here are ours.

    Reference: Schein, Zhou, Blei & Wallach, Bayesian Poisson Tucker decomposition, ICML 2016.
    """
    sizes = check_mode_widths(widths)
    shape, prior = check_positive_number(alpha, "alpha"), check_prior(beta_prior, "beta_prior")
    own = {mode: f"{mode}_community" for mode in sizes}
    core = Gamma("lambda", *check_prior(core_prior, "core_prior"), dims=tuple(own.values()))
    thetas = [
        Gamma(f"theta_{mode}", shape, Gamma(f"beta_{mode}", *prior), dims=(mode, own[mode]))
        for mode in sizes
    ]
    rate = Mix(factors=(core, *thetas), over=tuple(own.values()))
    y = Poisson("y", rate, dims=tuple(sizes))
    return Network(y, sizes={own[mode]: width for mode, width in sizes.items()})
