"""The vectorised draws: streams, broadcasting, threads, edges, and the laws once more.

Covers `samplers.rows`, `samplers.stream` and `variates.dirichlet` as well.
"""

import inspect
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pgbn.samplers import Stream, row_kernels, vectorised
from pgbn.samplers.random import restart
from pgbn.samplers.variates.crt import draw_crt

THRESHOLD = 1e-4
KEY = 0xFEDC_BA98_7654_3210  # above 2^63, where signed integers would fail
SMALL = (2, 3, 4, 5)
LARGE = (2, 30, 40, 50)  # above the size where threads are used

# A call of each function whose operands broadcast along different axes.
AXIS = {size: np.linspace(0.2, 3.0, size) for size in (2, 3, 4, 5, 30, 40, 50)}


def calls(shape: tuple[int, int, int, int]) -> dict[str, tuple[Any, ...]]:
    _, first, second, third = shape
    along_first = AXIS[first].reshape(1, first, 1, 1)
    along_second = AXIS[second].reshape(1, 1, second, 1)
    along_third = AXIS[third].reshape(1, 1, 1, third)
    counts = np.arange(first * third).reshape(1, first, 1, third) % 40
    return {
        "gamma": (along_first * along_third, along_second),
        "log_gamma": (along_second * 0.1,),
        "beta_odds": (along_first, along_third),
        "beta": (along_first, along_third),
        "bernoulli": (along_third / 4.0,),
        "poisson": (along_first * along_second * 4.0,),
        "truncated_poisson": (along_third,),
        "bessel": (np.log(along_second * 20.0),),
        "binomial": (counts, along_second / 4.0),
        "crt": (counts, along_second),
        "neg_log_beta": (along_second, counts),
        "dirichlet": (along_first * along_third, 2),
        "multinomial": (counts, along_second * along_third, 2),
        "categorical": (along_second * along_third, 2),
        "gig": (along_first - 1.0, along_second, along_third),
        "polya_gamma": (along_third,),
        "hidden_count": (along_second, along_third, counts),
        "log_normal": (along_first - 1.0, along_second, counts, along_third),
        "uniform": (),
        "normal": (along_first, along_third),
        "exponential": (along_second,),
    }


NAMES = list(calls(SMALL))


def test_every_public_draw_is_tested() -> None:
    draws = [
        name
        for name, found in vars(vectorised).items()
        if inspect.isfunction(found)
        and found.__module__ == vectorised.__name__
        and next(iter(inspect.signature(found).parameters), "") == "stream"
        and not name.startswith("_")
    ]
    assert sorted(NAMES) == sorted(draws)


@pytest.mark.parametrize("name", NAMES)
def test_result(name: str) -> None:
    draw = getattr(vectorised, name)
    first, again = (draw(Stream(KEY, SMALL), *calls(SMALL)[name]) for _ in range(2))
    other = draw(Stream(KEY - 1, SMALL), *calls(SMALL)[name])
    assert first.shape == SMALL
    assert first.flags.c_contiguous
    integer = {
        "hidden_count",
        "poisson",
        "truncated_poisson",
        "bessel",
        "binomial",
        "crt",
        "multinomial",
        "categorical",
    }
    assert first.dtype == (np.int64 if name in integer else np.float64)
    assert np.isfinite(first).all()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("name", NAMES)
def test_threads_do_not_matter(name: str) -> None:
    draw = getattr(vectorised, name)
    alone, two, five = (draw(Stream(KEY, LARGE, n), *calls(LARGE)[name]) for n in (1, 2, 5))
    assert np.array_equal(alone, two)
    assert np.array_equal(alone, five)


@pytest.mark.parametrize("name", [name for name in NAMES if calls(SMALL)[name]])
def test_broadcasting_equals_written_out_operands(name: str) -> None:
    draw = getattr(vectorised, name)
    *operands, last = calls(SMALL)[name]
    if name in ("dirichlet", "multinomial", "categorical"):
        axis = last
        total = (2, 3, 1, 5) if name == "multinomial" else SMALL
        full = [np.broadcast_to(operands[0], total)]
        full += [np.broadcast_to(x, SMALL) for x in operands[1:]]
        full.append(axis)
    else:
        full = [np.broadcast_to(x, SMALL) for x in [*operands, last]]
    stream = Stream(KEY, SMALL)
    assert np.array_equal(draw(stream, *calls(SMALL)[name]), draw(stream, *full))


