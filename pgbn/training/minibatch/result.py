"""The trained network at the state of a learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import scipy.sparse as sp

from pgbn.training.averages import Means, Trace
from pgbn.training.growing import kept_nodes, trained_at
from pgbn.training.minibatch.learner import Learner, Local
from pgbn.training.settings import Settings
from pgbn.training.trained import TrainedNetwork


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
    found = trained_at(local.chain, means, samples, Trace(0), model)
    return replace(
        found,
        weights=tuple(scale * weight for weight in found.weights),
        traces={},
        state={},
        sweeps=learner.steps,
        vocabulary=vocabulary,
    )


# ---- arriving -----------------------------------------------------------------------------------
#
# Documents that arrive one batch after another, of which nobody knows how many there will be.
#
# Of the documents seen so far, N, the new ones are a minibatch: what they say counts N/n times.
# The first batch is sampled by Gibbs.


BEGIN_SWEEPS = 100


@dataclass
class Arriving:
    """A learner of a belief network, and the documents ``seen`` so far; ``size`` of them at most
    are a minibatch."""

    learner: Learner
    model: Settings
    size: int
    seen: int = 0

    def learn(self, X: sp.csr_array) -> TrainedNetwork:
        """The network after some documents more."""
        observed, local = self.learner.network.observed[0], None
        self.seen += X.shape[0]
        if not self.learner.has_begun:
            self.learner.begin({observed: X}, 1.0, BEGIN_SWEEPS)
        for start in range(0, X.shape[0], self.size):
            batch = sp.csr_array(X[start : start + self.size])
            local = self.learner.step({observed: batch}, self.seen / batch.shape[0])
        assert isinstance(local, Local)
        rows = local.chain.program.cells[observed].rows
        return network_of(self.learner, local, self.model, self.seen / rows)
