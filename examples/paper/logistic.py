"""Logistic regression as the paper used it: LIBLINEAR's, one class against the rest, no constant.

    w_k = argmin ½‖w‖² + C Σ_i ln(1 + exp(−y_ik w·x_i)),   y_ik = 1 if i is of class k, else −1,

and a document gets the class with the largest w_k·x (`train -s 0` of LIBLINEAR; its default
`-B -1` adds no constant to x, and features that sum to one need none). All classes and all folds
are columns of one matrix and are solved together by Newton's method; the steps,

    (I + C Xᵀ D X) s = −∇,   D = diag σ(w·x)(1 − σ(w·x)),

are found by conjugate gradients, so that the work is products of large matrices. X may be sparse.
Reference: Lin, Weng & Keerthi, Trust region Newton method for logistic regression, JMLR 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["STRENGTHS", "choose_strength", "classify", "fit", "one_against_rest"]

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]
STRENGTHS = tuple(2.0**power for power in range(-10, 16))  # the paper's C
FOLDS = 5


def classify(
    train: Any,
    train_labels: Labels,
    test: Any,
    test_labels: Labels,
    strengths: Sequence[float] = STRENGTHS,
) -> tuple[float, float]:
    """Test accuracy in percent, and the C that cross-validation on the training set chose."""
    C, _ = choose_strength(train, train_labels, strengths)
    w = fit(train, one_against_rest(train_labels), C)
    return _percent((test @ w).argmax(axis=1) == test_labels), C


def choose_strength(
    X: Any, labels: Labels, strengths: Sequence[float] = STRENGTHS, seed: int = 0
) -> tuple[float, list[float]]:
    """The C with the best accuracy in 5-fold cross-validation (the smallest one of equals), and
    the accuracy of each. Folds are drawn at random, as LIBLINEAR does; each fit starts from that
    of the C before."""
    fold = np.random.default_rng(seed).permutation(len(labels)) % FOLDS
    once = one_against_rest(labels)
    target = np.tile(once, FOLDS)  # a column for each fold and class
    weight = np.repeat(fold[:, None] != np.arange(FOLDS), once.shape[1], axis=1).astype(np.float64)
    w = np.zeros((X.shape[1], target.shape[1]))
    found = []
    for C in strengths:
        w = fit(X, target, C, weight=weight, start=w)
        scores = (X @ w).reshape(len(labels), FOLDS, -1)
        unseen = scores[np.arange(len(labels)), fold]
        found.append(_percent(unseen.argmax(axis=1) == labels))
    return strengths[int(np.argmax(found))], found


def one_against_rest(labels: Labels) -> Matrix:
    """Documents × classes: 1 for the class of a document, else 0."""
    return (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)


def fit(
    X: Any,
    target: Matrix,
    C: float,
    *,
    weight: Matrix | None = None,
    start: Matrix | None = None,
    tolerance: float = 0.001,
    most_steps: int = 100,
) -> Matrix:
    """w for every column of ``target`` (documents × columns, 0 or 1), features × columns.

    ``weight`` (documents × columns) is 0 where a column must not see a document, else 1. A column
    is done when the norm of its gradient is at most ``tolerance`` · min(positives, negatives) /
    documents of the norm at w = 0: LIBLINEAR's rule (whose default tolerance is 0.01).
    """
    weight = np.ones_like(target) if weight is None else weight
    w = np.zeros((X.shape[1], target.shape[1])) if start is None else start.copy()
    seen, positives = weight.sum(axis=0), (weight * target).sum(axis=0)
    rarer = np.maximum(np.minimum(positives, seen - positives), 1.0) / seen
    at_zero = C * (X.T @ (weight * (0.5 - target)))
    enough = tolerance * rarer * np.linalg.norm(at_zero, axis=0)
    scores, squares = X @ w, X * X
    for _ in range(most_steps):
        probability = expit(scores)
        gradient = w + C * (X.T @ (weight * (probability - target)))
        todo = np.flatnonzero(np.linalg.norm(gradient, axis=0) > enough)
        if not todo.size:
            break
        curvature = C * (weight * probability * (1.0 - probability))[:, todo]
        step = newton_step(X, curvature, 1.0 + squares.T @ curvature, gradient[:, todo])
        along = X @ step
        length = step_length(w[:, todo], step, scores[:, todo], along, gradient[:, todo],
                             target[:, todo], C * weight[:, todo])  # fmt: skip
        w[:, todo] += length * step
        scores[:, todo] += length * along
    return w


def newton_step(X: Any, curvature: Matrix, diagonal: Matrix, gradient: Matrix) -> Matrix:
    """(I + Xᵀ diag(curvature) X) step = −gradient for each column, to about a tenth.

    Conjugate gradients, preconditioned by the ``diagonal`` of the matrix. Columns that are solved
    are left out of the products.
    """
    step, rest = np.zeros_like(gradient), -gradient
    direction = rest / diagonal
    size = (rest * direction).sum(axis=0)
    enough = 0.01 * size
    todo = np.arange(size.size)
    for _ in range(gradient.shape[0]):
        ahead = direction[:, todo]
        image = ahead + X.T @ (curvature[:, todo] * (X @ ahead))
        length = size[todo] / (ahead * image).sum(axis=0)
        step[:, todo] += length * ahead
        rest[:, todo] -= length * image
        scaled = rest[:, todo] / diagonal[:, todo]
        now = (rest[:, todo] * scaled).sum(axis=0)
        direction[:, todo] = scaled + now / size[todo] * ahead
        size[todo] = now
        todo = todo[now > enough[todo]]
        if not todo.size:
            break
    return step


def step_length(
    w: Matrix, step: Matrix, scores: Matrix, along: Matrix, gradient: Matrix, target: Matrix,
    strength: Matrix,
) -> Matrix:  # fmt: skip
    """1, ½, ¼, … for each column: the first that lowers the objective as its slope promises."""

    def objective(length: Matrix) -> Matrix:
        moved = scores + length * along
        loss = np.logaddexp(0.0, moved) - target * moved
        return 0.5 * ((w + length * step) ** 2).sum(axis=0) + (strength * loss).sum(axis=0)

    length, slope = np.ones(w.shape[1]), (gradient * step).sum(axis=0)
    before = objective(np.zeros_like(length))
    rounding = 1e-12 * np.abs(before)
    for _ in range(30):
        long = objective(length) > before + 1e-4 * length * slope + rounding
        if not long.any():
            break
        length[long] /= 2.0
    return length


def _percent(right: NDArray[np.bool_]) -> float:
    return 100.0 * float(right.mean())
