"""The belief network as a family: what its settings make, and what is kept of its chain."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgbn.engine.run.chain import Chain
from pgbn.network.layers import layers_above
from pgbn.network.network import Network
from pgbn.training.averages import Means, Trace
from pgbn.training.family import Family
from pgbn.training.kept_draws import stacked
from pgbn.training.settings import Settings
from pgbn.training.shares import tokens_of_topics
from pgbn.training.trained import TrainedNetwork, make_network

__all__ = ["belief_family", "belief_network", "family_of", "kept_nodes"]


def belief_family(settings: Settings) -> Family:
    """The networks with the link, the eta and the priors of some settings."""

    def belief(widths: tuple[int, ...]) -> Network:
        # Further layers, which nothing is asked of, have the eta of the topmost.
        eta = (*settings.eta, *settings.eta[-1:] * len(widths))[: len(widths)]
        return make_network(widths, eta, settings.link, settings.priors)

    return Family(belief)


def family_of(settings: Settings) -> Family:
    """The family of networks that is grown: a belief network, unless there is another."""
    return belief_family(settings) if settings.family is None else settings.family


def kept_nodes(network: Network) -> list[str]:
    """Φ^(1…T), and r."""
    layers = layers_above(network, network.observed[0])
    return [*(layer.loadings for layer in layers), _parent(network, layers[-1].scores, "shape")]


def _parent(network: Network, name: str, slot: str) -> str:
    """The node that stands in a slot."""
    return network.wiring.polynomials[name, slot].names[0]


def belief_network(
    chain: Chain, means: Means, samples: int, trace: Trace, settings: Settings
) -> TrainedNetwork:
    """The network at the state of a chain, with means over some samples."""
    network, state, found = chain.network, chain.values, means.over(samples)
    observed = network.observed[0]
    scores = [layer.scores for layer in layers_above(network, observed)]
    *loadings, shapes = kept_nodes(network)
    noise: Any = 1.0
    if "noise" in network[observed].slots():
        noise = state[_parent(network, observed, "noise")]
    return TrainedNetwork(
        phi=tuple(found[name] for name in loadings),
        r=found[shapes],
        c=np.array([np.median(state[_parent(network, name, "rate")]) for name in scores]),
        eta=settings.eta,
        link=settings.link,
        noise=float(noise),
        priors=settings.priors,
        weights=tokens_of_topics(state[name] for name in scores),
        traces=trace.arrays(),
        state=state,
        sweeps=chain.number + chain.sweeps,
        draws=stacked(means.draws),
    )
