"""Belief networks from point estimates: topics in seconds, to look at and to continue by Gibbs.

`pgbn.Network.estimate` replaces every draw of a sweep by its expectation. Here its result becomes a
`TrainedNetwork`. All layers are estimated together. Topics without a token are removed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pgbn.training.numbering import numbered_by_weight
from pgbn.training.settings import Settings
from pgbn.training.surgery import prune
from pgbn.training.trained import TrainedNetwork, make_network, tokens_of_topics
from pgbn.training.training_result import LayerwiseTraining
from pgbn.zoo import layers
from pgbn.zoo.links import get_link

_LEAST = 1.0  # tokens of a topic that stays


def train_estimate(X: Any, settings: Settings, threads: int | None = None) -> LayerwiseTraining:
    """A training whose one network is the estimate of a belief network with the largest widths of
    the settings, by at most as many sweeps as the last layer has after pruning."""
    most = settings.max_width
    widths = (most,) * settings.depth if isinstance(most, int) else tuple(most)
    network = make_network(widths, settings.eta, settings.link, settings.priors)
    point = network.estimate(
        {layers.DATA: X}, sweeps=settings.sweeps[-1], seed=settings.seed, threads=threads
    )
    state = {name: point[name][0, 0] for name in point}
    weights = _weights(state, len(widths))
    for t, weight in enumerate(weights, 1):
        active = weight >= _LEAST
        active[np.argmax(weight)] = True
        masses = (layers.GAMMA0,) if t == len(widths) else ()
        if not active.all():
            state, _ = prune(network, state, layers.topic(t), active, rescale=masses)
            widths = (*widths[: t - 1], int(active.sum()), *widths[t:])
            network = make_network(widths, settings.eta, settings.link, settings.priors)
    facts = point.attributes
    ended = "came to rest" if facts["converged"] else "was stopped"
    trained = _trained(network, state, settings, facts["sweeps"])
    return LayerwiseTraining((trained,), f"an estimate that {ended} after {facts['sweeps']} sweeps")


def _weights(state: dict[str, Any], depth: int) -> tuple[Any, ...]:
    return tokens_of_topics(state[layers.theta(t)] for t in range(1, depth + 1))


def _trained(
    network: Any, state: dict[str, Any], settings: Settings, sweeps: int
) -> TrainedNetwork:
    depth = sum(1 for name in state if name.startswith("phi"))
    shared = [*(layers.phi(t) for t in range(1, depth + 1)), layers.TOP_SHAPE]
    if get_link(settings.link).noise:
        shared.append(layers.NOISE)
    trained = TrainedNetwork(
        network=network,
        layers=tuple(layers.topic(t) for t in range(1, depth + 1)),
        means={name: state[name] for name in shared},
        state=state,
        sweeps=sweeps,
        link=settings.link,
        priors=settings.priors,
        c=np.array([np.median(state[layers.rate(t)]) for t in range(2, depth + 2)]),
        weights=_weights(state, depth),
    )
    return numbered_by_weight(trained)
