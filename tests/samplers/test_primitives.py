"""The scalar variates against exact probabilities, distribution functions and moments."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from scipy import special, stats

from pgbn.samplers.random import exponential, normal, restart
from pgbn.samplers.variates.bessel import draw_bessel
from pgbn.samplers.variates.beta import draw_log_beta_odds, draw_neg_log_beta
from pgbn.samplers.variates.binomial import draw_binomial
from pgbn.samplers.variates.crt import draw_crt
from pgbn.samplers.variates.gamma import draw_gamma, draw_gamma_rate, draw_log_gamma
from pgbn.samplers.variates.multinomial import draw_multinomial
from pgbn.samplers.variates.poisson import draw_poisson, draw_truncated_poisson

THRESHOLD = 1e-4  # per case, with fixed seeds: a sound sampler passes for good or is looked at
DRAWS = 20_000


def new_stream(row: int = 0) -> NDArray[np.uint64]:
    rng = np.empty(2, np.uint64)
    restart(rng, np.uint64(20_240_229), row)
    return rng


# Loops over the primitives. A closure over the primitive compiles once for each of them.
def _loop(primitive: Callable, dtype: type) -> Callable:
    @njit
    def zero(rng, size):
        out = np.empty(size, dtype)
        for i in range(size):
            out[i] = primitive(rng)
        return out

    @njit
    def one(rng, size, a):
        out = np.empty(size, dtype)
        for i in range(size):
            out[i] = primitive(rng, a)
        return out

    @njit
    def two(rng, size, a, b):
        out = np.empty(size, dtype)
        for i in range(size):
            out[i] = primitive(rng, a, b)
        return out

    def draw(*parameters: float, size: int = DRAWS, row: int = 0) -> NDArray:
        return (zero, one, two)[len(parameters)](new_stream(row), size, *parameters)

    return draw


sample_normal = _loop(normal, np.float64)
sample_exponential = _loop(exponential, np.float64)
sample_gamma = _loop(draw_gamma, np.float64)
sample_gamma_rate = _loop(draw_gamma_rate, np.float64)
sample_log_gamma = _loop(draw_log_gamma, np.float64)
sample_log_beta_odds = _loop(draw_log_beta_odds, np.float64)
sample_neg_log_beta = _loop(draw_neg_log_beta, np.float64)
sample_crt = _loop(draw_crt, np.int64)
sample_binomial = _loop(draw_binomial, np.int64)
sample_poisson = _loop(draw_poisson, np.int64)
sample_truncated_poisson = _loop(draw_truncated_poisson, np.int64)
sample_bessel = _loop(draw_bessel, np.int64)


def assert_follows(draws: NDArray, cdf: Callable) -> None:
    """Kolmogorov-Smirnov."""
    assert not np.isnan(draws).any()
    assert stats.kstest(draws, cdf).pvalue > THRESHOLD


def assert_counts_follow(draws: NDArray[np.int64], probability: NDArray) -> None:
    """Chi-square of integers 0, 1, ... against their probabilities; rare values are pooled."""
    assert draws.min() >= 0
    assert draws.max() < probability.size
    assert probability.sum() == pytest.approx(1.0, abs=1e-6)
    assert (probability[np.unique(draws)] > 0.0).all()
    observed = np.bincount(draws, minlength=probability.size)
    expected = probability * draws.size
    rare = expected < 10.0
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 10.0 and expected.size > 1:  # too few even together: pool with a common one
        observed[-2] += observed[-1]
        expected[-2] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    if expected.size > 1:
        assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > (
            THRESHOLD
        )


def assert_moments(draws: NDArray, mean: float, variance: float, kurtosis: float = 3.0) -> None:
    """The sample's mean and variance lie within 4 standard errors."""
    size = draws.size
    assert abs(draws.mean() - mean) < 4.0 * math.sqrt(variance / size)
    error = variance * math.sqrt((kurtosis - 1.0) / size)
    assert abs(np.mean((draws - mean) ** 2) - variance) < 4.5 * error


# ---- normal and exponential ----


def test_normal() -> None:
    draws = sample_normal(size=1_000_000)
    assert_follows(draws, stats.norm.cdf)
    assert_moments(draws, 0.0, 1.0)
    assert_follows(draws[draws > 3.0], stats.truncnorm(3.0, np.inf).cdf)
    assert_follows(draws[abs(draws) < 0.1], stats.uniform(-0.1, 0.2).cdf)  # flat to 1/400


