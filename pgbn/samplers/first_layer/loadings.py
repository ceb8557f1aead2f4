"""Topics given counts: every column of Φ from its Dirichlet.

    φ_k ~ Dir(η + n_1k, …, η + n_Vk),   φ_wk = g_wk / Σ_w g_wk,   g_wk ~ Gam(η + n_wk, 1)

A block of words has one stream. η may be a number, or an array (R or 1, V or 1, K or 1).
"""

import math
from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import LN_2, exp, fused, log, log1p, log_factorial
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.first_layer.value_lists import (
    CUT,
    CUT_OFTEN,
    CUT_QUICK,
    CUT_TOP,
    OFTEN,
    Loadings,
    blank_loadings,
    list_large,
    list_words,
)
from pgbn.samplers.lanes import (
    LANES,
    exp2,
    exp2_single,
    filled,
    find_nonzero,
    find_outside,
    log2,
    log2_single,
    pointer,
)
from pgbn.samplers.random import mix, new_rng, restart, uniform
from pgbn.samplers.uncounted import keep, uncounted
from pgbn.samplers.variates.gamma import draw_gamma, draw_log_gamma, fill_rows, workspace

# ---- equal gammas -------------------------------------------------------------------------------
#
# Many gamma variates of one small shape, by inversion.
#
#     P(g < y) = y^a M(y) / Γ(1 + a),   g ~ Gam(a, 1),  0 < a < 1
#     M(y) = a ∫_0^1 t^(a-1) e^(-yt) dt = 1 - a y / (a + 1) + a y² / (2 (a + 2)) - …
#
# For a uniform u, x = (u Γ(1 + a))^(1/a) = y M(y)^(1/a) is y itself for small y, the usual case. Up
# to y = 1/2 a polynomial of the shape maps x to y; the few variates above are drawn from their own
# law. A word of 64 random bits serves two variates, 23 bits each, and the power is taken in single
# precision: errors of 1e-7 / a in x. Values below the range of single precision are drawn again in
# double, from their law given that they are small:
#
#     P(g < y | g < ε) = (y / ε)^a,  ε = 2^-120


EQUAL_SHAPES = (0.02, 0.99)  # shapes for which these draws are exact enough, and faster than others
_0, _1, _LANES = np.uint64(0), np.uint64(1), np.uint64(LANES)
_9, _12, _32 = np.uint32(9), np.uint64(12), np.uint64(32)
_HALF, _ONE = np.float32(0.5), np.float32(1.0)
_GRID, _FINE, _LN_2 = np.float32(2.0**-23), np.float32(2.0**-32), np.float32(LN_2)
_SMALL, _LARGE = 2.0**-120, 0.5
_ROOM = np.uint64(512)  # variates that wait, and one row more
# The polynomial is exact at this many points; between them its error is at most 2e-7 of y.
_POINTS = 9
# cos(π (2i + 1) / 18): Chebyshev's points
_COSINES = tuple(float(c) for c in np.round(np.cos(np.pi * (np.arange(9) + 0.5) / 9), 12))


class EqualRoom(NamedTuple):
    """Scratch for rows of ``columns`` variates: a row, the places of those that wait, with values
    and tests, the bounds ε and 1/2, sixteen times each, and the ``curve`` of a shape (`_bend`)."""

    columns: int
    words: np.ndarray
    halves: np.ndarray
    x: np.ndarray
    found: np.ndarray
    small: np.ndarray
    large: np.ndarray
    value: np.ndarray
    test: np.ndarray
    bounds: np.ndarray
    curve: np.ndarray


