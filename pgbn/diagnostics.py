"""How well chains have mixed: rank-normalised split R-hat and bulk effective sample size.

With M chains of N draws, W the mean of their variances and B/N the variance of their means,

    R̂ = sqrt(((N − 1)/N · W + B/N) / W),      ESS = M N / (1 + 2 Σ_t ρ_t),

both after each chain is cut in halves and the draws are replaced by normal scores of their ranks.
Only label-free quantities (likelihoods, widths, totals) can be compared between chains: topics may
be numbered differently in each.

Reference: Vehtari, Gelman, Simpson, Carpenter & Bürkner, Rank-normalization, folding, and
localization: an improved R̂, Bayesian Analysis 16(2), 2021.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from pgbn.errors import DataError

__all__ = ["bulk_ess", "split_rhat"]

_LEAST = 4  # draws of a chain; fewer cannot be split into halves that have a variance


def split_rhat(draws: Any) -> float:
    """R̂ of a number: the larger of that of the bulk and that of the tails.

    The tails are compared by folded draws. R̂ is about 1 if the chains agree; above 1.01 they need
    more sweeps.

    Parameters
    ----------
    draws
        An array (chains, draws), or the draws of one chain.

    Returns
    -------
    float
        NaN for too few draws or values that are not finite, and 1 for draws that never change.

    Examples
    --------
    >>> import numpy as np
    >>> from pgbn.diagnostics import split_rhat
    >>> chains = np.random.default_rng(0).normal(size=(4, 200))
    >>> split_rhat(chains) < 1.02, split_rhat(chains + [[0], [0], [0], [3]]) > 1.1
    (True, True)
    """
    chains = _chains(draws)
    if not _usable(chains):
        return float("nan")
    if np.ptp(chains) == 0.0:
        return 1.0
    halves = _split(chains)
    folded = np.abs(halves - np.median(halves))
    return max(_rhat(_normal_scores(halves)), _rhat(_normal_scores(folded)))


def bulk_ess(draws: Any) -> float:
    """The number of independent draws that estimate the centre of the distribution as well.

    Parameters
    ----------
    draws
        An array (chains, draws), or the draws of one chain.

    Returns
    -------
    float
        NaN for too few draws or values that are not finite; the number of draws if they never
        change.

    Examples
    --------
    >>> import numpy as np
    >>> from pgbn.diagnostics import bulk_ess
    >>> free = np.random.default_rng(0).normal(size=(2, 500))
    >>> bulk_ess(free) > 500 > 100 > bulk_ess(free.cumsum(axis=1))
    True
    """
    chains = _chains(draws)
    if not _usable(chains):
        return float("nan")
    if np.ptp(chains) == 0.0:
        return float(chains.size)
    return _ess(_normal_scores(_split(chains)))


def _chains(draws: Any) -> NDArray[np.float64]:
    try:
        chains = np.asarray(draws, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"draws={draws!r:.60}: give numbers, an array (chains, draws)") from None
    if chains.ndim == 1:
        chains = chains[None]
    if chains.ndim != 2 or chains.shape[0] == 0:
        raise DataError(f"draws of shape {chains.shape}: give (chains, draws)")
    return chains


def _usable(chains: NDArray[np.float64]) -> bool:
    return chains.shape[1] >= _LEAST and bool(np.isfinite(chains).all())


def _split(chains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Both halves of every chain as chains; the middle draw of an odd number is omitted."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _normal_scores(chains: NDArray[np.float64]) -> NDArray[np.float64]:
    """z = Φ⁻¹((rank − 3/8) / (S + 1/4)) over all S draws; ties share their mean rank."""
    from scipy.stats import rankdata  # slow to import

    ranks = rankdata(chains).reshape(chains.shape)
    return np.asarray(ndtri((ranks - 0.375) / (chains.size + 0.25)))


def _rhat(chains: NDArray[np.float64]) -> float:
    draws = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean()
    between = chains.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return float("inf") if between > 0.0 else 1.0
    return float(np.sqrt((draws - 1) / draws + between / within))


def _ess(chains: NDArray[np.float64]) -> float:
    """M N / τ with τ = −1 + 2 Σ of Geyer's initial monotone sequence of autocorrelation pairs."""
    count, draws = chains.shape
    covariance = _autocovariance(chains)
    within = covariance[:, 0].mean() * draws / (draws - 1)
    total = within * (draws - 1) / draws
    if count > 1:
        total += chains.mean(axis=1).var(ddof=1)
    correlation = 1.0 - (within - covariance.mean(axis=0)) / total
    correlation[0] = 1.0
    # Sums of neighbours P_t = ρ_2t + ρ_2t+1 are positive and decreasing in theory; the first that
    # is not is noise.
    pairs = correlation[0 : draws - 1 : 2] + correlation[1::2]
    last = int(np.argmax(pairs <= 0.0)) if (pairs <= 0.0).any() else pairs.size
    last = max(min(last, (draws - 3) // 2), 1)
    time = -1.0 + 2.0 * np.minimum.accumulate(pairs[:last]).sum()
    if 2 * last < draws:  # the even term after the last pair improves the estimate
        time += max(correlation[2 * last], 0.0)
    size = count * draws
    return float(size / max(time, 1.0 / np.log10(size)))


def _autocovariance(chains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ_i (x_i − x̄)(x_{i+lag} − x̄) / N for every lag, by the Fourier transform."""
    draws = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * draws, axis=1)) ** 2
    return np.asarray(np.fft.irfft(power, 2 * draws, axis=1)[:, :draws] / draws)