def test_exponential() -> None:
    draws = sample_exponential(size=1_000_000)
    assert (draws > 0.0).all()
    assert_follows(draws, stats.expon.cdf)
    assert_moments(draws, 1.0, 1.0, kurtosis=9.0)
    assert_follows(draws[draws > 7.0] - 7.0, stats.expon.cdf)


def test_distinct_rows_are_uncorrelated() -> None:
    rows = np.array([sample_normal(size=200, row=row) for row in range(500)])
    neighbours = np.mean(rows[1:] * rows[:-1]) * math.sqrt(rows[1:].size)
    assert abs(neighbours) < 4.0
    assert abs(rows[:, 0].mean()) * math.sqrt(500) < 4.0


# ---- gamma ----


@pytest.mark.parametrize("shape", [0.05, 0.3, 0.999, 1.0, 1.5, 7.0, 150.0, 1e6])
def test_gamma(shape: float) -> None:
    distribution = stats.gamma(shape)
    assert_follows(sample_gamma(shape), distribution.cdf)
    assert_follows(np.exp(sample_log_gamma(shape)), distribution.cdf)
    assert_follows(sample_gamma_rate(shape, 4.0), stats.gamma(shape, scale=0.25).cdf)


@pytest.mark.parametrize("shape", [1e6, 1e9, 1e12])
def test_gamma_of_large_shape_is_normal(shape: float) -> None:
    for draws in (sample_gamma(shape), np.exp(sample_log_gamma(shape))):
        # The skewness, 2 / sqrt(shape), is far below what 20,000 draws show.
        assert_follows((draws - shape) / math.sqrt(shape), stats.norm.cdf)


@pytest.mark.parametrize("shape", [1e-3, 1e-5, 1e-20, 1e-100, 1e-300])
def test_log_gamma_of_tiny_shape(shape: float) -> None:
    # P(ln x < t) = gammainc(shape, e^t) = e^(shape t) / Gamma(1 + shape) far below 0.
    assert_follows(-shape * sample_log_gamma(shape) - special.gammaln(1.0 + shape), stats.expon.cdf)


def test_gamma_is_zero_only_where_it_underflows() -> None:
    shape = 0.01
    draws = sample_gamma(shape, size=200_000)
    underflow = math.exp(shape * math.log(5e-324)) / math.gamma(1.0 + shape)
    assert_moments((draws == 0.0).astype(float), underflow, underflow, kurtosis=1.0 / underflow)
    # A small rate brings back what would have underflown.
    assert (sample_gamma_rate(shape, 1e-300) > 0.0).all()
    assert_follows(sample_gamma_rate(shape, 1e-300) * 1e-300, stats.gamma(shape).cdf)


def test_gamma_edges() -> None:
    assert (sample_gamma(0.0, size=10) == 0.0).all()
    assert (sample_log_gamma(0.0, size=10) == -np.inf).all()
    assert (sample_gamma_rate(2.0, np.inf, size=10) == 0.0).all()
    assert (sample_gamma_rate(0.5, np.inf, size=10) == 0.0).all()
    assert (sample_gamma_rate(2.0, 0.0, size=10) == np.inf).all()
    assert not np.isnan(sample_log_gamma(5e-324, size=100)).any()


# ---- beta ----


@pytest.mark.parametrize("a", [0.02, 0.7, 3.0, 1e4])
@pytest.mark.parametrize("b", [0.3, 1.0, 250.0])
def test_log_beta_odds(a: float, b: float) -> None:
    # odds (1 - p) / p <= z  <=>  p >= 1 / (1 + z)
    draws = sample_log_beta_odds(a, b)
    assert_follows(draws, lambda z: stats.beta.sf(special.expit(-z), a, b))


@pytest.mark.parametrize("a", [0.02, 0.7, 3.0, 1e4])
@pytest.mark.parametrize("n", [1, 3, 1000])
def test_neg_log_beta(a: float, n: int) -> None:
    assert_follows(sample_neg_log_beta(a, n), lambda q: stats.beta.sf(np.exp(-q), a, n))


def test_neg_log_beta_of_one_is_exponential() -> None:
    for a in (1e-300, 1e-10, 1e-3, 1.0, 1e3, 1e12):
        assert_follows(a * sample_neg_log_beta(a, 1), stats.expon.cdf)


def test_beta_edges() -> None:
    assert (sample_neg_log_beta(3.0, 0, size=10) == 0.0).all()
    assert (sample_neg_log_beta(0.0, 0, size=10) == 0.0).all()
    assert (sample_neg_log_beta(0.0, 2, size=10) == np.inf).all()
    ends = sample_log_beta_odds(3e-310, 1e-310)
    assert not np.isnan(ends).any()
    assert_moments((ends < 0.0).astype(float), 0.75, 0.1875, kurtosis=7 / 3)
    assert not np.isnan(sample_log_beta_odds(0.0, 0.0)).any()


