"""The density of documents given their hidden units: the score of data that are not counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.training.trained import TrainedNetwork
from pgbn.zoo.links import get_link

__all__ = ["mean_log_density"]

_CELLS = 2**18  # cells of documents × terms that are dense at a time


def mean_log_density(model: TrainedNetwork, X: Any, units: NDArray[np.float64]) -> float:
    """1/J Σ_j Σ_v ln p(x_vj | Σ_k φ_vk θ_kj), J documents with ``units`` θ (J, K_1).

    Documents are made dense a block at a time.
    """
    link = get_link(model.link)
    step, total = max(1, _CELLS // model.vocabulary_size), 0.0
    for start in range(0, X.shape[0], step):
        block = X[start : start + step]
        value = np.asarray(block.toarray() if sp.issparse(block) else block, np.float64)
        rate = np.maximum(units[start : start + step] @ model.phi[0], 1e-300)
        total += float(link.log_density(value, rate, model.noise).sum())
    return total / int(X.shape[0])
