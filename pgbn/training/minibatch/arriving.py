"""Documents that arrive one batch after another, of which nobody knows how many there will be.

Of the documents seen so far, N, the new ones are a minibatch: what they say counts N/n times. The
first batch is sampled by Gibbs.
"""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp

from pgbn.training.minibatch.learner import Learner
from pgbn.training.minibatch.local import Local
from pgbn.training.minibatch.result import network_of
from pgbn.training.settings import Settings
from pgbn.training.trained import TrainedNetwork

__all__ = ["Arriving"]

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
