"""The trained network at the state of a learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pgbn.training.averages import Means, Trace
from pgbn.training.belief import belief_network, kept_nodes
from pgbn.training.minibatch.learner import Learner
from pgbn.training.minibatch.local import Local
from pgbn.training.settings import Settings
from pgbn.training.trained import TrainedNetwork

__all__ = ["network_of"]


def network_of(
    learner: Learner,
    local: Local,
    model: Settings,
    scale: float,
    means: Means | None = None,
    samples: int = 1,
    vocabulary: Sequence[str] | None = None,
) -> TrainedNetwork:
    """With means over some samples, or those of now; rates and weights are of the last minibatch,
    of whose rows there are ``scale`` times as many in all."""
    if means is None:
        means = Means({name: learner.mean(name) for name in kept_nodes(learner.network)})
    found = belief_network(local.chain, means, samples, Trace(0), model)
    return replace(
        found,
        weights=tuple(scale * weight for weight in found.weights),
        traces={},
        state={},
        sweeps=learner.steps,
        vocabulary=vocabulary,
    )
