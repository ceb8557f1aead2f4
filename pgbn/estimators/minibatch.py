"""Estimators that learn from some documents at a time: ``learning="minibatch"``, `partial_fit`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from pgbn.errors import DataError
from pgbn.estimators.arguments import check_settings, read_executor, validate_documents
from pgbn.estimators.fit import Beginning, begin_fit, unchanged_on_failure
from pgbn.network.layers import layers_above
from pgbn.storage.blocks import Corpus
from pgbn.training.belief import family_of
from pgbn.training.minibatch.arriving import Arriving
from pgbn.training.minibatch.learner import Learner
from pgbn.training.minibatch.train import MinibatchEvent, train_minibatch
from pgbn.training.per_layer import budgets
from pgbn.training.result import LayerwiseTraining
from pgbn.training.trained import TrainedNetwork

__all__ = ["Minibatches"]

ROWS = "doc"


class Minibatches:
    """Adds the ways to learn that do not need all documents at once."""

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents that arrive later, beside all that were seen before: a step for
        every ``batch_size`` of them. It goes on from `fit`; without one, the first documents are
        sampled by Gibbs, and widths are those of ``max_width``."""
        own: Any = self
        with unchanged_on_failure(self):
            check_settings(own)
            fitted = hasattr(self, "training_")
            X = sp.csr_array(validate_documents(own, X, reset=not fitted))
            if not fitted:
                self._begin_arriving(begin_fit(own, X, False))
            elif getattr(self, "_arriving_from", None) is not own.training_:
                self._arrive_after(own.training_.deepest, X)
            network = self._arriving.learn(X)
            seen = f"{self._arriving.seen} documents seen"
            own._keep(LayerwiseTraining((network,), seen), *self._arriving_kept)
            self._arriving_from = own.training_
        return self

    def _arrive_after(self, network: TrainedNetwork, X: Any) -> None:
        """Go on from the last state of a chain, with steps as short as after so many sweeps."""
        own: Any = self
        at = begin_fit(own, X, False)
        settings = replace(at.settings, eta=network.eta, depth=network.depth)
        executor = read_executor(own)
        learner = Learner(family_of(settings).network(network.widths), ROWS, own._seed,
                          executor=executor)  # fmt: skip
        names, state = learner.roles.shared, network.state
        scores = layers_above(learner.network, learner.network.observed[0])[0].scores
        if not {*names, scores} <= set(state):
            raise DataError(
                "partial_fit: the state of this model was not kept (a file of a training on "
                "minibatches has none); begin with partial_fit, or fit anew"
            )
        learner.values = {name: np.array(state[name], order="C") for name in names}
        learner.steps = network.sweeps
        self._arriving = Arriving(learner, settings, int(own.batch_size), len(state[scores]))
        self._arriving_kept = (own.link_, own._seed, own._fixed)

    def _begin_arriving(self, at: Beginning, learner: Learner | None = None, seen: int = 0) -> None:
        own: Any = self
        if learner is None:
            network = family_of(at.settings).network(_widths(at))
            executor = read_executor(own)
            learner = Learner(network, ROWS, at.settings.seed, executor=executor)
        self._arriving = Arriving(learner, at.settings, int(own.batch_size), seen)
        self._arriving_kept = at.kept

    def _fit_minibatches(self, X: Any) -> None:
        """Train on minibatches of a corpus, which may be larger than memory, or of a matrix."""
        own: Any = self
        if own.warm_start:
            raise DataError("warm_start=True: for learning='gibbs'; partial_fit learns from more")
        if isinstance(X, Corpus):
            own.n_features_in_ = X.shape[1]
        else:
            X = validate_documents(own, X, reset=True)
        at = begin_fit(own, X.block(0) if isinstance(X, Corpus) else X, False)
        if len(set(at.settings.burn_in)) > 1 or len(set(at.settings.collect)) > 1:
            raise DataError("burn_in, collect: one number of steps, as all layers learn together")
        burn_in, collect = at.settings.burn_in[0], at.settings.collect[0]
        last: list[MinibatchEvent] = []
        network = train_minibatch(
            X, _widths(at), eta=at.settings.eta, link=at.settings.link, priors=own.priors,
            batch_size=own.batch_size, steps=burn_in + collect, collect=collect,
            keep_draws=own.keep_draws, seed=at.settings.seed, threads=read_executor(own).workers,
            progress=bool(own.verbose), callback=last.append,
        )  # fmt: skip
        training = LayerwiseTraining((network,), f"{burn_in + collect} minibatches")
        own._keep(training, *at.kept)
        self._begin_arriving(at, last[-1].learner, X.shape[0])
        self._arriving_from = own.training_


def _widths(at: Beginning) -> tuple[int, ...]:
    """One width for all layers, or one for each."""
    width, depth = at.settings.max_width, at.settings.depth
    found = budgets("max_width", width, depth)
    return (found,) * depth if isinstance(found, int) else tuple(found)
