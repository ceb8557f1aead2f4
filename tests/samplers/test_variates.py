"""Every variate against its exact law: by the kernels, at any parameters, and in plain numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from pgbn.samplers import Stream, vectorised
from pgbn.samplers.plain import PlainVariates
from pgbn.samplers.variates.crt import seat_many
from pgbn.samplers.variates.gamma import draw_gamma, draw_gamma_rate
from pgbn.samplers.variates.multinomial import draw_multinomial
from pgbn.samplers.variates.poisson import draw_small_truncated
from tests.helpers.laws import (
    DRAWS,
    assert_counts_follow,
    assert_follows,
    assert_moments,
    new_stream,
    sampler_of,
)

KEY, SHAPE = 20_240_229, (1, 1, 100, DRAWS // 100)
Law = Any  # probabilities of 0, 1, …, or a distribution function


def kernels(shape: tuple[int, ...] = SHAPE) -> Stream:
    return Stream(KEY, shape)


def plain(shape: tuple[int, ...] = SHAPE) -> Stream:
    return Stream(0, shape, variates=PlainVariates(np.random.default_rng(3)))


def softmax(first: int, logs: Callable[[NDArray[Any]], NDArray[Any]], size: float) -> Law:
    """The probabilities of first, first + 1, … by their logarithms."""
    n = np.arange(first, int(size))
    return np.concatenate((np.zeros(first), special.softmax(logs(n))))


def on_grid(log_density: Callable[[NDArray[Any]], NDArray[Any]]) -> Law:
    """The distribution function of x by the density of ln x on a fine grid."""
    grid = np.linspace(-60.0, 60.0, 600_001)
    sums = np.cumsum(np.exp((logs := log_density(grid)) - logs.max()))
    return lambda x: np.interp(np.log(x), grid, sums / sums[-1])


def poisson(rate: float) -> Law:
    return stats.poisson.pmf(np.arange(int(rate + 12.0 * math.sqrt(rate) + 20.0)), rate)


def truncated(rate: float) -> Law:
    size = rate + 12.0 * math.sqrt(rate) + 20.0
    return softmax(1, lambda n: (n - 1) * math.log(rate) - special.gammaln(n + 1.0), size)


def bessel(alpha: float) -> Law:
    """∝ (α/2)^2n / n! (n - 1)!."""
    size = 0.5 * alpha + 8.0 * math.sqrt(alpha) + 30.0
    return softmax(1, lambda n: (2.0 * (n - 1) * math.log(alpha / 2.0) - special.gammaln(n + 1.0)
                                 - special.gammaln(n)), size)  # fmt: skip


def hidden(w: float, a: float, m: int = -1) -> Law:
    """∝ w^h Γ(a + h + m) / (h! Γ(a + h)); without a count, w^h / (h! Γ(a + h))."""

    def logs(h: NDArray[Any]) -> NDArray[Any]:
        own = h * math.log(w) - special.gammaln(h + 1.0)
        more = special.gammaln(a + h + m) if m > 0 else 0.0
        return own + more - special.gammaln(a + h) if m else own

    return softmax(1 if a == 0.0 and m else 0, logs, 3000)


def tables(customers: int, concentration: float) -> Law:
    """By the recursion of the unsigned Stirling numbers, one customer at a time."""
    opens = [1.0, *(concentration / (concentration + i) for i in range(1, customers))]
    law = np.ones(1)
    for p in opens:
        law = np.convolve(law, [1.0 - p, p])
    return law


def log_gamma(shape: float) -> Law:
    """P(ln x < t) = e^(shape t) / Γ(1 + shape) far below 0."""
    if shape > 0.01:
        return lambda t: special.gammainc(shape, np.exp(t))
    return lambda t: stats.expon.sf(-shape * t - special.gammaln(1.0 + shape))


def neg_log_beta(a: float, n: int) -> Law:
    """-ln s; of n = 1 exponential, which is right for any a."""
    return stats.expon(scale=1 / a).cdf if n == 1 else lambda q: stats.beta.sf(np.exp(-q), a, n)


def log_normal(mean: float, precision: float, n: float = 0.0, q: float = 0.0) -> Law:
    return on_grid(lambda y: n * y - q * np.exp(y) - 0.5 * precision * (y - mean) ** 2)


def gig(order: float, a: float, b: float) -> Law:
    return on_grid(lambda y: order * y - 0.5 * (a * np.exp(y) + b * np.exp(-y)))


# Parameters of laws that both ways of drawing have, and those that only the kernels are made for.
BOTH: list[tuple[str, tuple[Any, ...], Law]] = [
    ("uniform", (), stats.uniform.cdf),
    ("normal", (2.0, 3.0), stats.norm(2.0, 3.0).cdf),
    ("exponential", (4.0,), stats.expon(scale=0.25).cdf),
    ("bernoulli", (0.3,), np.array([0.7, 0.3])),
    ("beta", (0.5, 2.0), stats.beta(0.5, 2.0).cdf),
    *(("gamma", (a, 4.0), stats.gamma(a, scale=0.25).cdf) for a in (0.05, 0.3, 1.0, 7.0, 150.0)),
    *(("log_gamma", (a,), log_gamma(a)) for a in (0.2, 1e-3, 1e-20, 1e-300)),
    *(("beta_odds", (a, b), stats.betaprime(b, a).cdf) for a, b in ((0.5, 0.3), (3.0, 250.0))),
    *(("neg_log_beta", (a, n), neg_log_beta(a, n)) for a, n in ((0.7, 3), (3.0, 1000), (1e-3, 1))),
    *(("log_normal", case, log_normal(*case)) for case in (
        (0.3, 2.0), (0.5, 2.0, 3.0, 0.7), (-1.0, 0.5, 0.0, 3.0), (-1.0, 0.5, 40.0, 3.0))),
    *(("poisson", (rate,), poisson(rate)) for rate in (0.01, 2.5, 30.0)),
    *(("truncated_poisson", (rate,), truncated(rate)) for rate in (0.01, 0.5, 8.0)),
    *(("bessel", (math.log(a),), bessel(a)) for a in (0.1, 1.0, 20.0)),
    *(("hidden_count", case, hidden(*case)) for case in (
        (9.0, 0.0), (9.0, 0.5), (2.0, 0.0, 3), (2.0, 0.0, 0), (2.0, 0.5, 3), (30.0, 1.0, 20))),
    *(("binomial", (n, p), stats.binom.pmf(np.arange(n + 1), n, p)) for n, p in ((7, 0.3), (45, 0.77))),
    *(("crt", (m, r), tables(m, r)) for m, r in ((1, 0.3), (12, 0.6), (200, 3.0))),
    *(("gig", case, gig(*case)) for case in ((0.5, 1.0, 2.0), (-1.5, 1.0, 2.0))),
]  # fmt: skip
KERNELS: list[tuple[str, tuple[Any, ...], Law]] = [
    *(("gamma", (a, 2.0), stats.gamma(a, scale=0.5).cdf) for a in (0.999, 1.5, 1e6)),
    *(("gamma", (a, 1.0), stats.norm(a, math.sqrt(a)).cdf) for a in (1e9, 1e12)),
    ("gamma", (0.01, 1e-300), lambda x: stats.gamma(0.01).cdf(x * 1e-300)),  # would underflow
    *(("log_gamma", (a,), log_gamma(a)) for a in (0.999, 1.0, 150.0, 1e-5, 1e-100)),
    *(("beta_odds", (a, b), stats.betaprime(b, a).cdf)
      for a in (0.02, 0.7, 1e4) for b in (0.3, 1.0, 250.0)),
    *(("neg_log_beta", (a, n), neg_log_beta(a, n))
      for a in (1e-300, 1e-10, 0.02, 0.7, 1e4, 1e12) for n in ((1,) if not 1e-3 < a < 1e5 else (1, 3, 1000))),
    *(("log_normal", case, log_normal(*case)) for case in (
        (2.0, 0.01, 1000.0, 3.0), (0.0, 50.0, 2.0, 0.1), (-2.0, 1e-3, 1.0, 1e4), (5.0, 1.0, 0.0, 1e8))),
    *(("poisson", (rate,), poisson(rate)) for rate in (1e-12, 1.0, 5.0, 11.9, 12.1, 14.0, 300.0, 4e4)),
    *(("poisson", (rate,), stats.norm(rate, math.sqrt(rate)).cdf) for rate in (1e9, 1e12)),
    *(("truncated_poisson", (rate,), truncated(rate))
      for rate in (1e-310, 1e-12, 3.0, 11.0, 25.0, 700.0, 1e4)),
    *(("bessel", (math.log(a),), bessel(a)) for a in (1e-200, 1e-8, 5.0, 39.0, 41.0, 300.0, 5000.0)),
    *(("hidden_count", case, hidden(*case)) for case in (
        (0.3, 0.0), (50.0, 0.0), (3.0, 0.4), (900.0, 2.5), (0.5, 1.5, 4), (0.97, 0.2, 60),
        (7.0, 0.5, 0), (40.0, 1.0, 30))),
    *(("binomial", (n, p), stats.binom.pmf(np.arange(n + 1), n, p))
      for n in (1, 2, 10, 300, 5000) for p in (1e-9, 0.003, 0.2, 0.5, 0.9999)),
    *(("binomial", (n, p), stats.norm(n * p, math.sqrt(n * p * (1 - p))).cdf)
      for n in (10**9, 10**12) for p in (1e-3, 0.5, 0.9)),
    *(("crt", (m, r), tables(m, r)) for m in (2, 3, 10, 16, 17, 18, 30, 33, 64, 200)
      for r in (1e-300, 1e-3, 0.3, 1.0, 12.0, 90.0, 400.0, 1e5)),
    *(("gig", (order, a, b), gig(order, a, b)) for order in (-3.0, -0.5, 0.0, 0.2, 1.0, 40.0)
      for a, b in ((1.0, 1.0), (1e-3, 1e-2), (200.0, 3.0), (0.5, 400.0))),
    ("gig", (2.0, 3.0, 0.0), stats.gamma(2.0, scale=2 / 3).cdf),
    ("gig", (-2.0, 0.0, 3.0), stats.invgamma(2.0, scale=1.5).cdf),
]  # fmt: skip


def check(draws: NDArray[Any], law: Law) -> None:
    if isinstance(law, np.ndarray):
        assert_counts_follow(draws.ravel().astype(np.int64), law)
    else:
        assert_follows(draws.ravel(), law)


def named(value: Any) -> str:
    return str(value) if isinstance(value, (str, tuple)) else ""


@pytest.mark.parametrize(("name", "given", "law"), BOTH + KERNELS, ids=named)
def test_a_kernel_has_its_law(name: str, given: tuple[Any, ...], law: Law) -> None:
    check(getattr(vectorised, name)(kernels(), *given), law)


@pytest.mark.parametrize(("name", "given", "law"), BOTH, ids=named)
def test_a_plain_draw_has_its_law(name: str, given: tuple[Any, ...], law: Law) -> None:
    check(getattr(vectorised, name)(plain((1, 1, 40, 100)), *given), law)


@pytest.mark.parametrize("stream", [kernels, plain])
@pytest.mark.parametrize("tilt", [0.0, 0.3, -1.0, 2.0, 3.2, 8.0, 60.0])
def test_polya_gammas(tilt: float, stream: Callable[..., Stream]) -> None:
    """By their moments, and E e^{-t x} from the tail on the left to that on the right."""
    x = vectorised.polya_gamma(
        stream((1, 1, 200, 200) if stream is kernels else (1, 1, 40, 100)), tilt
    ).ravel()
    c = max(abs(tilt), 1e-4)
    mean = np.tanh(c / 2) / (2 * c)
    variance = (np.sinh(c) - c) / (4 * c**3 * np.cosh(c / 2) ** 2) if c > 1e-2 else 1 / 24
    assert abs(x.mean() - mean) < 4.5 * np.sqrt(variance / x.size)
    assert stream is plain or x.var() == pytest.approx(variance, rel=0.06)
    for t in (0.5, 5.0, 60.0):
        exact = np.cosh(c / 2) / np.cosh(np.sqrt(c * c / 4 + t / 2))
        found = np.exp(-t * x)
        assert abs(found.mean() - exact) < 4.5 * found.std() / np.sqrt(x.size)


# ---- vectors --------------------------------------------------------------------------


def along(stream: Callable[..., Stream], axis: int, vector: Any) -> tuple[Stream, NDArray[Any]]:
    """A stream with the size of a vector on an axis, and the vector there."""
    shape, broadcast = [2, 30, 30, 30], [1, 1, 1, 1]
    shape[axis] = broadcast[axis] = len(vector)
    return stream(tuple(shape)), np.reshape(vector, broadcast)


AXES = [(kernels, 1), (kernels, 2), (kernels, 3), (plain, 3)]


@pytest.mark.parametrize(("stream", "axis"), AXES)
def test_dirichlet(stream: Callable[..., Stream], axis: int) -> None:
    """x_i ~ Beta(a_i, a - a_i), and x_0 + x_1 ~ Beta(a_0 + a_1, …)."""
    a = np.array([0.05, 0.4, 1.0, 6.0])
    draws = vectorised.dirichlet(*along(stream, axis, a), axis)
    assert np.allclose(draws.sum(axis), 1.0, atol=1e-14)
    x = np.moveaxis(draws, axis, 0).reshape(4, -1)
    for each, shape in zip([*x, x[0] + x[1]], [*a, 0.45], strict=True):
        assert_follows(each, stats.beta(shape, a.sum() - shape).cdf)


@pytest.mark.parametrize("stream", [kernels, plain])
def test_dirichlet_of_tiny_concentrations(stream: Callable[..., Stream]) -> None:
    for concentration in (1e-3, 1e-10, 1e-300):
        draws = vectorised.dirichlet(stream((1, 200, 100, 4)), concentration, 3)
        assert np.allclose(draws.sum(3), 1.0)
        assert_counts_follow(draws.argmax(3).ravel(), np.full(4, 0.25))
    draws = vectorised.dirichlet(stream((1, 1, 10, 3)), np.array([0.0, 1.0, 2.0]), 3)
    assert not draws[..., 0].any()
    assert np.allclose(vectorised.dirichlet(stream((1, 1, 10, 4)), 0.0, 3), 0.25)


@pytest.mark.parametrize(("stream", "axis"), AXES)
@pytest.mark.parametrize("count", [3, 60])
@pytest.mark.parametrize("scale", [1.0, 1e-100])
def test_multinomial(stream: Callable[..., Stream], axis: int, count: int, scale: float) -> None:
    """Entries, and sums of entries, which see their dependence, are binomial. Weights of 0 stand for
    weights that underflowed where there are no others."""
    weights = np.array([0.0, 1.0, 2.0, 5.0])
    source, given = along(stream, axis, weights * scale)
    draws = vectorised.multinomial(source, count, given, axis)
    assert (draws.sum(axis) == count).all()
    x = np.moveaxis(draws, axis, 0).reshape(4, -1)
    for each, p in zip([*x, x[1] + x[3]], [*weights / 8, 0.75], strict=True):
        assert_counts_follow(each, stats.binom.pmf(np.arange(count + 1), count, p))
    uniform = vectorised.multinomial(*along(stream, axis, np.zeros(4))[:1], count, 0.0, axis)
    assert_counts_follow(
        uniform.take(0, axis).ravel(), stats.binom.pmf(np.arange(count + 1), count, 0.25)
    )


def test_a_split_adds_and_keeps_small_last_weights() -> None:
    out = np.array([5, 7, 1])
    draw_multinomial(new_stream(), 0, np.ones(3), out)
    draw_multinomial(new_stream(), 4, np.array([0.0, 1.0, 0.0]), out)
    draw_multinomial(new_stream(), 10**9, np.array([1.0, 1e-20, 3e-20]), out)
    assert out.tolist() == [10**9 + 5, 11, 1]


@pytest.mark.parametrize(("stream", "axis"), AXES)
@pytest.mark.parametrize("level", [0.0, -2000.0, 2000.0])
def test_categorical(stream: Callable[..., Stream], axis: int, level: float) -> None:
    weights = np.array([0.1, 0.0, 0.6, 0.3])
    with np.errstate(divide="ignore"):
        draws = vectorised.categorical(*along(stream, axis, np.log(weights) + level), axis)
    assert (draws.sum(axis) == 1).all()
    assert_counts_follow(np.moveaxis(draws, axis, -1).argmax(-1).ravel(), weights)
    nothing = vectorised.categorical(kernels((1, 1, 900, 3)), -np.inf, 3)
    assert_counts_follow(nothing.argmax(3).ravel(), np.full(3, 1 / 3))


# ---- large counts, and functions that only other kernels call -------------------------


@pytest.mark.parametrize("customers", [1_000, 65_536, 1_000_000, 10**10])
@pytest.mark.parametrize("concentration", [1e-300, 1e-3, 0.5, 40.0, 3e3, 1e6, 1e10, 1e13])
def test_tables_of_many_customers(customers: int, concentration: float) -> None:
    """By their moments; for 10^10 of them no loop over customers would ever end."""
    if customers == 10**10:
        if concentration < 1e6:
            return
        low, high = concentration, concentration + customers
        mean = concentration * (special.digamma(high) - special.digamma(low))
        variance = mean - concentration**2 * (
            special.polygamma(1, low) - special.polygamma(1, high)
        )
        if concentration > 1e12:  # the difference cancels: r / (r + i) = 1 - i / r + i² / r² …
            ratio = customers / concentration
            mean = customers * (1.0 - ratio / 2 + ratio**2 / 3 - ratio**3 / 4)
            variance = customers * (ratio / 2 - 2 * ratio**2 / 3 + 3 * ratio**3 / 4)
    else:
        i = np.arange(1, customers)
        opens = concentration / (concentration + i)
        mean, variance = 1.0 + opens.sum(), (opens * i / (concentration + i)).sum()
    size = 200 if min(customers, concentration) > 1e4 else 4000
    draws = vectorised.crt(kernels((1, 1, 1, size)), customers, concentration).ravel()
    assert ((draws >= 1) & (draws <= customers)).all()
    if variance * size > 1.0:
        assert_moments(draws, mean, variance, kurtosis=3.0 + 1.0 / variance)
    else:  # hardly ever anything but the nearest count
        assert abs(draws.mean() - mean) * size < 20.0


@pytest.mark.parametrize("first", [1, 16, 150])
@pytest.mark.parametrize("concentration", [0.3, 12.0, 90.0, 4e3, 1e300])
def test_slices_of_customers(first: int, concentration: float) -> None:
    """One to ten slices here."""
    last, law = 4 * first + 30, np.ones(1)
    for i in range(first, last):
        opens = concentration / (concentration + i)
        law = np.convolve(law, [1.0 - opens, opens])
    assert_counts_follow(sampler_of(seat_many, np.int64)(first, last, concentration), law)


@pytest.mark.parametrize("rate", [1e-310, 0.01, 0.5, 3.0, 11.0, 25.0, 1e4])
def test_small_truncated_poissons(rate: float) -> None:
    assert_counts_follow(sampler_of(draw_small_truncated, np.int64)(rate), truncated(rate))


def test_gammas_are_zero_only_where_they_underflow() -> None:
    draws = sampler_of(draw_gamma, np.float64)(0.01, size=200_000)
    underflow = math.exp(0.01 * math.log(5e-324)) / math.gamma(1.01)
    assert_moments((draws == 0.0).astype(float), underflow, underflow, kurtosis=1.0 / underflow)


def test_large_bessels() -> None:
    """E n (n - 1) = α² / 4."""
    alpha = 1e6
    mean = 0.5 * alpha * special.ive(0, alpha) / special.ive(1, alpha)
    draws = vectorised.bessel(kernels((1, 1, 1, 4000)), math.log(alpha))
    assert_moments(draws.ravel(), mean, 0.25 * alpha * alpha + mean - mean * mean)


# ---- edges ----------------------------------------------------------------------------

TINY, INF, NAN = np.finfo(float).tiny, np.inf, np.nan
EDGES: list[tuple[str, tuple[Any, ...], float]] = [
    ("gamma", (0.0, 1.0), 0.0), ("gamma", (0.0, 0.0), 0.0), ("gamma", (2.0, INF), TINY),
    ("gamma", (1e-3, INF), TINY), ("gamma", (1e-300, 1.0), TINY), ("log_gamma", (0.0,), -INF),
    ("log_gamma", (NAN,), NAN), ("neg_log_beta", (3.0, 0), 0.0), ("neg_log_beta", (0.0, 0), 0.0),
    ("neg_log_beta", (0.0, 2), INF), ("neg_log_beta", (NAN, 3), NAN), ("bernoulli", (0.0,), 0.0),
    ("bernoulli", (1.0,), 1.0), ("poisson", (0.0,), 0), ("truncated_poisson", (0.0,), 1),
    ("bessel", (-INF,), 1), ("binomial", (0, 0.5), 0), ("binomial", (7, 0.0), 0),
    ("binomial", (7, 1.0), 7), ("binomial", (10**12, 1e-300), 0), ("binomial", (100, NAN), 0),
    ("crt", (0, 0.0), 0), ("crt", (0, 3.0), 0), ("crt", (5, 0.0), 1), ("crt", (1000, 0.0), 1),
    ("crt", (1000, 5e-324), 1), ("crt", (1000, INF), 1000), ("crt", (1000, 1e300), 1000),
    ("crt", (100, NAN), 1), ("hidden_count", (0.0, 0.0), 0), ("hidden_count", (0.0, 1.0, 5), 0),
    ("hidden_count", (1e-300, 0.0, 5), 1), ("gig", (1.0, -1.0, 1.0), NAN),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "value"), EDGES, ids=str)
def test_edges(name: str, given: tuple[Any, ...], value: float) -> None:
    found = getattr(vectorised, name)(kernels((1, 1, 2, 5)), *given)
    np.testing.assert_array_equal(found, np.full((1, 1, 2, 5), value))


def test_further_edges() -> None:
    stream = kernels((1, 1, 10, 100))
    assert (vectorised.gamma(stream, 1e-3, 1.0) >= TINY).all()
    assert not np.isnan(vectorised.log_gamma(stream, 5e-324)).any()
    odds = vectorised.beta_odds(stream, 1e-5, 1e-5)
    assert (odds.min(), odds.max()) == pytest.approx((1e-300, 1e300))
    ends = vectorised.beta_odds(kernels(), 3e-310, 1e-310)
    assert_counts_follow((ends.ravel() < 1.0).astype(int), np.array([0.25, 0.75]))
    assert not np.isnan(vectorised.beta_odds(stream, 0.0, 0.0)).any()
    far = vectorised.log_normal(kernels((1, 1, 2, 2)), np.array([[-1e4, 1e4]]), 1.0)
    assert ((far > 0) & np.isfinite(far)).all()
    assert np.allclose(vectorised.polya_gamma(kernels((1, 1, 10, 10)), 1e4), 0.5e-4, rtol=0.2)
    rate = sampler_of(draw_gamma_rate, np.float64)
    assert [rate(2.0, INF, size=1)[0], rate(0.5, INF, size=1)[0], rate(2.0, 0.0, size=1)[0]] == [
        0,
        0,
        INF,
    ]


def test_plain_edges() -> None:
    """Shapes of 0, counts of 0, and lines without a positive weight."""
    stream = plain((1, 1, 4, 3))
    assert not vectorised.gamma(stream, 0.0, 1.0).any()
    assert not vectorised.neg_log_beta(stream, 1.0, 0).any()
    assert (vectorised.crt(stream, 5, 0.0) == 1).all()
    assert not vectorised.hidden_count(stream, 0.0, 0.0).any()
    assert (vectorised.gamma(stream, 1e-5, 1.0) > 0).all()
