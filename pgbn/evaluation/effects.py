"""How the shares of topics depend on what is known of documents: the method of composition.

For each posterior draw s of the shares, a regression on the design Z of the covariates,

    share^s_jk = Z_j β_k + ε,   β^s_k ~ N(β̂^s_k, σ̂²_k (Z'Z)⁻¹),

and all β^s together are the posterior of the effects: its variance is that of a regression, plus
that of the shares, which a regression on their means leaves out (Treier & Jackman 2008; Roberts et
al., stm, 2014). Shares are no normal variables: effects are those on the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_names, check_seed, numbers
from pgbn.errors import DataError
from pgbn.evaluation.shares import interval_of

__all__ = ["Effects", "compose"]

Matrix = NDArray[np.float64]
EACH = 25  # draws of β for each draw of the shares


@dataclass(frozen=True)
class Effects:
    """Of each of ``terms`` on each topic, (terms, K): the mean, ``sd`` and interval of β."""

    terms: tuple[str, ...]
    mean: Matrix
    sd: Matrix
    low: Matrix
    high: Matrix


def compose(
    draws: Matrix, design: Matrix, terms: Sequence[str], interval: float = 0.9, seed: int = 0
) -> Effects:
    """The effects of the columns of ``design`` (documents, terms) on shares (draws, documents,
    K)."""
    low, high = interval_of(interval)
    rng = np.random.default_rng(check_seed(seed))
    draws, design = _finite("draws", draws, 3), _finite("design", design, 2)
    documents, columns = design.shape
    names = check_names("terms", terms, columns)
    if not draws.size or draws.shape[1] != documents:
        raise DataError(
            f"draws of shape {draws.shape} for a design of {documents} documents; give shares of "
            "(draws, documents, topics), as pgbn.evaluation.share_draws does"
        )
    if documents <= columns:
        raise DataError(f"{documents} documents for {columns} effects; give more documents")
    basis, back = _orthogonal(design, names)
    root, found = _lower(back), []
    for share in draws:
        along = basis.T @ share
        sigma = np.sqrt(((share - basis @ along) ** 2).sum(axis=0) / (documents - columns))
        noise = rng.standard_normal((EACH, columns, share.shape[1]))
        found.append(back @ along + (root @ noise) * sigma)
    every = np.concatenate(found)
    return Effects(tuple(names), every.mean(axis=0), every.std(axis=0),
                   np.quantile(every, low, axis=0), np.quantile(every, high, axis=0))  # fmt: skip


def _finite(what: str, value: Any, dims: int) -> Matrix:
    array = numbers(what, value).astype(np.float64)
    if array.ndim != dims or not np.isfinite(array).all():
        raise DataError(f"{what} of shape {array.shape}: give finite numbers in {dims} dimensions")
    return array


def _orthogonal(design: Matrix, names: Sequence[str]) -> tuple[Matrix, Matrix]:
    """Q with orthonormal columns and B with Z B = Q, so that β̂ = B Q'y and (Z'Z)⁻¹ = B B'.

    Years and their squares, or times in nanoseconds, hardly differ from multiples of the intercept
    and of each other. So columns are centred, where there is an intercept, and scaled before they
    are made orthogonal.
    """
    constant = np.flatnonzero((np.ptp(design, axis=0) == 0) & (design[0] != 0))
    centre = design.mean(axis=0) if constant.size else np.zeros(design.shape[1])
    centre[constant] = design[0, constant]
    centre[constant[:1]] = 0.0  # the intercept itself; another one becomes 0
    centred = design - centre
    sizes = np.linalg.norm(centred, axis=0)
    scale = np.where(sizes > 0, sizes, 1.0)
    scaled = centred / scale
    # What rounding has left of a column when its mean was taken away.
    unsure = max(design.shape) * np.finfo(np.float64).eps
    unsure *= max(1.0, (np.linalg.norm(design, axis=0) / scale).max())
    if np.linalg.svd(scaled, compute_uv=False)[-1] <= unsure:
        raise DataError(
            f"the effects {', '.join(names)} cannot be told apart: a column is the sum of others, "
            "or constant; leave one out"
        )
    basis, upper = np.linalg.qr(scaled)
    back = np.linalg.inv(upper) / scale[:, None]
    if constant.size:
        first = constant[0]
        back[first] -= (centre / design[0, first]) @ back
    return basis, back


def _lower(root: Matrix) -> Matrix:
    """The lower triangular L with L L' = B B' and a positive diagonal, for B = ``root``."""
    upper = np.linalg.qr(root.T, mode="r")
    return np.asarray((upper * np.sign(np.diag(upper))[:, None]).T)
