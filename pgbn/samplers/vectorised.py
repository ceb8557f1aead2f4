"""Arrays of independent draws, for the authors of rules.

Every function takes a `Stream` and operands that broadcast to its shape as in numpy, and returns
a new C-contiguous array of that shape. The draws depend on the key and the operands, never on the
number of threads. Operands that are C-contiguous float64 (counts: int64) arrays of 4 dimensions
are used as they are; others are converted. A stream may have variates of its own, which then draw
in place of the kernels of this module.
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.samplers.elementary import exp_of
from pgbn.samplers.executor import SERIAL
from pgbn.samplers.random import Stream
from pgbn.samplers.row_kernels import (
    COUNT,
    PARALLEL,
    REAL,
    bernoulli_rows,
    bessel_rows,
    beta_odds_rows,
    binomial_rows,
    blank,
    categorical_lines,
    crt_rows,
    exponential_rows,
    gamma_rows,
    gig_rows,
    hidden_count_rows,
    log_gamma_rows,
    log_rate_rows,
    multinomial_lines,
    neg_log_beta_rows,
    normal_rows,
    operand,
    poisson_rows,
    polya_gamma_rows,
    run,
    softmax_lines,
    truncated_poisson_rows,
    uniform_rows,
)

__all__ = [
    "bernoulli",
    "bessel",
    "beta",
    "beta_odds",
    "binomial",
    "categorical",
    "crt",
    "dirichlet",
    "exponential",
    "gamma",
    "gig",
    "hidden_count",
    "log_gamma",
    "log_normal",
    "multinomial",
    "neg_log_beta",
    "normal",
    "poisson",
    "polya_gamma",
    "truncated_poisson",
    "uniform",
]

F = TypeVar("F", bound=Callable[..., Any])

_SAFE_SUM = 0.1  # P(all gammas < 1e-300) = 1e-300^(sum of the shapes) is below 1e-30 from here on


def _or_by_own(draw: F) -> F:
    """A stream that has its own variates draws by them (`Stream.variates`)."""
    name = draw.__name__

    @wraps(draw)
    def choose(stream: Stream, *arguments: Any, **named: Any) -> Any:
        if stream.variates is None:
            return draw(stream, *arguments, **named)
        return getattr(stream.variates, name)(stream, *arguments, **named)

    return cast(F, choose)


def _entries(
    kernel: Any, stream: Stream, *operands: Any, kind: Any = REAL, counts: tuple[int, ...] = ()
) -> NDArray[Any]:
    """An array of a kind, filled by a kernel; ``counts`` says which operands are counts."""
    kinds = [COUNT if i in counts else REAL for i in range(len(operands))]
    given = [operand(each, own, stream.shape) for each, own in zip(operands, kinds, strict=True)]
    return run(kernel, stream, blank(stream, kind), *given)


@_or_by_own
def uniform(stream: Stream) -> NDArray[np.float64]:
    """x ~ U(0, 1), never 0 and never 1.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.uniform(stream).round(3)
    array([[[[0.373, 0.924, 0.762, 0.792]]]])
    """
    return _entries(uniform_rows, stream)


@_or_by_own
def normal(stream: Stream, mean: ArrayLike = 0.0, sd: ArrayLike = 1.0) -> NDArray[np.float64]:
    """x ~ N(mean, sd²).

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    mean : array_like, default 0
        The mean.
    sd : array_like, default 1
        The standard deviation.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.normal(stream, mean=10.0).round(3)
    array([[[[10.395,  9.704,  9.503,  8.716]]]])
    """
    mu, sigma = operand(mean, REAL, stream.shape), operand(sd, REAL, stream.shape)
    return run(normal_rows, stream, blank(stream)) * sigma + mu


@_or_by_own
def exponential(stream: Stream, rate: ArrayLike = 1.0) -> NDArray[np.float64]:
    """x ~ Exp(rate), with mean 1 / rate.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    rate : array_like, default 1
        The rate, 1 / mean.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.exponential(stream, rate=2.0).round(3)
    array([[[[0.054, 1.148, 0.333, 2.243]]]])
    """
    each = operand(rate, REAL, stream.shape)
    return run(exponential_rows, stream, blank(stream)) / each


@_or_by_own
def gamma(stream: Stream, shape: ArrayLike, rate: ArrayLike) -> NDArray[np.float64]:
    """x ~ Gam(shape, RATE), from 2.2e-308 to 1e300; exactly 0 if the shape is 0.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    shape : array_like
        The shape, not negative.
    rate : array_like
        The rate, positive.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.gamma(stream, shape=2.0, rate=[1.0, 1.0, 10.0, 10.0]).round(3)
    array([[[[3.487, 2.6  , 0.211, 0.237]]]])
    """
    return _entries(gamma_rows, stream, shape, rate)


@_or_by_own
def gig(stream: Stream, order: ArrayLike, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """x ~ GIG(order, a, b), with density proportional to x^(order-1) exp(-(a x + b / x) / 2).

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    order : array_like
        Any real number.
    a, b : array_like
        Not negative: a may be 0 if the order is negative, b if it is positive.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.gig(stream, order=1.0, a=2.0, b=3.0).round(3)
    array([[[[0.401, 4.362, 1.358, 2.129]]]])
    """
    return _entries(gig_rows, stream, order, a, b)


@_or_by_own
def polya_gamma(stream: Stream, tilt: ArrayLike) -> NDArray[np.float64]:
    """x ~ PG(1, tilt), Pólya-gamma: of mean tanh(tilt / 2) / (2 tilt).

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    tilt : array_like
        Any real number.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.polya_gamma(stream, tilt=2.0).round(3)
    array([[[[0.491, 0.114, 0.057, 0.416]]]])
    """
    return _entries(polya_gamma_rows, stream, tilt)


@_or_by_own
def log_gamma(stream: Stream, shape: ArrayLike) -> NDArray[np.float64]:
    """ln x, x ~ Gam(shape, 1); -inf if the shape is 0.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    shape : array_like
        The shape, not negative; it may be far too small for `gamma`.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.log_gamma(stream, shape=1e-3).round(1)
    array([[[[ -666.4,  -352.5,  -387.2, -2077.2]]]])
    """
    return _entries(log_gamma_rows, stream, shape)


@_or_by_own
def log_normal(
    stream: Stream,
    mean: ArrayLike,
    precision: ArrayLike,
    count: ArrayLike = 0.0,
    exposure: ArrayLike = 0.0,
) -> NDArray[np.float64]:
    """x, ln x ~ N(mean, 1 / precision), given a count n ~ Poisson(exposure · x); from 1e-300 to
    1e150.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    mean : array_like
        The mean of ln x.
    precision : array_like
        1 / variance of ln x, positive.
    count : array_like, default 0
        A count that x caused.
    exposure : array_like, default 0
        The exposure of that count; 0 if there is none.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.log_normal(stream, mean=0.0, precision=4.0, count=20, exposure=2.0).round(2)
    array([[[[5.71, 6.06, 5.04, 8.75]]]])
    """
    parts = [operand(each, REAL, stream.shape) for each in (mean, precision, count, exposure)]
    logs = run(log_rate_rows, stream, np.empty(stream.shape), *parts)
    return np.asarray(exp_of(np.clip(logs, -690.0, 345.0)))


@_or_by_own
def beta_odds(stream: Stream, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """(1 - p) / p with p ~ Beta(a, b), clipped into [1e-300, 1e300].

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    a, b : array_like
        The parameters of the Beta distribution of p, positive.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.beta_odds(stream, a=2.0, b=3.0).round(3)
    array([[[[ 0.867,  0.842,  1.257, 24.637]]]])
    """
    return _entries(beta_odds_rows, stream, a, b)


@_or_by_own
def beta(stream: Stream, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """p ~ Beta(a, b), in [1e-300, 1]; use `beta_odds` where 1 - p matters.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    a, b : array_like
        The parameters, positive.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.beta(stream, a=2.0, b=3.0).round(3)
    array([[[[0.536, 0.543, 0.443, 0.039]]]])
    """
    odds = beta_odds(stream, a, b)
    odds += 1.0
    return np.reciprocal(odds, out=odds)


@_or_by_own
def neg_log_beta(stream: Stream, a: ArrayLike, n: ArrayLike) -> NDArray[np.float64]:
    """-ln s, s ~ Beta(a, n), for counts n; 0 if n is 0.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    a : array_like
        The first parameter, positive.
    n : array_like of int
        The second parameter, a count.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.neg_log_beta(stream, a=2.0, n=[0, 1, 10, 100]).round(3)
    array([[[[0.   , 0.141, 1.629, 3.554]]]])
    """
    return _entries(neg_log_beta_rows, stream, a, n, counts=(1,))


@_or_by_own
def bernoulli(stream: Stream, p: ArrayLike) -> NDArray[np.float64]:
    """1.0 with probability p, else 0.0.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    p : array_like
        The probability of 1.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.bernoulli(stream, p=[0.0, 0.5, 0.5, 1.0])
    array([[[[0., 0., 0., 1.]]]])
    """
    return _entries(bernoulli_rows, stream, p)


@_or_by_own
def poisson(stream: Stream, rate: ArrayLike) -> NDArray[np.int64]:
    """n ~ Poisson(rate).

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    rate : array_like
        The rate, not negative.

    Returns
    -------
    ndarray of int
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.poisson(stream, rate=[0.0, 1.0, 10.0, 1000.0])
    array([[[[   0,    1,   15, 1017]]]])
    """
    return _entries(poisson_rows, stream, rate, kind=COUNT)


@_or_by_own
def truncated_poisson(stream: Stream, rate: ArrayLike) -> NDArray[np.int64]:
    """n ~ Poisson(rate) given n >= 1.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    rate : array_like
        The rate of the Poisson distribution, not negative.

    Returns
    -------
    ndarray of int
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.truncated_poisson(stream, rate=[0.0, 1.0, 10.0, 1000.0])
    array([[[[  1,   3,  12, 968]]]])
    """
    return _entries(truncated_poisson_rows, stream, rate, kind=COUNT)


@_or_by_own
def bessel(stream: Stream, log_alpha: ArrayLike) -> NDArray[np.int64]:
    """n >= 1 with P(n) proportional to (alpha / 2)^(2n) / (n! (n - 1)!), given ln alpha.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    log_alpha : array_like
        ln alpha.

    Returns
    -------
    ndarray of int
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.bessel(stream, log_alpha=[0.0, 1.0, 2.0, 3.0])
    array([[[[ 1,  3,  5, 12]]]])
    """
    return _entries(bessel_rows, stream, log_alpha, kind=COUNT)


@_or_by_own
def hidden_count(
    stream: Stream, w: ArrayLike, offset: ArrayLike, count: ArrayLike = -1
) -> NDArray[np.int64]:
    """h with P(h) proportional to w^h Γ(a + h + m) / (h! Γ(a + h)), a = ``offset``, m = ``count``;
    without a count (below 0) to w^h / (h! Γ(a + h)), the Bessel law of order a - 1 at 2√w.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    w : array_like
        Not negative.
    offset : array_like
        The shape a that the count adds to, not negative.
    count : array_like of int, default -1
        The count m, or a number below 0.

    Returns
    -------
    ndarray of int
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.hidden_count(stream, w=9.0, offset=1.0, count=[0, 0, 5, 5])
    array([[[[10,  5, 10, 10]]]])
    """
    return _entries(hidden_count_rows, stream, w, offset, count, kind=COUNT, counts=(2,))


@_or_by_own
def binomial(stream: Stream, n: ArrayLike, p: ArrayLike) -> NDArray[np.int64]:
    """k ~ Binomial(n, p).

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    n : array_like of int
        The number of trials.
    p : array_like
        The probability of success.

    Returns
    -------
    ndarray of int
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.binomial(stream, n=100, p=[0.0, 0.1, 0.5, 1.0])
    array([[[[  0,   9,  47, 100]]]])
    """
    return _entries(binomial_rows, stream, n, p, kind=COUNT, counts=(0,))


@_or_by_own
def crt(stream: Stream, m: ArrayLike, r: ArrayLike) -> NDArray[np.int64]:
    """l ~ CRT(m, r): tables of m customers at concentration r; 1 where m > 0 = r.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    m : array_like of int
        The number of customers.
    r : array_like
        The concentration, not negative.

    Returns
    -------
    ndarray of int
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.crt(stream, m=100, r=[0.0, 0.1, 1.0, 10.0])
    array([[[[ 1,  1,  4, 26]]]])
    """
    return _entries(crt_rows, stream, m, r, kind=COUNT, counts=(0,))


@_or_by_own
def dirichlet(stream: Stream, concentration: ArrayLike, axis: Any) -> NDArray[np.float64]:
    """x ~ Dir(concentration) along ``axis`` (from 1 on), or over the cells of several axes: gammas,
    divided by their sum.

    If all gammas of a line may underflow, it is the softmax of their logarithms.
    Concentrations of 0 give 0; a line of zeros only gives the uniform distribution.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    concentration : array_like
        The concentrations, not negative.
    axis : int or tuple of int
        The axes over whose cells x sums to one; not the first.

    Returns
    -------
    ndarray of float
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.dirichlet(stream, concentration=[1.0, 1.0, 5.0, 5.0], axis=3).round(3)
    array([[[[0.138, 0.09 , 0.372, 0.4  ]]]])
    """
    if isinstance(axis, tuple):
        return _over_cells(stream, concentration, axis)
    if len(stream.shape) > 4:
        whole = stream.shape
        stream, (concentration,), axis = _around(stream, axis, concentration)
        return dirichlet(stream, concentration, axis).reshape(whole)
    size = _size_of_axis(stream, axis)
    shape = operand(concentration, REAL, stream.shape)
    sums = shape.sum(axis=axis) * (size // shape.shape[axis])
    if sums.size and sums.min() >= _SAFE_SUM:
        out = gamma(stream, shape, 1.0)
        out /= out.sum(axis=axis, keepdims=True)
        return out
    out = log_gamma(stream, shape)
    before = math.prod(stream.shape[:axis])
    _run_lines(softmax_lines, stream, size, out.reshape(before, size, -1 if out.size else 0))
    return out


@_or_by_own
def multinomial(
    stream: Stream, n: ArrayLike, probability: ArrayLike, axis: int
) -> NDArray[np.int64]:
    """x ~ Multinomial(n, probability) along ``axis`` (from 1 on), where n has size 1.

    The probabilities need not sum to 1; if they are all 0, the split is uniform. Each line along
    the axis has a stream of its own, numbered by the flat index of the other axes.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    n : array_like of int
        The totals, of size 1 along the axis.
    probability : array_like
        The probabilities, up to a factor.
    axis : int
        The axis of the split.

    Returns
    -------
    ndarray of int
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.multinomial(stream, n=20, probability=[0.1, 0.2, 0.3, 0.4], axis=3)
    array([[[[1, 7, 6, 6]]]])
    """
    shape = stream.shape
    if len(shape) > 4:
        stream, (n, probability), axis = _around(stream, axis, n, probability)
        return multinomial(stream, n, probability, axis).reshape(shape)
    size = _size_of_axis(stream, axis)
    totals, weights = operand(n, COUNT, shape), operand(probability, REAL, shape)
    if totals.shape[axis] != 1:
        raise ValueError(f"n must have size 1 on the axis {axis} of the split: {totals.shape}")
    out = blank(stream, COUNT)
    _run_lines(multinomial_lines, stream, size, totals, weights, axis, out)
    return out


def _over_cells(stream: Stream, concentration: Any, axes: Any) -> NDArray[np.float64]:
    """A Dirichlet over the cells of several axes, which come last and become one."""
    shape = stream.shape
    order = (*(axis for axis in range(len(shape)) if axis not in axes), *axes)
    every = np.broadcast_to(np.asarray(concentration, np.float64), shape).transpose(order)
    wide = (shape[0], 1, -1, math.prod(shape[axis] for axis in axes))
    lines = np.ascontiguousarray(every).reshape(wide)
    drawn = dirichlet(Stream(stream.key, lines.shape, stream.executor, 3), lines, 3)
    return np.ascontiguousarray(drawn.reshape(every.shape).transpose(np.argsort(order)))


def _around(stream: Stream, axis: int, *operands: Any) -> tuple[Stream, list[NDArray[Any]], int]:
    """A draw of more than 4 axes as one of 4: those before ``axis`` are one, those after it too."""

    def seen(shape: tuple[int, ...]) -> tuple[int, ...]:
        before, after = math.prod(shape[1:axis]), math.prod(shape[axis + 1 :])
        return (shape[0], before, shape[axis], after)

    whole, arrays = stream.shape, []
    for each in operands:
        array = np.asarray(each)
        array = array.reshape((1,) * (len(whole) - array.ndim) + array.shape)
        full = (array.shape[0], *whole[1:axis], array.shape[axis], *whole[axis + 1 :])
        arrays.append(np.ascontiguousarray(np.broadcast_to(array, full)).reshape(seen(full)))
    return Stream(stream.key, seen(whole), stream.executor, 2), arrays, 2


@_or_by_own
def categorical(stream: Stream, log_weight: ArrayLike, axis: int) -> NDArray[np.int64]:
    """Zeros with a single 1 along ``axis`` (from 1 on), at k with P(k) proportional to
    exp(log_weight[k]); the weights may be arbitrarily small or large.

    Parameters
    ----------
    stream : Stream
        The key of the draw and the shape of its result.
    log_weight : array_like
        The logarithms of the weights.
    axis : int
        The axis along which one entry is chosen.

    Returns
    -------
    ndarray of int
        An array of ``stream.shape``.

    Examples
    --------
    >>> from pgbn.extend import Stream, vectorised
    >>> stream = Stream(key=1, shape=(1, 1, 1, 4))
    >>> vectorised.categorical(stream, log_weight=[0.0, 0.0, 1.0, 1.0], axis=3)
    array([[[[0, 0, 1, 0]]]])
    """
    if len(stream.shape) > 4:
        whole = stream.shape
        stream, (log_weight,), axis = _around(stream, axis, log_weight)
        return categorical(stream, log_weight, axis).reshape(whole)
    size, logs = _size_of_axis(stream, axis), operand(log_weight, REAL, stream.shape)
    out = blank(stream, COUNT)
    _run_lines(categorical_lines, stream, size, logs, axis, out)
    return out


def _size_of_axis(stream: Stream, axis: int) -> int:
    if axis not in (1, 2, 3):
        raise ValueError(f"axis must be 1, 2 or 3 of (replicate, d1, d2, d3), got {axis!r}")
    return stream.shape[axis]


def _run_lines(kernel: Callable[..., None], stream: Stream, size: int, *args: Any) -> None:
    """Run a kernel whose "rows" are the lines of length ``size`` along some axis."""
    elements = math.prod(stream.shape)
    if elements:
        own = stream.executor._own_streams
        executor = stream.executor if elements >= PARALLEL or own else SERIAL
        executor.rows(kernel, elements // size, stream.key, *args)
