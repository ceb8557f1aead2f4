"""Random variates in plain numpy: small, exact, and without a compiler.

`PlainVariates` draws from the laws of `pgbn.samplers.vectorised`, under the same names, for a
stream that carries it: ``Stream(0, shape, variates=PlainVariates(np.random.default_rng(1)))``. The
reference sampler draws with it. Each method is the shortest exact way to draw from its law; values
that could underflow are drawn as logarithms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr, ndtr, wrightomega

from pgbn.samplers.random import Stream

Array = NDArray[Any]

_CUT = 0.64  # where the two series for the density of a Pólya-gamma variable meet


class PlainVariates:
    """Draws of arrays of ``stream.shape``, one after another from one generator of numpy."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    # ---- real numbers ---------------------------------------------------------------------

    def uniform(self, stream: Stream) -> Array:
        return np.maximum(self.generator.random(stream.shape), 2.0**-54)

    def normal(self, stream: Stream, mean: Any = 0.0, sd: Any = 1.0) -> Array:
        return self.generator.standard_normal(stream.shape) * sd + mean

    def exponential(self, stream: Stream, rate: Any = 1.0) -> Array:
        return self.generator.standard_exponential(stream.shape) / rate

    def log_gamma(self, stream: Stream, shape: Any) -> Array:
        """ln x = ln y + ln(u) / a, y ~ Gam(a + 1, 1): small shapes do not underflow."""
        a = np.broadcast_to(np.asarray(shape, np.float64), stream.shape)
        with np.errstate(divide="ignore", over="ignore"):
            return np.log(self.generator.standard_gamma(a + 1.0)) + np.log(self.uniform(stream)) / a

    def gamma(self, stream: Stream, shape: Any, rate: Any) -> Array:
        drawn = np.exp(np.clip(self.log_gamma(stream, shape) - np.log(rate), -708.0, 690.0))
        return np.where(np.asarray(shape) > 0, drawn, 0.0)

    def dirichlet(self, stream: Stream, concentration: Any, axis: Any) -> Array:
        logs = self.log_gamma(stream, concentration)
        top = logs.max(axis=axis, keepdims=True)
        each = np.exp(np.where(top > -np.inf, logs - np.where(top > -np.inf, top, 0.0), 0.0))
        return np.asarray(each / each.sum(axis=axis, keepdims=True))

    def beta_odds(self, stream: Stream, a: Any, b: Any) -> Array:
        logs = self.log_gamma(stream, b) - self.log_gamma(stream, a)
        return np.exp(np.clip(logs, -690.0, 690.0))

    def beta(self, stream: Stream, a: Any, b: Any) -> Array:
        return 1.0 / (1.0 + self.beta_odds(stream, a, b))

    def neg_log_beta(self, stream: Stream, a: Any, n: Any) -> Array:
        """−ln(x / (x + y)) for two gammas x and y; 0 if n, and thus y, is 0."""
        x, y = self.log_gamma(stream, a), self.log_gamma(stream, n)
        return np.asarray(np.logaddexp(x, y) - x)

    def gig(self, stream: Stream, order: Any, a: Any, b: Any) -> Array:
        from scipy.stats import geninvgauss

        p, a, b = (np.broadcast_to(each, stream.shape) for each in (order, a, b))
        drawn = geninvgauss.rvs(p, np.sqrt(a * b), random_state=self.generator, size=stream.shape)
        return np.asarray(drawn * np.sqrt(b / a))

    def log_normal(
        self, stream: Stream, mean: Any, precision: Any, count: Any = 0.0, exposure: Any = 0.0
    ) -> Array:
        """e^y with the log density f(y) = ny − qe^y − τ(y − μ)²/2, whose second derivative is −τ
        at most: a normal of precision τ around the mode, accepted by the ratio of the densities."""
        parts = (mean, precision, count, exposure)
        mu, tau, n, q = (np.broadcast_to(np.asarray(e, np.float64), stream.shape) for e in parts)
        with np.errstate(divide="ignore"):
            mode = mu + n / tau
            mode = mode - wrightomega(mode + np.log(q / tau))

        def lacking(y: Array) -> Array:
            move = y - mode
            return -q * np.exp(mode) * (np.expm1(np.clip(move, -700.0, 700.0)) - move)

        y, waiting = np.empty(stream.shape), np.ones(stream.shape, bool)
        while waiting.any():
            tried = self.normal(stream, mode, 1.0 / np.sqrt(tau))
            taken = waiting & (np.log(self.uniform(stream)) <= lacking(tried))
            y, waiting = np.where(taken, tried, y), waiting & ~taken
        return np.exp(np.clip(y, -690.0, 345.0))

    # ---- counts and choices ---------------------------------------------------------------

    def bernoulli(self, stream: Stream, p: Any) -> Array:
        return (self.generator.random(stream.shape) < p).astype(np.float64)

    def poisson(self, stream: Stream, rate: Any) -> Array:
        return self.generator.poisson(np.minimum(rate, 1e18), stream.shape)

    def truncated_poisson(self, stream: Stream, rate: Any) -> Array:
        """One event at a time t ~ Exp(1) below λ, and those of a Poisson process after it."""
        first = -np.log1p(self.uniform(stream) * np.expm1(-np.asarray(rate)))
        return 1 + self.poisson(stream, np.maximum(rate - first, 0.0))

    def binomial(self, stream: Stream, n: Any, p: Any) -> Array:
        return self.generator.binomial(n, p, stream.shape)

    def crt(self, stream: Stream, m: Any, r: Any) -> Array:
        """Customer i opens a table with probability r / (r + i − 1), the first one with
        certainty."""
        m, r = (np.broadcast_to(each, stream.shape) for each in (m, r))
        tables = (m > 0).astype(np.int64)
        for before in range(1, int(m.max(initial=0))):
            tables += (before < m) & (self.generator.random(stream.shape) * (r + before) < r)
        return tables

    def hidden_count(self, stream: Stream, w: Any, offset: Any, count: Any = -1) -> Array:
        """By a table of the probabilities, up to where they are less than e^−40 of the largest."""
        parts = [np.broadcast_to(each, stream.shape).ravel() for each in (w, offset, count)]
        drawn = [
            self._hidden_count(float(w), float(a), int(m)) for w, a, m in zip(*parts, strict=True)
        ]
        return np.array(drawn, np.int64).reshape(stream.shape)

    def _hidden_count(self, w: float, a: float, m: int) -> int:
        low = 1 if a == 0.0 and m != 0 else 0  # a gamma of shape 0 is 0
        if not w > 0.0:
            return 0 if m < 0 else low
        mean = math.sqrt(w) if m < 0 else w + math.sqrt(w * m) + m
        h = np.arange(low, int(mean + 12.0 * math.sqrt(mean + 1.0)) + 60)
        logs = h * math.log(w) - gammaln(h + 1.0)
        if m:
            logs += (0.0 if m < 0 else gammaln(a + h + m)) - gammaln(a + h)
        return int(h[np.argmax(logs + self.generator.gumbel(size=h.size))])

    def bessel(self, stream: Stream, log_alpha: Any) -> Array:
        """n = 1 + h with P(h) ∝ w^h / (h! Γ(2 + h)), w = α²/4."""
        w = np.exp(2.0 * (np.asarray(log_alpha) - math.log(2.0)))
        return 1 + self.hidden_count(stream, w, 2.0)

    def multinomial(self, stream: Stream, n: Any, probability: Any, axis: int) -> Array:
        p = np.moveaxis(
            np.broadcast_to(np.asarray(probability, np.float64), stream.shape), axis, -1
        )
        total = p.sum(axis=-1, keepdims=True)
        p = np.where(total > 0, p, 1.0) / np.where(total > 0, total, p.shape[-1])
        whole = np.ones((*stream.shape[:axis], 1, *stream.shape[axis + 1 :]), np.int64)
        n = np.moveaxis(np.asarray(n, np.int64) * whole, axis, -1)[..., 0]
        return np.ascontiguousarray(np.moveaxis(self.generator.multinomial(n, p), -1, axis))

    def categorical(self, stream: Stream, log_weight: Any, axis: int) -> Array:
        """The largest of log weights with Gumbel noise."""
        noisy = np.asarray(log_weight) + self.generator.gumbel(size=stream.shape)
        first = noisy.argmax(axis=axis, keepdims=True)
        chosen = np.zeros(stream.shape, np.int64)
        np.put_along_axis(chosen, first, 1, axis)
        return chosen

    def states(self, log_weight: Array, moves: Array) -> Array:
        """Hidden states z of a Markov chain, zeros with a single 1 along the last axis, from the
        logarithms of F (time, …, k) and from P (time, …, from, to): forward, α_t(k) ∝ F_t(k) Σ_l
        α_{t−1}(l) P_t(l, k); backward, z_t ~ α_t(k) P_{t+1}(k, z_{t+1})."""
        fit = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
        filtered = [fit[0] * moves[0, ..., 0, :]]
        for weight, move in zip(fit[1:], moves[1:], strict=True):
            last = filtered[-1] / filtered[-1].sum(axis=-1, keepdims=True)
            filtered.append(weight * (last[..., None] * move).sum(axis=-2))
        drawn: list[Array] = []
        for t in reversed(range(len(fit))):
            weight = filtered[t]
            if drawn:
                weight = weight * (moves[t + 1] * drawn[-1][..., None, :]).sum(axis=-1)
            with np.errstate(divide="ignore"):
                drawn.append(self.categorical(Stream(0, weight.shape), np.log(weight), -1))
        return np.stack(drawn[::-1]).astype(np.float64)

    # ---- linear predictors ----------------------------------------------------------------

    def joint_normal(self, stream: Stream, matrix: Array, vector: Array) -> Array:
        """x ~ N(A⁻¹b, A⁻¹): with A = LLᵀ, Lᵀx = L⁻¹b + z."""
        low = np.linalg.cholesky(matrix)
        noise = self.generator.standard_normal((*vector.shape, 1))
        half = np.linalg.solve(low, vector[..., None]) + noise
        return np.asarray(np.linalg.solve(np.swapaxes(low, -1, -2), half)[..., 0])

    def binary_field(
        self, stream: Stream, matrix: Array, vector: Array, log_odds: Array, value: Array
    ) -> Array:
        """One bit after another, each given the others."""
        x = np.array(value, np.float64)
        for i in range(x.shape[-1]):
            others = (matrix[..., i, :] * x).sum(axis=-1) - matrix[..., i, i] * x[..., i]
            total = log_odds[..., i] + vector[..., i] - 0.5 * matrix[..., i, i] - others
            x[..., i] = np.log(1 / self.generator.random(total.shape) - 1) > -total
        return x

    def polya_gamma(self, stream: Stream, tilt: Any) -> Array:
        drawn = [self._polya_gamma(abs(z) / 2) for z in np.broadcast_to(tilt, stream.shape).flat]
        return np.array(drawn).reshape(stream.shape)

    def _polya_gamma(self, z: float) -> float:
        """Polson, Scott and Windle (2013): an exponential above the cut, an inverse Gaussian below
        it, and the alternating series of the density as a squeeze."""
        rate = math.pi**2 / 8 + z * z / 2
        root = math.sqrt(1 / _CUT)
        mass = ndtr(root * (_CUT * z - 1)) + math.exp(2 * z + log_ndtr(-root * (_CUT * z + 1)))
        above = math.pi / (2 * rate) * math.exp(-rate * _CUT)
        while True:
            if self.generator.random() * (above + 2 * math.exp(-z) * mass) < above:
                x = _CUT + self.generator.standard_exponential() / rate
            else:
                x = self._inverse_gaussian_below_cut(z)
            if self._is_under_series(x):
                return 0.25 * x

    def _inverse_gaussian_below_cut(self, z: float) -> float:
        """Of mean 1/z and shape 1, given that it is below the cut: with z = 0 it is 1/N²."""
        while True:
            if z < 1 / _CUT:  # 1/N² below the cut, tilted by e^{−z²x/2}
                x = 1 / self._normal_above(math.sqrt(1 / _CUT)) ** 2
                if self.generator.random() < math.exp(-0.5 * z * z * x):
                    return x
            else:
                x = self.generator.wald(1 / z, 1.0)
                if x < _CUT:
                    return x

    def _normal_above(self, least: float) -> float:
        """N(0, 1) given that it is above ``least``."""
        while True:
            x = self.generator.standard_normal()
            if abs(x) > least:
                return abs(x)

    def _is_under_series(self, x: float) -> bool:
        total, n = _coefficient(0, x), 0
        level = self.generator.random() * total
        while True:
            n += 1
            total += (-1) ** n * _coefficient(n, x)
            if n % 2 and level <= total:
                return True
            if not n % 2 and level > total:
                return False


def _coefficient(n: int, x: float) -> float:
    """Term n of the alternating series for the density of J*(1, 0) at x."""
    k = n + 0.5
    if x > _CUT:
        return math.pi * k * math.exp(-0.5 * k * k * math.pi**2 * x)
    return math.pi * k * math.exp(-1.5 * math.log(0.5 * math.pi * x) - 2 * k * k / x)
