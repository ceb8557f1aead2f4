"""Fewer topics, after an estimator was fitted: `merge` and `reduce`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from pgbn.checks import check_integer
from pgbn.estimators.arguments import validate_documents
from pgbn.estimators.fit import Beginning, unchanged_on_failure
from pgbn.evaluation import groups_for
from pgbn.evaluation.untwinning import SWEEPS, without_twins
from pgbn.training.merging import merge_topics
from pgbn.training.result import LayerwiseTraining
from pgbn.training.settings import Settings
from pgbn.training.trained import TrainedNetwork

__all__ = ["MergedTopics"]


class MergedTopics:
    """The methods of an estimator that make several topics one."""

    training_: LayerwiseTraining

    def merge(self, X: Any, groups: Iterable[Any], layer: int = 1, sweeps: int = 50) -> Self:
        """Make the topics of each group one, and train ``sweeps`` sweeps more on ``X``, the
        documents of `fit`: ``model.merge(X, [(3, 7), (1, 4)], layer=2)``, or, of all twins,
        ``model.merge(X, model.similar_topics(2), layer=2)``.

        Only the deepest network is merged and kept. It is saved, and goes on with ``warm_start``,
        as any other; see `pgbn.merge_topics` for what stays as it was. With ``sweeps=0`` the topics
        are merged and nothing is trained; where there is nothing to merge, all stays as it is.
        """
        check_is_fitted(self)
        sweeps = check_integer("sweeps", sweeps, 0)
        with unchanged_on_failure(self):
            X = validate_documents(self, X, reset=False)
            merged = merge_topics(self.training_, groups, layer)
            before, after = self.training_.widths, merged.widths
            if before == after:
                return self
            trained = self._sweep(X, merged, sweeps) if sweeps else merged
            told = f"{self.training_.stopped}; {before[layer - 1]} topics of layer {layer} were "
            told += f"merged to {after[layer - 1]}"
            estimator: Any = self
            kept = LayerwiseTraining((trained,), told)
            estimator._keep(kept, estimator.link_, estimator._seed, estimator._fixed)
        return self

    def reduce(self, X: Any, to: int, layer: int = 1, sweeps: int = 50) -> Self:
        """Merge the topics of a layer that are most alike until ``to`` are left, see `merge`."""
        check_is_fitted(self)
        return self.merge(X, groups_for(self.training_, to, layer), layer, sweeps)

    def _sweep(
        self, X: Any, merged: TrainedNetwork, sweeps: int, before: Beginning | None = None
    ) -> TrainedNetwork:
        """Some sweeps more, which keep the widths; ``before`` is how `fit` began, if it is not
        over yet."""
        own: Any = self
        seed, fixed = (own._seed, own._fixed) if before is None else before.kept[1:]
        settings = Settings.of(
            max(merged.widths), merged.depth, burn_in=1, collect=sweeps, link=merged.link,
            seed=seed, layer1=own.layer1, min_width=own.min_width, start=merged,
            keep_draws=min(own.keep_draws, sweeps),
        )  # fmt: skip
        trained: TrainedNetwork = own._train(X, Beginning(settings, fixed, (merged,))).deepest
        return trained

    def _without_twins(
        self, training: LayerwiseTraining, X: Any, at: Beginning
    ) -> LayerwiseTraining:
        """With ``merge_twins``, and budgets of its own for each layer, a network without twins."""
        own: Any = self
        if not own.merge_twins or isinstance(at.settings.max_width, int):
            return training
        return without_twins(training, lambda merged: self._sweep(X, merged, SWEEPS, at))
