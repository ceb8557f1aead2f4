"""Expectations in place of random variates.

`ExpectedVariates` has the methods of `pgbn.samplers.plain.PlainVariates`, but each returns the mean
of the law that the other draws from. A sweep whose stream carries it replaces every draw by its
expectation: counts are shared out in proportion, a gamma becomes shape / rate, and tables become
their expected number. `pgbn.estimate` runs such sweeps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ive, kve, psi, wrightomega

from pgbn.samplers.plain import PlainVariates
from pgbn.samplers.random import Stream

Array = NDArray[Any]

_TINY = float(np.finfo(np.float64).tiny)


def expected_tables(m: Any, r: Any) -> Array:
    """E[CRT(m, r)] = r (ψ(r + m) − ψ(r)), if all m are whole numbers.

    The mean of a number m of customers need not be whole. It is then read as that of a Poisson
    count, which is 0 with probability e^{−m}: the number of tables is (1 − e^{−m}) times that of
    the m / (1 − e^{−m}) customers who are there if anybody is (Teh, Newman & Welling 2006).
    """
    m, r = np.asarray(m, np.float64), np.maximum(np.asarray(r, np.float64), 1e-12)
    somebody = np.ones_like(m) if (m == np.floor(m)).all() else -np.expm1(-m)
    there = np.maximum(np.divide(m, somebody, out=np.ones_like(m), where=m > 1e-8), 1.0)
    tables = somebody * r * (psi(r + there) - psi(r))
    return np.where(m > 0, np.minimum(tables, m), 0.0)


class ExpectedVariates(PlainVariates):
    """Means of the laws of `pgbn.samplers.vectorised`, as arrays of ``stream.shape``.

    A rule that makes its own draw from uniform or exponential numbers has no mean here: it draws,
    from the ``generator``, and ``has_drawn`` becomes True.
    """

    has_drawn = False

    # ---- what rules draw for themselves ---------------------------------------------------

    def uniform(self, stream: Stream) -> Array:
        self.has_drawn = True
        return super().uniform(stream)

    def exponential(self, stream: Stream, rate: Any = 1.0) -> Array:
        self.has_drawn = True
        return super().exponential(stream, rate)

    # ---- real numbers ---------------------------------------------------------------------

    def normal(self, stream: Stream, mean: Any = 0.0, sd: Any = 1.0) -> Array:
        return _filled(stream, mean)

    def log_gamma(self, stream: Stream, shape: Any) -> Array:
        """The logarithm of the mean."""
        with np.errstate(divide="ignore"):
            return np.log(_filled(stream, shape))

    def gamma(self, stream: Stream, shape: Any, rate: Any) -> Array:
        return _filled(stream, np.asarray(shape) / np.asarray(rate))

    def dirichlet(self, stream: Stream, concentration: Any, axis: Any) -> Array:
        each = np.maximum(_filled(stream, concentration), _TINY)
        return np.asarray(each / each.sum(axis=axis, keepdims=True))

    def beta_odds(self, stream: Stream, a: Any, b: Any) -> Array:
        """b / a: the odds of the mean of p ~ Beta(a, b)."""
        return _filled(stream, np.asarray(b) / np.asarray(a))

    def neg_log_beta(self, stream: Stream, a: Any, n: Any) -> Array:
        """E[−ln s] = ψ(a + n) − ψ(a) for s ~ Beta(a, n)."""
        a, n = np.maximum(_filled(stream, a), _TINY), _filled(stream, n)
        return np.where(n > 0, psi(a + n) - psi(a), 0.0)

    def gig(self, stream: Stream, order: Any, a: Any, b: Any) -> Array:
        p, a, b = (_filled(stream, each) for each in (order, a, b))
        root = np.sqrt(a * b)
        return np.sqrt(b / a) * kve(p + 1, root) / kve(p, root)

    def log_normal(
        self, stream: Stream, mean: Any, precision: Any, count: Any = 0.0, exposure: Any = 0.0
    ) -> Array:
        """e^y under the normal around the mode of y."""
        mu, tau, n, q = (_filled(stream, each) for each in (mean, precision, count, exposure))
        with np.errstate(divide="ignore"):
            mode = mu + n / tau
            mode = mode - wrightomega(mode + np.log(q / tau))
        return np.exp(np.clip(mode + 0.5 / (tau + q * np.exp(mode)), -690.0, 345.0))

    # ---- counts and choices: their means, which need not be whole ---------------------------

    def bernoulli(self, stream: Stream, p: Any) -> Array:
        return _filled(stream, p)

    def poisson(self, stream: Stream, rate: Any) -> Array:
        return _filled(stream, rate)

    def truncated_poisson(self, stream: Stream, rate: Any) -> Array:
        """λ / (1 − e^{−λ})."""
        rate = np.maximum(_filled(stream, rate), 1e-300)
        return rate / -np.expm1(-rate)

    def binomial(self, stream: Stream, n: Any, p: Any) -> Array:
        return _filled(stream, np.asarray(n) * np.asarray(p))

    def crt(self, stream: Stream, m: Any, r: Any) -> Array:
        return expected_tables(_filled(stream, m), _filled(stream, r))

    def hidden_count(self, stream: Stream, w: Any, offset: Any, count: Any = -1) -> Array:
        """Without a count, the mean √w I_a(2√w) / I_{a−1}(2√w) of a Bessel law; else by a table of
        the probabilities."""
        w, a, m = (_filled(stream, each) for each in (w, offset, count))
        root = np.sqrt(w)
        with np.errstate(invalid="ignore", divide="ignore"):
            bessel = root * ive(a, 2 * root) / ive(np.abs(a - 1), 2 * root)
        found = np.where(np.isfinite(bessel), bessel, np.where(a == 0, 1.0, 0.0))
        for at in np.argwhere(m >= 0):
            place = tuple(at)
            found[place] = _mean_hidden_count(float(w[place]), float(a[place]), float(m[place]))
        return found

    def bessel(self, stream: Stream, log_alpha: Any) -> Array:
        """(α/2) I_0(α) / I_1(α), of order 1 at α = 0."""
        alpha = np.exp(_filled(stream, log_alpha))
        with np.errstate(invalid="ignore", divide="ignore"):
            found = 0.5 * alpha * ive(0, alpha) / ive(1, alpha)
        return np.where(np.isfinite(found), np.maximum(found, 1.0), 1.0)

    def multinomial(self, stream: Stream, n: Any, probability: Any, axis: int) -> Array:
        p = _filled(stream, probability)
        total = p.sum(axis=axis, keepdims=True)
        return n * np.where(total > 0, p, 1.0) / np.where(total > 0, total, p.shape[axis])

    def categorical(self, stream: Stream, log_weight: Any, axis: int) -> Array:
        logs = _filled(stream, log_weight)
        each = np.exp(logs - logs.max(axis=axis, keepdims=True))
        return np.asarray(each / each.sum(axis=axis, keepdims=True))

    def states(self, log_weight: Array, moves: Array) -> Array:
        """The probabilities of hidden states given all rows: forward, then backward."""
        fit = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
        forward = [_shares(fit[0] * moves[0, ..., 0, :])]
        for weight, move in zip(fit[1:], moves[1:], strict=True):
            forward.append(_shares(weight * (forward[-1][..., None] * move).sum(axis=-2)))
        backward = [np.ones_like(forward[-1])]
        for weight, move in zip(fit[:0:-1], moves[:0:-1], strict=True):
            backward.append(_shares((move * (weight * backward[-1])[..., None, :]).sum(axis=-1)))
        return _shares(np.stack(forward) * np.stack(backward[::-1]))

    # ---- linear predictors ----------------------------------------------------------------

    def joint_normal(self, stream: Stream, matrix: Array, vector: Array) -> Array:
        return np.asarray(np.linalg.solve(matrix, vector[..., None])[..., 0])

    def binary_field(
        self, stream: Stream, matrix: Array, vector: Array, log_odds: Array, value: Array
    ) -> Array:
        """The probability of one bit after another, each given those of the others."""
        x = np.array(value, np.float64)
        for i in range(x.shape[-1]):
            others = (matrix[..., i, :] * x).sum(axis=-1) - matrix[..., i, i] * x[..., i]
            total = log_odds[..., i] + vector[..., i] - 0.5 * matrix[..., i, i] - others
            x[..., i] = 1.0 / (1.0 + np.exp(-np.clip(total, -700, 700)))
        return x

    def polya_gamma(self, stream: Stream, tilt: Any) -> Array:
        """tanh(z / 2) / (2z), which is 1/4 at z = 0."""
        z = np.maximum(np.abs(_filled(stream, tilt)), 1e-6)
        return np.tanh(z / 2) / (2 * z)


class GeometricVariates(ExpectedVariates):
    """The same means. After each, ``geometric`` is the geometric mean e^{E ln x} of the law, and
    ``entropy`` its entropy, for gammas and proportions; else they are None."""

    geometric: Array | None = None
    entropy: float | None = None

    def gamma(self, stream: Stream, shape: Any, rate: Any) -> Array:
        """e^{ψ(a)} / b, and the entropy a − ln b + ln Γ(a) + (1 − a) ψ(a)."""
        a, b = np.maximum(_filled(stream, shape), _TINY), _filled(stream, rate)
        logs = psi(a)
        self.geometric = np.exp(logs) / b
        self.entropy = float((a - np.log(b) + gammaln(a) + (1 - a) * logs).sum())
        return a / b

    def dirichlet(self, stream: Stream, concentration: Any, axis: Any) -> Array:
        """e^{ψ(a) − ψ(Σ a)}, and the entropy Σ ln Γ(a) − ln Γ(Σ a) − Σ (a − 1) E ln x."""
        a = np.maximum(_filled(stream, concentration), _TINY)
        total = a.sum(axis=axis, keepdims=True)
        logs = psi(a) - psi(total)
        self.geometric = np.exp(logs)
        self.entropy = float((gammaln(a) - (a - 1) * logs).sum() - gammaln(total).sum())
        return np.asarray(a / total)

    def beta_odds(self, stream: Stream, a: Any, b: Any) -> Array:
        """e^{ψ(b) − ψ(a)}."""
        self.geometric = np.exp(psi(_filled(stream, b)) - psi(_filled(stream, a)))
        return super().beta_odds(stream, a, b)


def _filled(stream: Stream, value: Any) -> Array:
    """A value at every entry of a draw."""
    return np.asarray(value, np.float64) + np.zeros(stream.shape)


def _shares(weights: Array) -> Array:
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _mean_hidden_count(w: float, a: float, m: float) -> float:
    """The mean of P(h) ∝ w^h Γ(a + h + m) / (h! Γ(a + h))."""
    low = 1 if a == 0.0 and m else 0  # a gamma of shape 0 is 0
    if not w > 0.0:
        return float(low)
    mean = w + np.sqrt(w * m) + m
    h = np.arange(low, int(mean + 12.0 * np.sqrt(mean + 1.0)) + 60)
    logs = h * np.log(w) - gammaln(h + 1.0)
    if m:
        logs += gammaln(a + h + m) - gammaln(a + h)
    each = np.exp(logs - logs.max())
    return float((h * each).sum() / each.sum())