def test_row_streams() -> None:
    """Row i, along the last axis, is drawn in order from the stream of (key, i)."""
    draws = vectorised.crt(Stream(KEY, SMALL), 25, 2.0).reshape(-1, SMALL[3])
    rng = np.empty(2, np.uint64)
    for row in (0, 1, 23):
        restart(rng, np.uint64(KEY), row)
        assert [draw_crt(rng, 25, 2.0) for _ in range(SMALL[3])] == draws[row].tolist()


def test_operands_of_any_kind() -> None:
    stream = Stream(KEY, SMALL)
    expected = vectorised.gamma(stream, np.full(SMALL, 2.0), np.full(SMALL, 3.0))
    for shape in (2, 2.0, np.float32(2.0), np.array(2), np.full(5, 2), np.full((4, 5), 2.0)):
        assert np.array_equal(vectorised.gamma(stream, shape, 3.0), expected)
    strided = np.full((5, 4, 3, 2), 2.0).T
    assert np.array_equal(vectorised.gamma(stream, strided, 3.0), expected)
    with pytest.raises(ValueError, match="does not broadcast"):
        vectorised.gamma(stream, np.ones((1, 1, 3, 1)), 1.0)
    with pytest.raises(ValueError, match="does not broadcast"):
        vectorised.gamma(Stream(KEY, (1, 1, 1, 1)), np.ones(2), 1.0)
    with pytest.raises(ValueError, match="does not broadcast"):
        vectorised.gamma(stream, np.ones((1, 1, 1, 1, 1)), 1.0)


def test_one_specialisation_per_kernel() -> None:
    test_operands_of_any_kind()
    before = list(row_kernels.gamma_rows.signatures)  # other tests may have asked for others
    test_operands_of_any_kind()
    assert list(row_kernels.gamma_rows.signatures) == before


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0)])
def test_empty(shape: tuple[int, int, int, int]) -> None:
    stream = Stream(KEY, shape)
    assert vectorised.gamma(stream, 1.0, 1.0).shape == shape
    for axis in (1, 2, 3):
        assert vectorised.dirichlet(stream, 1.0, axis).shape == shape
        assert vectorised.multinomial(stream, 3, 1.0, axis).shape == shape


# ---- laws ----

MANY = (2, 10, 20, 50)


def assert_follows(draws: NDArray, distribution: Any) -> None:
    assert stats.kstest(draws.ravel(), distribution.cdf).pvalue > THRESHOLD


def test_gamma_has_a_rate() -> None:
    assert_follows(vectorised.gamma(Stream(KEY, MANY), 2.5, 4.0), stats.gamma(2.5, scale=0.25))


def test_gamma_edges() -> None:
    stream = Stream(KEY, MANY)
    tiny = np.finfo(float).tiny
    assert (vectorised.gamma(stream, 0.0, 1.0) == 0.0).all()
    assert (vectorised.gamma(stream, 0.0, 0.0) == 0.0).all()
    assert (vectorised.gamma(stream, 2.0, np.inf) == tiny).all()
    assert (vectorised.gamma(stream, 1e-3, np.inf) == tiny).all()
    assert (vectorised.gamma(stream, 1e-300, 1.0) == tiny).all()
    assert (vectorised.gamma(stream, 1e-3, 1.0) >= tiny).all()
    assert (vectorised.log_gamma(stream, 0.0) == -np.inf).all()


def test_beta() -> None:
    stream = Stream(KEY, MANY)
    assert_follows(vectorised.beta(stream, 0.5, 2.0), stats.beta(0.5, 2.0))
    assert_follows(vectorised.beta_odds(stream, 0.5, 2.0), stats.betaprime(2.0, 0.5))
    odds = vectorised.beta_odds(stream, 1e-5, 1e-5)
    assert odds.min() == pytest.approx(1e-300)
    assert odds.max() == pytest.approx(1e300)
    assert_follows(vectorised.neg_log_beta(stream, 0.1, 1), stats.expon(scale=10.0))


