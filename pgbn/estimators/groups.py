"""How the shares of topics go with what else is known of documents: classes, time, covariates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pgbn.errors import DataError
from pgbn.estimators.arguments import read_executor, validate_documents
from pgbn.estimators.frames import data_frame, long_frame
from pgbn.evaluation.design import design_matrix
from pgbn.evaluation.effects import compose
from pgbn.evaluation.entries import check_row_order
from pgbn.evaluation.periods import time_bins
from pgbn.evaluation.shares import group_shares, interval_of, share_draws
from pgbn.training.result import LayerwiseTraining

__all__ = ["GroupResults", "needed_beside"]


class GroupResults:
    """The methods of an estimator that compare documents by other columns.

    Intervals are those of posterior draws of the documents' shares, `pgbn.evaluation.share_draws`.
    """

    training_: LayerwiseTraining

    def topics_per_class(
        self,
        X: Any,
        y: Sequence[Any] | None = None,
        layer: int = 1,
        draws: int = 20,
        interval: float = 0.9,
    ) -> Any:
        """The mean share of each topic in the documents of each class of ``y``, with an interval:
        a data frame of class, documents, topic, share, low and high."""
        y = needed_beside(y, "topics_per_class(X, y)")
        check_row_order(X, y=y)
        found = group_shares(self._share_draws(X, layer, draws, interval), y, interval)
        return long_frame(found, "class")

    def topics_over_time(
        self,
        X: Any,
        dates: Sequence[Any] | None = None,
        layer: int = 1,
        bins: int | None = None,
        draws: int = 20,
        interval: float = 0.9,
    ) -> Any:
        """The same for periods of ``dates`` (years, datetimes, or texts such as "2019-03-01"), each
        called by its beginning: those of the report or, with ``bins``, at most so many equally long
        ones, see `pgbn.evaluation.time_bins`."""
        check_row_order(X, dates=dates)
        periods = time_bins(needed_beside(dates, "topics_over_time(X, dates)"), bins)
        return long_frame(
            group_shares(self._share_draws(X, layer, draws, interval), periods, interval), "time"
        )

    def effects(
        self,
        formula: str,
        frame: Any,
        X: Any = None,
        layer: int = 1,
        draws: int = 20,
        interval: float = 0.9,
    ) -> Any:
        """How the shares of topics depend on columns of ``frame``, ``"~ treatment + year"``, by
        the method of composition: a data frame of term, topic, effect, sd, low and high. See
        `pgbn.evaluation.design_matrix` for the columns."""
        X = needed_beside(X, "effects(formula, frame, X)")
        check_row_order(X, frame=frame)
        design, terms = design_matrix(formula, frame)
        own: Any = self
        shares = self._share_draws(X, layer, draws, interval)
        if len(design) != shares.shape[1]:
            raise DataError(f"frame has {len(design)} rows, but X has {shares.shape[1]} documents")
        found = compose(shares, design, terms, interval, own._seed)
        rows = [
            (term, k, found.mean[i, k], found.sd[i, k], found.low[i, k], found.high[i, k])
            for i, term in enumerate(found.terms)
            for k in range(found.mean.shape[1])
        ]
        return data_frame(rows, ["term", "topic", "effect", "sd", "low", "high"])

    def _documents(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_documents(self, X, reset=False)

    def _share_draws(self, X: Any, layer: int, draws: int, interval: float) -> NDArray[np.float64]:
        interval_of(interval)  # refused before anything is drawn
        own: Any = self
        return share_draws(self.training_.deepest, self._documents(X), layer, draws,
                           seed=own._seed, threads=read_executor(own).workers)  # fmt: skip


def needed_beside(value: Any, call: str) -> Any:
    """What is asked for beside the documents, or they themselves, refused if it is left out."""
    if value is None:
        raise DataError(f"{call}: give all of these; an estimator does not keep its documents X")
    return value
