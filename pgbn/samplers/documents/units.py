"""The units of one layer of one document, and the shapes of the layer below.

    θ_k ~ Gam(a_k + m_k, rate),   a'_v = Σ_k φ_vk θ_k

A unit without counts has a shape a < 1, mostly far below. It is drawn by rejection (Ahrens and
Dieter, 1974; see row_gammas.py): x = (u (1 + a/e))^(1/a), nearly always accepted. Most x are so
small that they have no effect: x < e^-L if u (1 + a/e) < e^(-aL). This follows from 1 - y + y²/2 -
y³/6 < e^-y, y = aL, before any power is computed.

Units below `NEGLIGIBLE` = 2^-53 of the sum of their layer are skipped. They would change the shapes
below by less than their rounding, or make a shape of less than 1e-16 of the others, whose gamma and
counts are 0 but for a chance of that size. e^-L is 1e-3 of that; a layer whose sum is below 1e-3 is
drawn to the end, from the same u.

Sums are float64, but the parts θ_k / θ_· and the loadings are float32 in the sums over units: a
relative error of 1e-7 in a shape or a probability is far below what any number of samples shows.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, fused, log
from pgbn.samplers.lanes import (
    LANES,
    ROOM,
    above,
    add_lanes,
    add_product,
    aligned,
    broadcast,
    exp2,
    filled,
    load_lanes,
    log2,
    lowest_bit,
    pick,
    store_lanes,
    weigh,
    zeros,
)
from pgbn.samplers.random import exponential, mix, uniform
from pgbn.samplers.row_kernels import NEGLIGIBLE
from pgbn.samplers.variates.crt import draw_crt
from pgbn.samplers.variates.gamma import HUGE, draw_gamma_from_one
from pgbn.samplers.variates.multinomial import draw_multinomial

TILE = 2 * LANES  # columns of a matrix come in multiples of this
_LEAST_SUM = 1e-3
_DEPTH = 43.64455584865924  # -ln(NEGLIGIBLE · _LEAST_SUM)
_BELOW_ONE = math.nextafter(1.0, 0.0)
_TINY = 1e-290
_0, _1, _2, _12, _LANES = (np.uint64(i) for i in (0, 1, 2, 12, LANES))
_LOW = np.uint64(4095)


class Active(NamedTuple):
    """The units of a layer that are not negligible, and scratch for drawing them.

    ``number[0]`` units: their numbers ``unit`` and their parts of the sum, ``part``.
    """

    number: np.ndarray
    unit: np.ndarray
    part: np.ndarray
    base: np.ndarray
    margin: np.ndarray
    ceiling: np.ndarray
    x: np.ndarray
    shape: np.ndarray
    top: np.ndarray


def active_units(width):
    """Scratch for layers of up to ``width`` units, a multiple of 16."""
    room = width + LANES
    return Active(
        np.empty(1, np.int64), np.empty(room, np.uint64), aligned(room), np.empty(width),
        np.empty(width), np.empty(width), np.empty(room), np.empty(room), np.empty(room),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _propose(state, step, a, m, base, margin, ceiling):
    """base_k = u_k (1 + a_k / e), and ceiling_k = 1 - v_k rounded down to 12 bits; margin_k > 0
    where the unit may matter. u and v are the high and the low bits of a word of the stream."""
    for k in range(a.size):
        word = mix(state + step * np.uint64(k + 1))
        ceiling[k] = 1.0 - np.float64(np.int64(word & _LOW) + 1) * 2.0**-12
        u = (np.float64(np.int64(word >> _12)) + 0.5) * 2.0**-52
        base[k] = fused(u * a[k], 1.0 / math.e, u)
        y = _DEPTH * a[k]
        series = fused(fused(fused(y, -1.0 / 6.0, 0.5), -y, 1.0), -y, 1.0)
        margin[k] = max(base[k] - series, m[k])


@njit(cache=True, nogil=True)
def _list_candidates(a, m, active):
    """List the units that may matter: their proposals, shapes and ceilings; their number.

    Sixteen comparisons give a word of bits: a branch for each would be guessed wrongly. The lists
    are filled up with proposals that come to 0, to a multiple of 16.
    """
    unit, x, shape, top = active.unit, active.x, active.shape, active.top
    nothing = zeros(active.margin)
    found, k, size = _0, _0, np.uint64(a.size)
    while k < size:
        word = above(load_lanes(active.margin, k), nothing)
        while word:
            i = k + lowest_bit(word)
            unit[found], x[found] = i, active.base[i]
            shape[found], top[found] = a[i] + m[i], active.ceiling[i]
            found += _1
            word &= word - _1
        k += _LANES
    for p in range(found, found + _LANES):
        x[p], shape[p], top[p] = 1e-300, 0.5, 1.0
    return found


@njit(cache=True, nogil=True)
def _powers(size, base, shape):
    """base_p = base_p^(1 / shape_p)."""
    for p in range(size):
        base[p] = exp2(log2(base[p]) / shape[p])


@njit(cache=True, nogil=True)
def _settle(rng, a, x, ceiling):
    """The proposal x if it is accepted, else another draw of Gam(a, 1), a < 1."""
    v = 1.0 - ceiling - uniform(rng) * 2.0**-12  # uniform on its 2^-12 below 1 - ceiling
    if x < 1.0:
        if v < exp(-x):
            return x
    else:
        x = 1.0 + exponential(rng)
        if v < exp((a - 1.0) * log(x)):
            return x
    return draw_gamma_from_one(rng, a + 1.0) * exp(-exponential(rng) / a)


@njit(cache=True, nogil=True)
def _accept(rng, active, found):
    """Turn proposals into draws of Gam(shape, 1); their sum."""
    x, shape, top = active.x, active.shape, active.top
    below_one = broadcast(_BELOW_ONE)
    p = _0
    while p < found:
        large = above(load_lanes(shape, p), below_one)
        refused = above(load_lanes(x, p), load_lanes(top, p)) & ~large
        while large:
            i = p + lowest_bit(large)
            x[i] = draw_gamma_from_one(rng, shape[i])
            large &= large - _1
        while refused:
            i = p + lowest_bit(refused)
            x[i] = _settle(rng, shape[i], x[i], top[i])
            refused &= refused - _1
        p += _LANES
    total = 0.0
    for i in range(found):
        total += x[i]
    return total


@njit(cache=True, nogil=True)
def _draw_rest(a, active, found):
    """Append the units that were thought to be too small; the new number of units."""
    for k in range(a.size):
        if active.margin[k] <= 0.0 and a[k] > 0.0:
            active.unit[found] = np.uint64(k)
            active.x[found] = exp(log(active.base[k]) / a[k])
            found += _1
    return found


@njit(cache=True, nogil=True)
def likeliest(rng, a):
    """k with probability a_k / a_·; 0 if all are 0."""
    total, chosen = 0.0, 0
    for k in range(a.size):
        total += a[k]
    target = uniform(rng) * total
    for k in range(a.size):
        if a[k] > 0.0:
            chosen = k
            target -= a[k]
            if target < 0.0:
                break
    return np.uint64(chosen)


@njit(cache=True, nogil=True)
def draw_units(rng, a, m, rate, theta, active):
    """θ_k ~ Gam(a_k + m_k, rate): Σ_k θ_k, the parts ``theta`` = θ_k / θ_·, 0 where negligible,
    and the list of the others.

    Sums below 1e-290 count as 1e-290, of one unit: the shares of a document without counts stay
    right, as the limit of Dir(a) for small a is one unit, k with probability a_k / a_·. Vectors
    are filled with zeros to a multiple of 16.
    """
    _propose(rng[0], rng[1], a, m, active.base, active.margin, active.ceiling)
    rng[0] += rng[1] * np.uint64(a.size)
    found = _list_candidates(a, m, active)
    _powers((found + _LANES - _1) // _LANES * _LANES, active.x, active.shape)
    total = _accept(rng, active, found)
    unit, x, part = active.unit, active.x, active.part
    if total < _LEAST_SUM:
        found = _draw_rest(a, active, found)
        total = 0.0
        for p in range(found):
            total += x[p]
        if total < _TINY:
            found, total = _1, _TINY
            unit[0], x[0] = likeliest(rng, a), _TINY
    for k in range(theta.size):
        theta[k] = np.float32(0.0)
    least, scale = total * NEGLIGIBLE, 1.0 / total
    kept = _0
    for p in range(found):
        k = unit[p]
        unit[kept], part[kept] = k, x[p] * scale
        theta[k] = part[kept] if x[p] > least else np.float32(0.0)
        kept += np.uint64(x[p] > least)
    active.number[0] = np.int64(kept)
    return min(max(total / rate, _TINY), HUGE)


@njit(cache=True, nogil=True)
def list_units(values, parts, active):
    """List the ``values`` that are not negligible, as parts of their sum; the sum."""
    total = 0.0
    for k in range(values.size):
        total += values[k]
    total = max(total, _TINY)
    least, found = total * NEGLIGIBLE, 0
    for k in range(values.size):
        parts[k] = values[k] / total if values[k] > least else 0.0
        active.unit[found], active.part[found] = np.uint64(k), parts[k]
        found += np.int64(values[k] > least)
    active.number[0] = found
    return total


@njit(cache=True, nogil=True)
def expected_weights(line, expected, out):
    """out_k = φ_k E θ_k, for φ_k θ_k that are all too small for a number; φ_k if that is 0 as well.

    A count with such a θ has the law of the first count of a unit, θ integrated out. Units that
    cannot have caused it, φ_k = 0, keep the weight 0.
    """
    total = 0.0
    for k in range(out.size):
        out[k] = np.float64(line[k]) * expected[k]
        total += out[k]
    if total == 0.0:
        for k in range(out.size):
            out[k] = line[k]


@njit(cache=True, nogil=True)
def mix_units(active, matrix, columns, out):
    """out_v = Σ_k part_k matrix_kv over the listed units; the matrix is flat, its lines have
    ``columns`` entries, a multiple of 32, whose sums stay in registers."""
    unit, part = active.unit, active.part
    width, number = np.uint64(columns), np.uint64(active.number[0])
    for tile in range(np.uint64(columns // TILE)):
        at = tile * np.uint64(TILE)
        # Two sums at once, as one alone would wait for the end of each addition.
        a, b, c, d = zeros(matrix), zeros(matrix), zeros(matrix), zeros(matrix)
        p = _0
        while p + _1 < number:
            v, w = broadcast(part[p]), broadcast(part[p + _1])
            q, r = unit[p] * width + at, unit[p + _1] * width + at
            a = add_product(a, v, load_lanes(matrix, q))
            b = add_product(b, v, load_lanes(matrix, q + _LANES))
            c = add_product(c, w, load_lanes(matrix, r))
            d = add_product(d, w, load_lanes(matrix, r + _LANES))
            p += _2
        if p < number:
            v, q = broadcast(part[p]), unit[p] * width + at
            a = add_product(a, v, load_lanes(matrix, q))
            b = add_product(b, v, load_lanes(matrix, q + _LANES))
        store_lanes(out, at, add_lanes(a, c))
        store_lanes(out, at + _LANES, add_lanes(b, d))


# ---- layers ------------------------------------------------------------------------------------
#
# The layers of a network, packed into a few arrays for the kernels that infer hidden units.


Matrix = NDArray[np.float64]


class Layers(NamedTuple):
    """The layers above the first, packed (here and below, t is counted from 0).

    Layer t has ``width[t]`` units in the places at[t] … at[t + 1] of a vector, filled with zeros to
    a multiple of 32. ``down`` and ``up`` hold, from down_at[t] and up_at[t] on, Φ^(t+1) as
    (K_{t+1}, K_t) and its transpose, for t = 0 … T-2, each line filled up likewise, in float32.
    ``prior`` is (a0, b0, e0, f0), and ``expected`` is Φ^(t+1) … Φ^(T) r, E θ^(t) up to a factor.
    """

    width: NDArray[np.int64]
    at: NDArray[np.int64]
    down_at: NDArray[np.int64]
    down: NDArray[np.float32]
    up_at: NDArray[np.int64]
    up: NDArray[np.float32]
    r: NDArray[np.float64]
    prior: NDArray[np.float64]
    expected: NDArray[np.float64]


def pack_layers(phi: Sequence[Matrix], r: Matrix, prior: Sequence[float]) -> Layers:
    """Φ^(1…T) with one row for each topic, (K_t, K_{t-1}), r, and (a0, b0, e0, f0)."""
    widths = [len(each) for each in phi]
    at = _edges([-(-width // TILE) * TILE for width in widths])
    down, down_at = _fill(phi[1:])
    up, up_at = _fill([each.T for each in phi[1:]])
    expected, mean = np.zeros(at[-1]), r
    for t in range(len(phi) - 1, -1, -1):
        expected[at[t] : at[t] + mean.size] = mean
        mean = _weighted(mean, phi[t]) if t else mean
    return Layers(
        width=np.array(widths, np.int64),
        at=at,
        down_at=down_at,
        down=down,
        up_at=up_at,
        up=up,
        r=np.array(r, np.float64),
        prior=np.array(prior, np.float64),
        expected=expected,
    )


def _weighted(weights: Matrix, lines: Matrix) -> Matrix:
    """Σ_k weight_k line_k, in the order of the lines."""
    total = np.zeros(lines.shape[1])
    for weight, line in zip(weights, lines, strict=True):
        total += weight * line
    return total


def _fill(matrices: Sequence[Matrix]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Matrices one after another, with columns of zeros up to a multiple of 32, and their edges.

    Entries below 1e-20 become 0: products with them would be too small for float32.
    """
    shapes = [(len(matrix), -(-matrix.shape[1] // TILE) * TILE) for matrix in matrices]
    edges = _edges([rows * columns for rows, columns in shapes])
    out = aligned(int(edges[-1]))
    for matrix, shape, start, stop in zip(matrices, shapes, edges, edges[1:], strict=False):
        out[start:stop].reshape(shape)[:, : matrix.shape[1]] = np.where(matrix < 1e-20, 0, matrix)
    return out, edges


def _edges(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


@njit(cache=True, nogil=True)
def loadings_down(layers, t):
    """Φ between the layers t and t + 1, flat, one line for each unit of the upper one."""
    return layers.down[layers.down_at[t] : layers.down_at[t + 1]]


@njit(cache=True, nogil=True)
def loadings_up(layers, t):
    """Φ between the layers t - 1 and t, flat, one line for each unit of the lower one."""
    return layers.up[layers.up_at[t - 1] : layers.up_at[t]]


# ---- tables -------------------------------------------------------------------------------------
#
# Tables of a document, each given to one of many units with probability ∝ φ_k θ_k.


_MANY = 64  # from this many tables on, they are split by binomials
_DIRECT = 64  # up to this many customers are seated at once


class Sums(NamedTuple):
    """Running sums of products, see `pick.weigh`."""

    reached: np.ndarray
    lanes: np.ndarray


def sums_of(size):
    """Scratch for up to ``size`` units."""
    return Sums(aligned(size), aligned(ROOM))


@njit(cache=True, nogil=True)
def _tables(rng, customers, a):
    """`draw_crt`, for a few customers in one loop without branches."""
    if customers > _DIRECT or not 0.0 < a < math.inf:
        return draw_crt(rng, customers, a)
    state, step = rng[0], rng[1]
    tables = 1
    for i in range(1, customers):
        word = mix(state + step * np.uint64(i))
        u = (np.float64(np.int64(word >> _12)) + 0.5) * 2.0**-52
        tables += np.int64(u * (a + i) < a)
    rng[0] += step * np.uint64(customers - 1)
    return tables


@njit(cache=True, nogil=True)
def pass_up(rng, m_below, seated_below, a_below, phi, theta, expected, m, seated, sums):
    """CRT(m_k, a_k) tables of every unit k below, each given to a unit l here ∝ φ_kl θ_l → m_l.

    ``seated`` lists the units with counts, in places 1 … seated[0]; ``phi`` has a line for
    every unit below, filled with zeros like theta beyond the units, of which ``expected`` has E θ.
    """
    for p in range(1, seated[0] + 1):
        m[seated[p]] = 0.0
    found = 0
    size = np.uint64(theta.size)
    for p in range(1, seated_below[0] + 1):
        k = seated_below[p]
        begin = np.uint64(k) * size
        tables = _tables(rng, np.int64(m_below[k]), a_below[k])
        weight = weigh(phi, begin, theta, size, sums.reached, _0, sums.lanes, _0)
        if 0.0 < weight < math.inf and tables <= _MANY:
            for _ in range(tables):
                unit = pick(rng, size, sums.reached, _0, sums.lanes, _0, weight)
                if m[unit] == 0.0:
                    found += 1
                    seated[found] = unit
                m[unit] += 1.0
        else:  # many; or all products underflowed
            line = phi[begin : begin + size]
            found = _split(rng, tables, line, theta, expected, m, seated, found)
    seated[0] = found


@njit(cache=True, nogil=True)
def _split(rng, tables, line, theta, expected, m, seated, found):
    width, total = expected.size, 0.0
    product, parts = np.empty(width), filled(np.empty(width, np.int64), 0)
    for i in range(width):
        product[i] = line[i] * theta[i]
        total += product[i]
    if total == 0.0:
        expected_weights(line, expected, product)
    draw_multinomial(rng, tables, product, parts)
    for i in range(width):
        if parts[i] > 0:
            if m[i] == 0.0:
                found += 1
                seated[found] = i
            m[i] += parts[i]
    return found
