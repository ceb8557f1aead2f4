"""What `NetworkTransformer` hands over of the draws that it keeps."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from pgbn.evaluation.inference_data import kept_tree

__all__ = ["KeptDraws"]


class KeptDraws:
    """Estimators with a ``network_`` and the draws ``draws_`` of what all its rows share."""

    network_: Any
    draws_: Any
    rows: str

    def to_arviz(self) -> Any:
        """``draws_`` as ArviZ takes them, with the names of the columns of X as coords (needs the
        extra ``pgbn[arviz]``)."""
        check_is_fitted(self)
        axes, names = self.network_[self.network_.observed[0]].axes, {}
        if hasattr(self, "feature_names_in_"):
            names = {dim: list(self.feature_names_in_) for dim in axes if dim != self.rows}
        return kept_tree(self.network_, self.draws_, names)