# ---- Chinese restaurant ----


def tables_probability(customers: int, concentration: float) -> NDArray:
    """P(l tables) by the recursion of the unsigned Stirling numbers, one customer at a time."""
    probability = np.zeros(customers + 1)
    probability[0] = 1.0
    for i in range(customers):
        opens = 1.0 if i == 0 else concentration / (concentration + i)
        probability[1:] = probability[1:] * (1.0 - opens) + probability[:-1] * opens
        probability[0] = 0.0
    return probability


@pytest.mark.parametrize("customers", [1, 2, 3, 10, 16, 17, 18, 30, 33, 64, 200])
@pytest.mark.parametrize("concentration", [1e-300, 1e-3, 0.3, 1.0, 3.0, 12.0, 90.0, 400.0, 1e5])
def test_crt(customers: int, concentration: float) -> None:
    draws = sample_crt(customers, concentration)
    assert_counts_follow(draws, tables_probability(customers, concentration))


@pytest.mark.parametrize("customers", [1_000, 65_536, 1_000_000])
@pytest.mark.parametrize("concentration", [1e-300, 1e-3, 0.5, 40.0, 3e3, 1e6, 1e9, 1e12])
def test_crt_moments(customers: int, concentration: float) -> None:
    i = np.arange(1, customers)
    opens = concentration / (concentration + i)
    joins = i / (concentration + i)
    mean, variance = 1.0 + opens.sum(), (opens * joins).sum()
    by_digamma = concentration * (
        special.digamma(customers + concentration) - special.digamma(concentration)
    )
    if 1e-3 <= concentration <= 1e6:
        assert mean == pytest.approx(by_digamma, rel=1e-6)
    size = 200 if min(customers, concentration) > 1e4 else 4000
    draws = sample_crt(customers, concentration, size=size)
    assert ((draws >= 1) & (draws <= customers)).all()
    if variance * size > 1.0:
        assert_moments(draws, mean, variance, kurtosis=3.0 + 1.0 / variance)
    else:  # hardly ever anything but the nearest count
        assert abs(draws.mean() - mean) * size < 20.0


def test_crt_edges() -> None:
    assert (sample_crt(0, 0.0, size=10) == 0).all()
    assert (sample_crt(0, 3.0, size=10) == 0).all()
    assert (sample_crt(5, 0.0, size=10) == 1).all()
    assert (sample_crt(1000, 0.0, size=10) == 1).all()
    assert (sample_crt(1000, 5e-324, size=10) == 1).all()
    assert (sample_crt(1000, np.inf, size=10) == 1000).all()
    assert (sample_crt(1000, 1e300, size=10) == 1000).all()


# ---- binomial, Poisson, Bessel ----


@pytest.mark.parametrize("n", [1, 2, 10, 45, 300, 5_000])
@pytest.mark.parametrize("p", [1e-9, 0.003, 0.2, 0.5, 0.77, 0.9999])
def test_binomial(n: int, p: float) -> None:
    assert_counts_follow(sample_binomial(n, p), stats.binom.pmf(np.arange(n + 1), n, p))


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("p", [1e-3, 0.5, 0.9])
def test_binomial_moments(n: int, p: float) -> None:
    draws = sample_binomial(n, p)
    assert ((draws >= 0) & (draws <= n)).all()
    assert_moments(draws - n * p, 0.0, n * p * (1.0 - p))


def test_binomial_edges() -> None:
    assert (sample_binomial(0, 0.5, size=10) == 0).all()
    assert (sample_binomial(7, 0.0, size=10) == 0).all()
    assert (sample_binomial(7, 1.0, size=10) == 7).all()
    assert (sample_binomial(10**12, 1e-300, size=10) == 0).all()


@pytest.mark.parametrize("rate", [1e-12, 0.01, 1.0, 5.0, 11.9, 12.1, 14.0, 30.0, 300.0, 4e4])
def test_poisson(rate: float) -> None:
    counts = np.arange(int(rate + 12.0 * math.sqrt(rate) + 20.0))
    assert_counts_follow(sample_poisson(rate), stats.poisson.pmf(counts, rate))


@pytest.mark.parametrize("rate", [1e6, 1e9, 1e12])
def test_poisson_moments(rate: float) -> None:
    draws = sample_poisson(rate) - rate
    assert_moments(draws, 0.0, rate)
    assert_follows(draws / math.sqrt(rate), stats.norm.cdf)


