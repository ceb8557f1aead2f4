"""The features that an estimator makes of documents: those of one layer, or of all layers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pgbn.checks import in_order
from pgbn.engine.run.progress import live
from pgbn.errors import DataError
from pgbn.estimators.arguments import (
    blaming,
    read_choice,
    read_executor,
    read_sweeps,
    read_workers,
    validate_documents,
)
from pgbn.evaluation import project
from pgbn.training.new_rows import infer

__all__ = ["LayerFeatures"]

_KERNELS = 5  # that the first documents compile


class LayerFeatures:
    """The methods of an estimator that turn documents into features and back.

    scikit-learn names the columns of what ``transform`` returns, but asks the estimator, which
    does not know which layer was asked for. It does so only for a ``transform`` that the class
    itself defines: so this one is inherited, and `_Columns` names the columns.
    """

    layer: int
    output: str
    widths_: tuple[int, ...]
    training_: Any

    def transform(self, X: Any, layer: int | None = None, output: str | None = None) -> Any:
        """Posterior means of θ/θ_· for each document: of one layer, or output="concat" of all.
        Without either the choice is that of the estimator; a ``layer`` given here wins over it.

        A document gets the same features in any batch: its random stream is keyed by its content.
        """
        check_is_fitted(self)
        columns = _Columns(self, *read_choice(self, layer, output))
        columns.set_output(**getattr(self, "_sklearn_output_config", {}))
        return columns.transform(X)

    def get_feature_names_out(
        self, input_features: Any = None, layer: int | None = None, output: str | None = None
    ) -> NDArray[Any]:
        """The names of the columns of `transform`: pgbn0, pgbn1, … for the first layer, pgbn2_0,
        pgbn2_1, … for the second. ``input_features`` is there for scikit-learn and not used."""
        check_is_fitted(self)
        return _Columns(self, *read_choice(self, layer, output)).get_feature_names_out()

    def inverse_transform(self, Z: Any, layer: int | None = None) -> NDArray[np.float64]:
        """The term proportions Ψ^(t) θ^(t)/θ^(t)_· that features of a layer stand for; of features
        of all layers side by side, those of ``layer``, or of the first, are taken."""
        check_is_fitted(self)
        chosen, _ = read_choice(self, layer, None)
        others = [dim for dim in getattr(Z, "dims", ()) if dim != "doc"]
        Z = in_order("Z", ("doc", *others) if len(others) == 1 else ("doc", "topic"), Z)
        with blaming("Z"):
            features = check_array(Z, dtype=np.float64, input_name="Z")
        if self.output == "concat" and features.shape[1] == sum(self.widths_):
            chosen = 1 if layer is None else chosen
            start = sum(self.widths_[: chosen - 1])
            features = features[:, start : start + self.widths_[chosen - 1]]
        width = self.widths_[chosen - 1]
        if features.shape[1] != width:
            raise DataError(
                f"Z: features have {features.shape[1]} columns; layer {chosen} has {width}"
            )
        return np.asarray(features @ project(self.training_.deepest, chosen))

    def _chain(self) -> dict[str, Any]:
        """How the hidden units of documents are sampled."""
        settings: Any = self
        return {
            **read_sweeps(settings),
            "seed": settings._seed,
            "threads": read_executor(settings).workers,
        }

    def _rows(self) -> dict[str, Any]:
        """The same where rows are all that is sampled: workers of another memory take part."""
        settings: Any = self
        chain = self._chain()
        del chain["threads"]
        return chain | read_workers(settings)


class _Columns(TransformerMixin):
    """The features of one choice of layers. scikit-learn makes a data frame of them where
    `set_output` or `sklearn.set_config` says so, with the names of these columns."""

    def __init__(self, estimator: Any, layer: int, output: str) -> None:
        self.estimator = estimator
        self.layer = None if output == "concat" else layer

    def transform(self, X: Any) -> Any:
        X = validate_documents(self.estimator, X, reset=False)
        model, settings = self.estimator.training_.deepest, self.estimator._rows()
        with live(self.estimator.verbose == 1, _KERNELS):
            rows = infer(model, X, layers=self.layer, units=False, **settings)
        return rows.features(self.layer)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        prefix, names = type(self.estimator).__name__.lower(), []
        for layer, width in enumerate(self.estimator.widths_, 1):
            if self.layer in (None, layer):
                number = "" if layer == 1 else f"{layer}_"
                names += [f"{prefix}{number}{k}" for k in range(width)]
        return np.array(names, object)
