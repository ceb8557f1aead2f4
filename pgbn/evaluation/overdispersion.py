"""How variable the latent counts of the first layer are: variance-to-mean ratios and depth.

Given r and c, with Φ^(t) between the layers, the moments of the units follow from the laws of
total expectation and variance, from the top down:

    E θ^(T) = r / c^(T+1),     Cov θ^(T) = diag(r) / (c^(T+1))²
    E θ^(t) = μ / c^(t+1),     Cov θ^(t) = [Φ Cov θ^(t+1) Φ' + diag(μ)] / (c^(t+1))²

with Φ = Φ^(t+1), μ = Φ E θ^(t+1), and m^(1) ~ Pois(θ^(1)) has the ratio
1 + Var θ^(1)_k / E θ^(1)_k. For Φ = I and c^(t) = 1 (t ≥ 3) this is [1 + (T − 1) p] / (1 − p),
p = 1 / (1 + c^(2)): depth adds the factor 1 + (T − 1) p to the ratio of a single layer (paper,
section 2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_integer, is_finite_number, numbers
from pgbn.errors import DataError
from pgbn.training.trained import TrainedNetwork, trained_network

__all__ = ["overdispersion", "predicted_overdispersion", "variance_to_mean"]


def overdispersion(depth: int, p: float) -> float:
    """[1 + (T − 1) p] / (1 − p): the ratio for Φ = I and c^(t) = 1, t ≥ 3."""
    if not is_finite_number(p) or not 0.0 <= p < 1.0:
        raise DataError(f"p={p!r} must be a number of at least 0 and below 1")
    depth = check_integer("depth", depth, 1)
    return (1.0 + (depth - 1) * p) / (1.0 - p)


def predicted_overdispersion(
    model: TrainedNetwork, c: Sequence[float] | None = None
) -> NDArray[np.float64]:
    """The predicted ratio of m^(1)_k for each topic k of the first layer, given r and c.

    ``c`` are the rates c^(2) … c^(T+1); left out, the medians of the training documents.
    """
    model = trained_network(model)
    try:
        rates = np.asarray(model.c if c is None else c, np.float64)
    except (ValueError, TypeError, OverflowError):
        raise DataError(f"c={c!r}: give {model.depth} numbers, one for each layer") from None
    if rates.shape != (model.depth,):
        raise DataError(f"c: {rates.size} rates for {model.depth} layers")
    if not (np.isfinite(rates) & (rates > 0)).all():
        raise DataError(f"c={rates.tolist()!r}: rates must be positive and finite")
    mean: NDArray[Any] = model.r / rates[-1]
    covariance: NDArray[Any] = np.diag(model.r) / rates[-1] ** 2
    for t in range(model.depth - 1, 0, -1):
        phi, rate = model.phi[t], rates[t - 1]  # (K_{t+1}, K_t)
        below = mean @ phi
        covariance = (phi.T @ covariance @ phi + np.diag(below)) / rate**2
        mean = below / rate
    return np.asarray(1.0 + np.diagonal(covariance) / np.maximum(mean, 1e-300))


def variance_to_mean(counts: Any) -> NDArray[np.float64]:
    """The empirical ratio of each column over documents; NaN for a column of zeros."""
    array = numbers("counts", counts.toarray() if sp.issparse(counts) else counts)
    array = array.astype(np.float64)
    if array.ndim != 2 or array.shape[0] < 2:
        raise DataError(f"counts of shape {array.shape}: give at least two documents × factors")
    mean = array.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(array.var(axis=0, ddof=1) / mean)