@njit(cache=True, nogil=True)
def equal_room(columns):
    """Scratch for rows, which are filled up to a multiple of 32: then loops have no remainder."""
    padded = (columns + 2 * LANES - 1) // (2 * LANES) * (2 * LANES)
    waiting = padded + np.int64(_ROOM) + LANES
    bounds = filled(np.empty(2 * LANES, np.float32), _SMALL)
    filled(bounds[LANES:], _LARGE)
    words = np.empty(padded // 2, np.uint64)
    return EqualRoom(
        columns,
        words,
        words.view(np.uint32),
        np.empty(padded, np.float32),
        np.empty(padded + 1, np.uint64),
        np.empty(waiting, np.uint64),
        np.empty(waiting, np.uint64),
        np.empty(waiting, np.float64),
        np.empty(waiting, np.float32),
        bounds,
        filled(np.empty(_POINTS + 2), 0.0),
    )


# ---- from a power of u to the variate -------------------------------------------------


@njit(cache=True, nogil=True)
def _log_m(shape, y):
    """ln M(y), 0 <= y <= 1/2."""
    term, total = 1.0, 0.0
    for n in range(1, 16):
        term *= -y / n
        total += term * shape / (shape + n)
    return log1p(total)


@njit(cache=True, nogil=True)
def _value_at(shape, x):
    """The y with y M(y)^(1/a) = x, by Newton's method: d ln(y M(y)^(1/a)) / dy = e^-y / (y M)."""
    y = x
    for _ in range(8):
        log_m = _log_m(shape, y)
        y -= (log(y / x) + log_m / shape) * y * exp(log_m + y)
    return y


@njit(cache=True, nogil=True)
def _bend(shape, curve):
    """The shape, log2 Γ(1 + a), and c_0, c_1, … with y = x (c_0 + c_1 x + …) up to y = 1/2."""
    product = 1.0
    for i in range(1, 11):
        product *= shape + i
    curve[0], curve[1] = shape, (log_factorial(shape + 10.0) - log(product)) / LN_2
    end = _LARGE * exp(_log_m(shape, _LARGE) / shape)
    points, differences = np.empty(_POINTS), np.empty(_POINTS)
    for i in range(_POINTS):
        points[i] = end * (0.5 + 0.5 * _COSINES[i])
        differences[i] = _value_at(shape, points[i]) / points[i]
    for order in range(1, _POINTS):  # Newton's divided differences
        for i in range(_POINTS - 1, order - 1, -1):
            differences[i] = (differences[i] - differences[i - 1]) / (points[i] - points[i - order])
    coefficients = filled(curve[2:], 0.0)
    for i in range(_POINTS - 1, -1, -1):  # times (x - x_i), and the next difference
        for power in range(_POINTS - 1, 0, -1):
            coefficients[power] = coefficients[power - 1] - points[i] * coefficients[power]
        coefficients[0] = differences[i] - points[i] * coefficients[0]


@njit(cache=True, nogil=True, forceinline=True)
def _invert(state, step, room, curve, out):
    """A row of variates, as far as they are below 1/2, from the next words of the stream.

    There are several short loops. In a long one every number waits for many steps, one after
    another. The processor does not look far enough ahead to work on others meanwhile.
    """
    words, halves, size = pointer(room.words), pointer(room.halves), np.uint64(room.halves.size)
    for i in range(np.uint64(room.words.size)):
        words[i] = mix(state + step * (i + _1))
    power, shift = np.float32(1.0 / curve[0]), np.float32(curve[1])
    for k in range(size):
        u = (np.float32(np.int32(np.uint32(halves[k] >> _9))) + _HALF) * _GRID
        out[k] = (log2_single(u) + shift) * power
    for k in range(size):
        out[k] = exp2_single(out[k])
    c0, c1, c2 = np.float32(curve[2]), np.float32(curve[3]), np.float32(curve[4])
    c3, c4, c5 = np.float32(curve[5]), np.float32(curve[6]), np.float32(curve[7])
    c6, c7, c8 = np.float32(curve[8]), np.float32(curve[9]), np.float32(curve[10])
    for k in range(size):
        x = out[k]
        p = fused(fused(fused(fused(c8, x, c7), x, c6), x, c5), x, c4)
        out[k] = fused(fused(fused(fused(p, x, c3), x, c2), x, c1), x, c0) * x


# ---- those that wait ------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _draw_small(rng, shape, number, places, values, out):
    """Draw the variates at ``places`` from their law below ε; ``values`` is scratch."""
    state, step = rng[0], rng[1]
    for p in range(number):
        u = (np.float64(np.int64(mix(state + step * (p + _1)) >> _12)) + 0.5) * 2.0**-52
        values[p] = exp2(log2(u) / shape - 120.0)
    rng[0] += step * number
    for p in range(number):
        out[places[p]] = values[p]


@njit(cache=True, nogil=True)
def _draw_large(rng, shape, left, places, values, test, out):
    """Draw the ``left`` variates at ``places`` from their law above 1/2, y^(a-1) e^-y: y = 1/2 + E,
    E ~ Exp(1), is accepted with probability (2y)^(a-1); ``values`` and ``test`` are scratch."""
    power = np.float32(shape) - _ONE
    while left > _0:
        size = (left + _LANES - _1) // _LANES * _LANES
        for p in range(size):
            word = mix(rng[0] + rng[1] * (p + _1))
            u = (np.float32(np.uint32(word)) + _HALF) * _FINE
            v = (np.float32(np.uint32(word >> _32)) + _HALF) * _FINE
            y = _HALF - log2_single(u) * _LN_2
            values[p] = y
            test[p] = log2_single(v) - power * (log2_single(y) + _ONE)
        rng[0] += rng[1] * size
        number, left = left, _0
        for p in range(number):
            out[places[p]] = values[p]  # replaced later if it is rejected
            places[left] = places[p]
            left += np.uint64(test[p] >= 0.0)


@njit(cache=True, nogil=True)
def fill_equal(rng, room, shape, rows, place, out):
    """out[place + i · columns + k] ~ Gam(shape, 1) for i < rows; ``room`` is an `equal_room`,
    ``out`` flat and of double."""
    if room.curve[0] != shape:
        _bend(shape, room.curve)
    columns, words = np.uint64(room.columns), np.uint64(room.words.size)
    x, curve, result = pointer(room.x), pointer(room.curve), pointer(out)
    small, large, found = pointer(room.small), pointer(room.large), pointer(room.found)
    values, test, bounds = pointer(room.value), pointer(room.test), pointer(room.bounds)
    begin, below, above = np.uint64(place), _0, _0
    for _ in range(rows):
        _invert(rng[0], rng[1], room, curve, x)
        rng[0] += rng[1] * words
        for p in range(find_outside(x, bounds, columns, found)):
            i = found[p]
            small[below] = large[above] = begin + i
            is_large = np.uint64(x[i] > _HALF)
            above += is_large
            below += _1 - is_large
        for i in range(columns):
            result[begin + i] = x[i]
        if below > _ROOM:
            _draw_small(rng, shape, below, small, values, result)
            below = _0
        if above > _ROOM:
            _draw_large(rng, shape, above, large, values, test, result)
            above = _0
        begin += columns
    _draw_small(rng, shape, below, small, values, result)
    _draw_large(rng, shape, above, large, values, test, result)


# ---- loadings -----------------------------------------------------------------------------------


_FEW = 4  # counts for which exponentials are quicker than another gamma
_BLOCK = 64  # words a partial sum: fixed, so that sums do not depend on the threads
_0 = np.uint64(0)


def _as_array(eta):
    """η as an array of three dims."""
    return np.asarray(eta, np.float64).reshape((1, 1, 1) if np.ndim(eta) == 0 else np.shape(eta))


@njit(cache=True, nogil=True)
def _fill_equal(rng, first, last, shape, equal, out):
    """Gammas of one shape η for the words first..last, into ``out`` (V, K)."""
    fill_equal(rng, equal, shape, last - first, first * out.shape[1], out.reshape(-1))


@njit(cache=True, nogil=True)
def _fill_varied(rng, first, last, own, different, ones, out):
    """Gammas of the shapes η for the words first..last, into ``out`` (V, K)."""
    topics, lines, columns = out.shape[1], own.shape[0], own.shape[1]  # 1 where η does not vary
    for line in range(min(lines, last - first)):
        for k in range(topics):
            different.shape[line, k] = own[min(first + line, lines - 1), min(k, columns - 1)]
    fill_rows(rng, different, last - first, ones, 0.0, first * topics, out.reshape(-1))


@njit(cache=True, nogil=True)
def _is_equal(own):
    """Whether `fill_equal` serves the shapes."""
    return own.size == 1 and EQUAL_SHAPES[0] <= own[0, 0] <= EQUAL_SHAPES[1]


@njit(cache=True, nogil=True, forceinline=True)
def _add_exponentials(rng, value, count):
    """Gam(a + n), given a ``value`` from Gam(a): value - ln u_1 - … - ln u_n."""
    product = uniform(rng)
    for _ in range(count - 1):
        product *= uniform(rng)
    return value - log(product)


@njit(cache=True, nogil=True)
def _draw_words(
    key, start, stop, n_wk, eta, blocks, sums, loadings, quick=True, varied=True, listed=True
):
    """Gammas and lists of the words of blocks start..stop, and the blocks' column sums.

    ``quick``, see `draw_loadings`, is None if gammas are not quick; ``varied`` if `fill_equal`
    serves every η; ``listed`` if there are no lists. Code for an argument that is None is not
    compiled.
    """
    loadings = uncounted(loadings)
    _, vocabulary, topics = n_wk.shape
    lines, columns = eta.shape[1], eta.shape[2]
    rng = new_rng()
    if quick is not None:
        room = equal_room(topics)
        equal = uncounted(room)
    if varied is not None:
        room_varied = workspace(min(lines, _BLOCK), topics, np.float64)
        different, ones = uncounted(room_varied), filled(np.empty(_BLOCK), 1.0)
    places = np.empty(topics + 1, np.uint64)
    for block in range(start, stop):
        replicate = block // blocks
        first = (block % blocks) * _BLOCK
        total = sums[block]
        filled(total, 0.0)
        last = min(first + _BLOCK, vocabulary)
        values = loadings.value[replicate]
        own = eta[min(replicate, eta.shape[0] - 1)]
        restart(rng, key, block)
        if quick is not None and (varied is None or _is_equal(own)):
            _fill_equal(rng, first, last, own[0, 0], equal, values)
        if varied is not None and (quick is None or not _is_equal(own)):
            _fill_varied(rng, first, last, own, different, ones, values)
        for w in range(first, last):
            counts, row = n_wk[replicate, w], values[w]
            prior = own[min(w, lines - 1)]
            squares = tokens = 0
            number = find_nonzero(pointer(counts), _0, np.uint64(topics), pointer(places))
            for place in range(number):
                k = np.int64(places[place])
                shape = prior[min(k, columns - 1)]
                if quick is not None and counts[k] <= _FEW:
                    row[k] = _add_exponentials(rng, row[k], counts[k])
                else:
                    row[k] = draw_gamma(rng, shape + counts[k])
                tokens += counts[k]
                squares += np.int64(counts[k]) * np.int64(counts[k])
            for k in range(topics):
                total[k] += row[k]
            slot = replicate * vocabulary + w
            if listed is not None:
                typical = max(1.0, squares / max(1.0, tokens))
                cut, top = (CUT if quick is None else CUT_QUICK) * typical, 0.0
                if quick is not None and tokens >= OFTEN:
                    cut, top = CUT_OFTEN * typical, CUT_TOP * typical
                list_large(row, cut, top, slot, loadings, places)
    if quick is not None:
        keep(room)
    if varied is not None:
        keep(room_varied)


def _draw(key, n_wk, eta, out, executor, quick):
    """Fill ``out.value`` and ``out.scale``, and lists if there is space for them."""
    replicates, vocabulary, topics = n_wk.shape
    blocks = -(-vocabulary // _BLOCK)
    sums = np.empty((replicates * blocks, topics))
    alike = quick and eta.shape[1:] == (1, 1)
    alike = alike and bool(np.all((EQUAL_SHAPES[0] <= eta) & (eta <= EQUAL_SHAPES[1])))
    wanted = (True if each else None for each in (quick, not alike, out.topic.size > 0))
    given = (n_wk, eta, blocks, sums, out, *wanted)
    executor.rows(_draw_words, replicates * blocks, key, *given)
    np.divide(1.0, sums.reshape(replicates, blocks, topics).sum(axis=1), out=out.scale)


def draw_loadings(
    key, n_wk, eta, out: Loadings, executor: Executor = SERIAL, quick: bool = True
) -> Loadings:
    """Draw Φ given the counts n_wk (R, V, K) into ``out``, as gammas, scales and lists; ``quick``:
    gammas of one η by `fill_equal`, and shorter lists."""
    eta = _as_array(eta)
    if _underflows(n_wk, eta):
        executor.rows(_draw_logs, n_wk.shape[0], key, n_wk, eta, out.value)
        out.scale[...] = 1.0
        if out.topic.size:
            executor.rows(list_words, out.length.size, key, out)
    else:
        _draw(key, n_wk, eta, out, executor, quick)
    return out


def draw_phi(key, n_wk, eta, out, executor: Executor = SERIAL):
    """Draw Φ given the counts n_wk (R, V, K) into ``out`` (R, V, K); columns sum to 1."""
    eta = _as_array(eta)
    if _underflows(n_wk, eta):
        executor.rows(_draw_logs, n_wk.shape[0], key, n_wk, eta, out)
        return out
    without_lists = blank_loadings(out)
    _draw(key, n_wk, eta, without_lists, executor, False)
    out *= without_lists.scale[:, None, :]
    return out


def _underflows(n_wk, eta):
    """Whether all gammas of a column without counts may be below 1e-300 (else: P < 1e-30)."""
    total = n_wk.shape[1] * eta if eta.shape[1] == 1 else eta.sum(axis=1)
    return total.min() < 0.1


@njit(cache=True, nogil=True)
def _draw_logs(key, start, stop, n_wk, eta, out):
    """Columns of replicates start..stop by logarithms, φ_w = exp(l_w - max l) / Σ exp(…).

    For a column without counts and Vη tiny, all gammas may underflow, their logarithms not.
    """
    _, vocabulary, topics = n_wk.shape
    rng = new_rng()
    for replicate in range(start, stop):
        phi = out[replicate]
        own = eta[min(replicate, eta.shape[0] - 1)]
        for w in range(vocabulary):
            restart(rng, key, replicate * vocabulary + w)
            prior = own[min(w, eta.shape[1] - 1)]
            for k in range(topics):
                shape = prior[min(k, eta.shape[2] - 1)] + n_wk[replicate, w, k]
                phi[w, k] = draw_log_gamma(rng, shape)
        for k in range(topics):
            top = -math.inf
            for w in range(vocabulary):
                top = max(top, phi[w, k])
            total = 0.0
            for w in range(vocabulary):
                phi[w, k] = exp(phi[w, k] - top)
                total += phi[w, k]
            for w in range(vocabulary):
                phi[w, k] /= total
