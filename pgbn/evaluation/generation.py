"""Synthetic documents, from the top of a trained network down to the terms.

    θ^(T) ~ Gam(r, c^(T+1)),  θ^(t) ~ Gam(Φ^(t+1) θ^(t+1), c^(t+1)),  x ~ Pois(Φ^(1) θ^(1))

(paper, section 3 and appendix), with c at the medians of the training documents or drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_integer, check_seed
from pgbn.errors import DataError
from pgbn.samplers import Stream, vectorised
from pgbn.samplers.elementary import exp_of, expm1_of, log_of
from pgbn.samplers.random import stream_key, word_of
from pgbn.samplers.row_kernels import matrix_product
from pgbn.storage.read_limits import check_bytes
from pgbn.training.trained import TrainedNetwork, trained_network
from pgbn.zoo import layers
from pgbn.zoo.links import get_link

_BLOCK = 256  # documents whose rates are dense at a time
_MOST = 2**31  # counts are below it everywhere in pgbn
_LOG_MOST = 667.7496767682733  # ln 1e290, of the units of a document: far from over- and underflow


def generate(
    model: Any,
    n: int = 1,
    *,
    length: int | Sequence[int] | None = None,
    c: str = "median",
    seed: int = 0,
) -> dict[str, Any]:
    """New documents, their topic weights and their rates, by the names of the nodes; see
    `pgbn.TrainedNetwork.generate`."""
    model = trained_network(model)
    n = check_integer("n", n, 1)
    lengths = None if length is None else _lengths(length, n)
    check_bytes(f"n={n}: the units of the documents", 32 * n * sum(model.widths), "draw fewer")
    key = stream_key(check_seed(seed), word_of("documents"))

    def stream(name: str, columns: int) -> Stream:
        return Stream(stream_key(key, word_of(name)), (1, 1, n, columns))

    rates = _rates(model, n, c, key)
    found: dict[str, Any] = {layers.rate(t): rates[:, t - 2] for t in range(2, model.depth + 2)}
    shape: NDArray[np.float64] = np.broadcast_to(model.r, (n, model.r.size))
    for t in range(model.depth, 0, -1):
        units = _units(stream(layers.theta(t), shape.shape[1]), shape, rates[:, t - 1])
        found[layers.theta(t)] = units
        if t > 1:
            shape = matrix_product(units, model.phi[t - 1])
    blocks = [
        _counts(model, units[start : start + _BLOCK], lengths, stream_key(key, start), start)
        for start in range(0, n, _BLOCK)
    ]
    return {layers.DATA: sp.csr_array(sp.vstack(blocks, format="csr")), **found}


def _units(
    draws: Stream, shape: NDArray[np.float64], rate: NDArray[np.float64]
) -> NDArray[np.float64]:
    """θ_k ~ Gam(a_k, c) of every document, by their logarithms; sums are kept in 1e-290 … 1e290.

    In a deep network a_· is often so small that all units of a document underflow. Their shares θ_k
    / θ_· are Dir(a) for any sum and stay correct, since the largest logarithm survives.
    """
    logs = vectorised.log_gamma(draws, shape[None, None])[0, 0]
    top = np.maximum(logs.max(axis=1, keepdims=True), np.finfo(np.float64).min)
    parts = exp_of(logs - top)
    sums = parts.sum(axis=1, keepdims=True)
    sums[sums == 0] = 1.0  # all shapes are 0, and so are the units
    log_sum = top + log_of(sums) - log_of(rate)[:, None]
    return np.asarray(parts * (exp_of(np.clip(log_sum, -_LOG_MOST, _LOG_MOST)) / sums))


def _lengths(length: Any, n: int) -> NDArray[np.int64]:
    """The number of tokens of each document."""
    try:
        found = np.asarray(length)
    except ValueError:
        found = np.empty(0, object)
    good = found.dtype.kind in "iuf" and found.shape in ((), (n,))
    if not good or not ((found >= 0) & (found < _MOST) & (found == np.floor(found))).all():
        raise DataError(
            f"length={length!r}: give an integer number of tokens, or {n} of them, below 2^31"
        )
    return np.broadcast_to(found.astype(np.int64), n)


def _rates(model: TrainedNetwork, n: int, c: str, key: int) -> NDArray[np.float64]:
    """c^(2…T+1) of every document, (n, T)."""
    if not isinstance(c, str) or c not in ("median", "random", "prior"):
        raise DataError(f"c={c!r} must be 'median', 'random' or 'prior'")
    depth = model.depth
    names = [layers.rate(t) for t in range(2, depth + 2)]
    if c == "median":
        return np.tile(model.c, (n, 1))
    if c == "random":
        if not model.state:
            raise DataError('c="random" needs the state of the training; use c="median"')
        columns = np.stack([model.state[name] for name in names], axis=1)
        draws = Stream(stream_key(key, word_of("c")), (1, 1, 1, n))
        uniform = -expm1_of(-vectorised.gamma(draws, 1.0, 1.0)).reshape(-1)  # from an exponential
        return np.asarray(columns[(uniform * columns.shape[0]).astype(np.int64)])
    streams = [Stream(stream_key(key, word_of(name)), (1, 1, 1, n)) for name in names]
    odds = vectorised.beta_odds(streams[0], *model.priors.p).reshape(-1)
    others = [vectorised.gamma(s, *model.priors.c).reshape(-1) for s in streams[1:]]
    return np.stack([odds, *others], axis=1)


def _counts(
    model: TrainedNetwork,
    theta: NDArray[np.float64],
    length: NDArray[np.int64] | None,
    key: int,
    start: int,
) -> sp.csr_array:
    """The data of some documents given their first layer."""
    link, rate = get_link(model.link), matrix_product(theta, model.phi[0])
    shape = (1, 1, *rate.shape)
    if length is None:
        wrong = ~(rate < (np.inf if link.any_rate else _MOST)).all(axis=1)  # NaN too
        if wrong.any():
            document = int(wrong.argmax())
            remedy = 'length= or c="median"' if link.is_counts else 'c="median"'
            raise DataError(
                f"document {start + document} has a Poisson rate of {rate[document].max():.3g}, "
                f"and counts must be below 2^31; give {remedy}"
            )
        streams = Stream(key, shape), Stream(stream_key(key, 1), shape)
        return sp.csr_array(link.generate(*streams, rate[None, None], model.noise)[0, 0])
    if not link.is_counts:
        raise DataError(f"length={length[0]}: only documents of counts have a length")
    lengths = length[start : start + len(rate)]
    # The counts of a document of N tokens are Poisson counts given their sum, drawn by a keyed
    # multinomial. Units that are all 0 do not determine shares: every topic has the same, as in
    # `infer`.
    rate[theta.sum(axis=1) == 0] = model.phi[0].mean(axis=0)
    share = rate / rate.sum(axis=1, keepdims=True)
    draws = Stream(key, shape)
    return sp.csr_array(
        vectorised.multinomial(draws, lengths.reshape(1, 1, -1, 1), share[None, None], 3)[0, 0]
    )


# ---- overdispersion -----------------------------------------------------------------------------
#
# How variable the latent counts of the first layer are: variance-to-mean ratios and depth.
#
# Given r and c, with Φ^(t) between the layers, the moments of the units follow from the laws of
# total expectation and variance, from the top down:
#
#     E θ^(T) = r / c^(T+1),     Cov θ^(T) = diag(r) / (c^(T+1))²
#     E θ^(t) = μ / c^(t+1),     Cov θ^(t) = [Φ Cov θ^(t+1) Φ' + diag(μ)] / (c^(t+1))²
#
# with Φ = Φ^(t+1), μ = Φ E θ^(t+1), and m^(1) ~ Pois(θ^(1)) has the ratio 1 + Var θ^(1)_k / E
# θ^(1)_k. For Φ = I and c^(t) = 1 (t ≥ 3) this is [1 + (T − 1) p] / (1 − p), p = 1 / (1 + c^(2)):
# depth adds the factor 1 + (T − 1) p to the ratio of a single layer (paper, section 2.2).


def overdispersion(model: Any, c: Sequence[float] | None = None) -> NDArray[np.float64]:
    """The variance-to-mean ratio of the counts of each topic of the first layer.

    It is 1 for Poisson counts. Each layer adds to it.

    Parameters
    ----------
    model
        A trained network, a layer-wise training or a fitted estimator.
    c
        The rates c^(2) … c^(T+1) of a document; by default the medians of the training documents.

    Returns
    -------
    numpy.ndarray
        The ratio that the model predicts for each topic, given r and ``c``.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> phi = np.array([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]])
    >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.array([0.25]))
    >>> pgbn.evaluation.overdispersion(model)
    array([5., 5.])
    """
    model = trained_network(model)
    try:
        rates = np.asarray(model.c if c is None else c, np.float64)
    except (ValueError, TypeError, OverflowError):
        raise DataError(f"c={c!r}: give {model.depth} numbers, one for each layer") from None
    if rates.shape != (model.depth,):
        raise DataError(f"c={c!r:.60}: give a list of {model.depth} numbers, one for each layer")
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
