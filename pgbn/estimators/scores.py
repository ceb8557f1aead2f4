"""How well a fitted estimator predicts: perplexity by document completion, and `score`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pgbn.estimators.arguments import renaming, validate_documents
from pgbn.evaluation import completion_perplexity
from pgbn.evaluation.document_density import mean_log_density
from pgbn.training.new_rows import infer
from pgbn.zoo.links import get_link

__all__ = ["HeldOutScores"]


class HeldOutScores:
    """The scores of estimators that were trained layer by layer."""

    training_: Any
    link_: str
    _chain: Any
    _rows: Any

    def perplexity(
        self, X: Any, X_held: Any = None, fraction: float = 0.5, *, train: Any = None
    ) -> float:
        """Per-word perplexity of ``X_held`` given θ from ``X``, or of the rest of each document of
        X given ``fraction`` of its tokens (document completion). With ``train``, the documents
        that it was fitted on, Φ learns from the seen tokens too: the chain goes on over both, for
        ``transform_burn_in`` and ``transform_samples`` sweeps. The estimator does not change."""
        check_is_fitted(self)
        X = validate_documents(self, X, reset=False)
        settings = self._chain()
        if train is not None:
            settings["train"] = validate_documents(self, train, reset=False, name="train")
        if X_held is not None:
            settings["held_out"] = validate_documents(self, X_held, reset=False, name="X_held")
        named = nullcontext() if X_held is None else renaming("held_out", "X_held")
        with named:
            held = completion_perplexity(self.training_.deepest, X, fraction=fraction, **settings)
        return held.perplexity()

    def score(self, X: Any, y: Any = None) -> float:
        """Counts: −ln perplexity by document completion. Other links: the mean log density of a
        document given the posterior means of its rates. Larger is better."""
        check_is_fitted(self)
        if get_link(self.link_).is_counts:
            return -float(np.log(self.perplexity(X)))
        X = validate_documents(self, X, reset=False)
        model = self.training_.deepest
        return mean_log_density(model, X, infer(model, X, layers=1, **self._rows()).units[1])
