"""Log probabilities of the draws of count rules, for `pgbn.testing.check_conjugacy`.

The samplers do not use them. They follow the definitions, so that a mistake in a rule is not
repeated here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, ive, xlog1py, xlogy

__all__ = ["bessel", "crt", "neg_log_beta", "truncated_poisson"]


def log_stirling(most: int) -> NDArray[np.float64]:
    """ln |s(m, ℓ)| for 0 ≤ ℓ ≤ m ≤ ``most``, from |s(m+1, ℓ)| = m |s(m, ℓ)| + |s(m, ℓ−1)|."""
    table = np.full((most + 1, most + 1), -np.inf)
    table[0, 0] = 0.0
    for m in range(most):
        grown = table[m] + (np.log(m) if m else -np.inf)
        table[m + 1] = np.logaddexp(grown, np.concatenate([[-np.inf], table[m, :-1]]))
    return table


def crt(tables: Any, count: Any, shape: Any) -> NDArray[np.float64]:
    """ln P(ℓ), ℓ ~ CRT(m, a): Γ(a)/Γ(m+a) · |s(m, ℓ)| · a^ℓ.

    Parameters
    ----------
    tables : array of int
        ℓ, the numbers of tables.
    count : array of int
        m, the numbers of customers.
    shape : array
        a > 0.

    Returns
    -------
    array
        The logarithms.

    Examples
    --------
    >>> np.exp(pgbn.extend.log_pmf.crt([1, 2], [2, 2], 1.0))
    array([0.5, 0.5])
    """
    tables, count, shape = np.broadcast_arrays(tables, count, shape)
    stirling = log_stirling(int(count.max(initial=0)))[count.astype(int), tables.astype(int)]
    seated = np.where(count > 0, shape, 1.0)  # with no customers, nothing depends on the shape
    return np.asarray(stirling + xlogy(tables, seated) + gammaln(seated) - gammaln(count + seated))


def neg_log_beta(exposure: Any, a: Any, count: Any) -> NDArray[np.float64]:
    """The log density at s = e^{−q} of s ~ Beta(a, n); 0 if n = 0, since nothing is drawn.

    Parameters
    ----------
    exposure : array
        q = −ln s.
    a : array
        The first parameter.
    count : array of int
        n, the second parameter.

    Returns
    -------
    array
        The logarithms.

    Examples
    --------
    >>> float(pgbn.extend.log_pmf.neg_log_beta(0.5, 1.0, 1))
    0.0
    """
    exposure, a, count = np.broadcast_arrays(exposure, a, count)
    n = np.where(count > 0, count, 1.0)
    density = -(a - 1) * exposure + xlog1py(n - 1, -np.exp(-exposure)) - betaln(a, n)
    return np.asarray(np.where(count > 0, density, 0.0))


def truncated_poisson(count: Any, rate: Any) -> NDArray[np.float64]:
    """ln P(n), n ~ Pois(λ) given n ≥ 1.

    Parameters
    ----------
    count : array of int
        n.
    rate : array
        λ > 0.

    Returns
    -------
    array
        The logarithms.

    Examples
    --------
    >>> float(np.exp(pgbn.extend.log_pmf.truncated_poisson(1, 1e-9)).round(6))
    1.0
    """
    poisson = xlogy(count, rate) - rate - gammaln(np.asarray(count) + 1.0)
    return np.asarray(poisson - np.log(-np.expm1(-np.asarray(rate))))


def bessel(count: Any, alpha: Any) -> NDArray[np.float64]:
    """ln P(n), n ≥ 1: (α/2)^{2n−1} / (n! Γ(n) I₁(α)).

    Parameters
    ----------
    count : array of int
        n.
    alpha : array
        α > 0.

    Returns
    -------
    array
        The logarithms.

    Examples
    --------
    >>> float(np.exp(pgbn.extend.log_pmf.bessel(np.arange(1, 30), 2.0)).sum().round(6))
    1.0
    """
    n = np.asarray(count, np.float64)
    power = xlogy(2 * n - 1, np.asarray(alpha) / 2) - gammaln(n + 1) - gammaln(n)
    return np.asarray(power - np.log(ive(1, alpha)) - alpha)