@pytest.mark.parametrize("rate", [1e-310, 1e-12, 0.01, 0.5, 3.0, 11.0, 25.0, 700.0, 1e4])
def test_truncated_poisson(rate: float) -> None:
    counts = np.arange(int(rate + 12.0 * math.sqrt(rate) + 20.0))
    probability = np.zeros(counts.size)
    # rate^(n-1) / n! over its sum, in logs: safe as rate -> 0
    log_weight = (counts[1:] - 1) * math.log(rate) - special.gammaln(counts[1:] + 1.0)
    probability[1:] = special.softmax(log_weight)
    assert_counts_follow(sample_truncated_poisson(rate), probability)


def test_poisson_edges() -> None:
    assert (sample_poisson(0.0, size=10) == 0).all()
    assert (sample_truncated_poisson(0.0, size=10) == 1).all()


@pytest.mark.parametrize("alpha", [1e-200, 1e-8, 0.1, 1.0, 5.0, 39.0, 41.0, 300.0, 5000.0])
def test_bessel(alpha: float) -> None:
    counts = np.arange(1, int(0.5 * alpha + 8.0 * math.sqrt(alpha) + 30.0))
    log_weight = 2.0 * (counts - 1) * math.log(alpha / 2.0)
    log_weight -= special.gammaln(counts + 1.0) + special.gammaln(counts)
    probability = np.append(0.0, special.softmax(log_weight))
    assert_counts_follow(sample_bessel(math.log(alpha)), probability)


def test_bessel_of_large_alpha() -> None:
    alpha = 1e6
    mean = 0.5 * alpha * special.ive(0, alpha) / special.ive(1, alpha)
    second = 0.25 * alpha * alpha + mean  # E n (n - 1) = alpha^2 / 4
    draws = sample_bessel(math.log(alpha), size=4000)
    assert_moments(draws, mean, second - mean * mean)


def test_bessel_edges() -> None:
    assert (sample_bessel(-np.inf, size=10) == 1).all()


def test_nan_does_not_hang() -> None:
    assert np.isnan(sample_gamma(np.nan, size=2)).all()
    assert np.isnan(sample_log_gamma(np.nan, size=2)).all()
    assert np.isnan(sample_neg_log_beta(np.nan, 3, size=2)).all()
    for draw in (sample_poisson, sample_truncated_poisson, sample_bessel):
        assert (draw(np.nan, size=2) <= 1).all()
    assert (sample_binomial(100, np.nan, size=2) == 0).all()
    assert (sample_crt(100, np.nan, size=2) == 1).all()


# ---- multinomial ----


@njit
def _splits(rng, size, count, weights):
    out = np.zeros((size, weights.size), np.int64)
    for i in range(size):
        draw_multinomial(rng, count, weights, out[i])
    return out


WEIGHTS = np.array([0.0, 3.0, 0.5, 0.0, 1e-3, 2.0, 1e-200, 1.0, 0.0])


@pytest.mark.parametrize(
    "count", [1, 2, 9, 10, 200]
)  # both methods: up to and beyond the 9 entries
@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_multinomial(count: int, scale: float) -> None:
    splits = _splits(new_stream(), DRAWS, count, WEIGHTS * scale)
    assert (splits.sum(1) == count).all()
    assert (splits[:, WEIGHTS == 0.0] == 0).all()
    p = WEIGHTS / WEIGHTS.sum()
    for k in range(p.size):
        assert_counts_follow(splits[:, k], stats.binom.pmf(np.arange(count + 1), count, p[k]))
    # Sums of entries are binomial as well: this sees their dependence.
    pair = splits[:, 1] + splits[:, 7]
    assert_counts_follow(pair, stats.binom.pmf(np.arange(count + 1), count, p[1] + p[7]))


@pytest.mark.parametrize("count", [3, 500])
def test_multinomial_of_zero_weights_is_uniform(count: int) -> None:
    splits = _splits(new_stream(), DRAWS, count, np.zeros(4))
    for k in range(4):
        assert_counts_follow(splits[:, k], stats.binom.pmf(np.arange(count + 1), count, 0.25))


def test_multinomial_adds_and_keeps_small_last_weights() -> None:
    out = np.array([5, 7])
    draw_multinomial(new_stream(), 0, np.array([1.0, 1.0]), out)
    assert out.tolist() == [5, 7]
    draw_multinomial(new_stream(), 4, np.array([0.0, 1.0]), out)
    assert out.tolist() == [5, 11]
    splits = _splits(new_stream(), 200, 10**9, np.array([1.0, 1e-20, 3e-20]))
    assert (splits[:, 0] == 10**9).all()