def test_uniform_normal_exponential() -> None:
    stream = Stream(KEY, MANY)
    assert_follows(vectorised.uniform(stream), stats.uniform())
    assert_follows(vectorised.normal(stream, 2.0, 3.0), stats.norm(2.0, 3.0))
    assert_follows(vectorised.exponential(stream, 4.0), stats.expon(scale=0.25))


def test_bernoulli() -> None:
    draws = vectorised.bernoulli(Stream(KEY, MANY), 0.3)
    assert set(np.unique(draws)) == {0.0, 1.0}
    assert stats.binomtest(int(draws.sum()), draws.size, 0.3).pvalue > THRESHOLD
    assert (vectorised.bernoulli(Stream(KEY, MANY), 0.0) == 0.0).all()
    assert (vectorised.bernoulli(Stream(KEY, MANY), 1.0) == 1.0).all()


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_dirichlet_marginals(axis: int) -> None:
    """x_i ~ Beta(a_i, a - a_i), and x_0 + x_1 ~ Beta(a_0 + a_1, ...)."""
    concentration = np.array([0.05, 0.4, 1.0, 6.0])
    shape = [5, 40, 40, 40]
    shape[axis] = 4
    broadcast = [1, 1, 1, 1]
    broadcast[axis] = 4
    draws = vectorised.dirichlet(Stream(KEY, tuple(shape)), concentration.reshape(broadcast), axis)
    assert np.allclose(draws.sum(axis), 1.0, atol=1e-14)
    x = np.moveaxis(draws, axis, 0).reshape(4, -1)
    total = concentration.sum()
    for xi, ai in zip(x, concentration, strict=True):
        assert_follows(xi, stats.beta(ai, total - ai))
    assert_follows(x[0] + x[1], stats.beta(0.45, total - 0.45))


def test_dirichlet_of_tiny_concentrations() -> None:
    for concentration in (1e-3, 1e-10, 1e-300):
        draws = vectorised.dirichlet(Stream(KEY, (1, 200, 100, 4)), concentration, 3)
        assert np.allclose(draws.sum(3), 1.0)
        winners = np.bincount(draws.argmax(3).ravel(), minlength=4)
        assert stats.chisquare(winners).pvalue > THRESHOLD
    with_zero = np.array([0.0, 1.0, 2.0])
    draws = vectorised.dirichlet(Stream(KEY, (1, 1, 10, 3)), with_zero, 3)
    assert (draws[..., 0] == 0.0).all()
    assert np.allclose(vectorised.dirichlet(Stream(KEY, (1, 1, 10, 4)), 0.0, 3), 0.25)


@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize("count", [3, 60])
def test_multinomial(axis: int, count: int) -> None:
    weights = np.array([0.0, 1.0, 2.0, 5.0])
    shape = [2, 50, 50, 50]
    shape[axis] = 4
    broadcast = [1, 1, 1, 1]
    broadcast[axis] = 4
    stream = Stream(KEY, tuple(shape))
    draws = vectorised.multinomial(stream, count, weights.reshape(broadcast), axis)
    assert (draws.sum(axis) == count).all()
    x = np.moveaxis(draws, axis, 0).reshape(4, -1)
    assert (x[0] == 0).all()
    p = weights / weights.sum()
    for xi, pi in zip(x[1:], p[1:], strict=True):
        variance = count * pi * (1.0 - pi)
        assert abs(xi.mean() - count * pi) < 4.0 * np.sqrt(variance / xi.size)
        assert xi.var() == pytest.approx(variance, rel=0.06)
    covariance = np.cov(x[1], x[3])[0, 1]
    assert covariance == pytest.approx(-count * p[1] * p[3], rel=0.12)


def test_multinomial_refuses() -> None:
    stream = Stream(KEY, SMALL)
    with pytest.raises(ValueError, match="axis must be"):
        vectorised.multinomial(stream, 3, 1.0, 0)
    with pytest.raises(ValueError, match="size 1 on the axis 3"):
        vectorised.multinomial(stream, np.ones(5), 1.0, 3)
    with pytest.raises(ValueError, match="axis must be"):
        vectorised.dirichlet(stream, 1.0, -1)
