"""ln, exp, ln(1 + x), exp(x) - 1 and products of matrices, for arrays that draws depend on.

numpy's functions differ in the last place between processors, as do products by a BLAS. These are
bit-identical everywhere (see `pgbn.samplers.elementary` and `pgbn.samplers.contract`). Numbers that
are only reported, such as a density, may use numpy's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.samplers.compiled import njit
from pgbn.samplers.contract import contract
from pgbn.samplers.elementary import exp, expm1, log, log1p
from pgbn.samplers.from_numba import IS_INSTALLED


def _loop(name: str, function: Any) -> Any:
    """The kernel of a function of one number. The name is that of its files on disk."""

    def kernel(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    kernel.__name__ = kernel.__qualname__ = name
    return njit(cache=True, nogil=True)(kernel)


_exp, _expm1 = _loop("exp_numbers", exp), _loop("expm1_numbers", expm1)
_log, _log1p = _loop("log_numbers", log), _loop("log1p_numbers", log1p)


def exp_of(x: ArrayLike) -> Any:
    """exp x of each number; a number for a number."""
    return _each(_exp, np.exp, x)


def expm1_of(x: ArrayLike) -> Any:
    """exp(x) - 1 of each number; a number for a number."""
    return _each(_expm1, np.expm1, x)


def log_of(x: ArrayLike) -> Any:
    """ln x of each number, -inf of 0; a number for a number."""
    return _each(_log, np.log, x)


def log1p_of(x: ArrayLike) -> Any:
    """ln(1 + x) of each number; a number for a number."""
    return _each(_log1p, np.log1p, x)


def log1p_ratio(x: ArrayLike, y: ArrayLike) -> Any:
    """ln(1 + x / y) of each pair; ln x - ln y if x / y overflows."""
    if _is_formula(x) or _is_formula(y):
        return log1p_of(x / y)  # type: ignore[operator]
    with np.errstate(over="ignore"):
        ratio = np.asarray(np.divide(x, y))
    out = log1p_of(ratio)
    beyond = np.isinf(ratio)
    return np.where(beyond, log_of(x) - log_of(y), out)[()] if beyond.any() else out


def _is_formula(x: Any) -> bool:
    """Whether a value is a formula, which derivations use in place of numbers."""
    return hasattr(x, "__array_ufunc__") and not isinstance(x, (np.ndarray, np.generic))


def _each(kernel: Callable[..., None], function: np.ufunc, x: Any) -> Any:
    if _is_formula(x) or not IS_INSTALLED:
        return function(x)
    numbers = np.asarray(x, np.float64, order="C")
    out = np.empty(numbers.shape)
    kernel(numbers.reshape(-1), out.reshape(-1))
    return out[()]


def matrix_product(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ_k a[i, k] b[k, j], non-negative numbers, in a fixed order."""
    rows = len(a)
    out = np.empty((1, rows, b.shape[1]))
    left = np.ascontiguousarray(a, np.float64)[None]
    right = np.ascontiguousarray(b.T, np.float64)[None]
    contract(0, 0, rows, left, right, out, np.float64)
    return np.asarray(out[0])
