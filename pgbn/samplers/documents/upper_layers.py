"""The layers of a network, packed into a few arrays for the kernels that infer hidden units."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgbn.samplers.compiled import njit
from pgbn.samplers.documents.units import TILE, expected_weights
from pgbn.samplers.lanes import ROOM, aligned, filled, pick, weigh
from pgbn.samplers.random import mix
from pgbn.samplers.variates.crt import draw_crt
from pgbn.samplers.variates.multinomial import draw_multinomial

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
_0, _12 = np.uint64(0), np.uint64(12)


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
