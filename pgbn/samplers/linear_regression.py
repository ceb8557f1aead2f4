"""Joint draws from quadratic forms: the nodes in a linear predictor.

Cells with likelihoods exp(κψ − ½ωψ²), ψ = gᵀx, send x the quadratic form exp(bᵀx − ½xᵀAx) with A =
Σ ω g gᵀ and b = Σ κ g. Every sum runs in a fixed order, without a BLAS: results are bit-identical
for any number of threads. Rows of kernels are the independent vectors x, one stream each.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.samplers.random import Stream, new_rng, normal, restart, uniform
from pgbn.samplers.row_kernels import PARALLEL

Array = NDArray[np.float64]


@njit(cache=True, nogil=True)
def signed_rows(_key, start, stop, a, b, out, _kind):
    """Rows start…stop of out[r, i, :] = Σ_k a[r, i, k] b[r, :, k], of any signs, rows numbered
    r·I + i."""
    _, size, columns = out.shape
    inner, current = a.shape[2], -1
    turned = np.empty((inner, columns))
    for row in range(start, stop):
        r, i = row // size, row % size
        wanted = min(r, b.shape[0] - 1)
        if wanted != current:
            turned[:, :] = b[wanted].T
            current = wanted
        line, weights = out[r, i], a[min(r, a.shape[0] - 1), i]
        line[:] = 0.0
        for k in range(inner):
            weight = weights[k]
            if weight != 0.0:
                for j in range(columns):
                    line[j] += weight * turned[k, j]


@njit(cache=True, nogil=True)
def _form_rows(_key, start, stop, count, exposure, design, matrix, vector):
    """matrix[row] += Σ_c ω_c g_c g_cᵀ and vector[row] += Σ_c κ_c g_c, row = r·B + b."""
    _, batch, cells = count.shape
    size = vector.shape[2]
    last = design.shape
    for row in range(start, stop):
        r, b = row // batch, row % batch
        a, v = matrix[r, b], vector[r, b]
        g = design[min(r, last[0] - 1), min(b, last[1] - 1)]
        for c in range(cells):
            line, k, w = g[min(c, last[2] - 1)], count[r, b, c], exposure[r, b, c]
            for i in range(size):
                if line[i] != 0.0:
                    v[i] += k * line[i]
                    weight = w * line[i]
                    for j in range(i + 1):
                        a[i, j] += weight * line[j]
        for i in range(size):
            for j in range(i):
                a[j, i] = a[i, j]


def quadratic_form(
    count: Array, exposure: Array, design: Array, executor: Executor = SERIAL
) -> tuple[Array, Array]:
    """A (R, B, D, D) and b (R, B, D) of Σ_c κ_c ψ_c − ½ ω_c ψ_c², ψ_c = Σ_d g_cd x_d: ``count`` κ
    and ``exposure`` ω have the shape (R, B, C), the ``design`` g broadcasts to (R, B, C, D)."""
    replicates, batch, cells = count.shape
    size = design.shape[3]
    matrix = np.zeros((replicates, batch, size, size))
    vector = np.zeros((replicates, batch, size))
    rows = replicates * batch
    use = executor if rows * cells * size >= PARALLEL else SERIAL
    if rows:
        use.rows(_form_rows, rows, 0, *map(_own, (count, exposure, design)), matrix, vector)
    return matrix, vector


@njit(cache=True, nogil=True)
def _factorise(a, low):
    """The lower Cholesky factor of a, row by row."""
    size = a.shape[0]
    for i in range(size):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= low[i, k] * low[j, k]
            low[i, j] = math.sqrt(max(total, 1e-300)) if i == j else total / low[j, j]


@njit(cache=True, nogil=True)
def _normal_rows(key, start, stop, matrix, vector, out):
    """x ~ N(A⁻¹b, A⁻¹): with A = LLᵀ, Lᵀx = L⁻¹b + z."""
    batch, size = out.shape[1], out.shape[2]
    low, half = np.zeros((size, size)), np.empty(size)
    rng = new_rng()
    for row in range(start, stop):
        restart(rng, key, row)
        r, b = row // batch, row % batch
        _factorise(matrix[r, b], low)
        for i in range(size):
            total = vector[r, b, i]
            for k in range(i):
                total -= low[i, k] * half[k]
            half[i] = total / low[i, i]
        for i in range(size):
            half[i] += normal(rng)
        for i in range(size - 1, -1, -1):
            total = half[i]
            for k in range(i + 1, size):
                total -= low[k, i] * out[r, b, k]
            out[r, b, i] = total / low[i, i]


def joint_normal(stream: Stream, matrix: Array, vector: Array) -> Array:
    """x ~ N(A⁻¹b, A⁻¹) of (R, B, D): ``matrix`` A (R, B, D, D), ``vector`` b (R, B, D)."""
    if stream.variates is not None:
        return np.asarray(stream.variates.joint_normal(stream, matrix, vector))
    out = np.empty(vector.shape)
    _run(_normal_rows, stream, out, _own(matrix), _own(vector), out)
    return out


@njit(cache=True, nogil=True)
def _binary_rows(key, start, stop, matrix, vector, log_odds, out):
    """``out`` has the old bits; each is drawn given the others, in order."""
    batch, size = out.shape[1], out.shape[2]
    rng = new_rng()
    for row in range(start, stop):
        restart(rng, key, row)
        r, b = row // batch, row % batch
        a, x = matrix[r, b], out[r, b]
        for i in range(size):
            total = log_odds[r, b, i] + vector[r, b, i] - 0.5 * a[i, i]
            for j in range(size):
                if j != i and x[j] != 0.0:
                    total -= a[i, j]
            x[i] = 1.0 if uniform(rng) * (1.0 + exp(-total)) < 1.0 else 0.0


def binary_field(
    stream: Stream, matrix: Array, vector: Array, log_odds: Array, value: Array
) -> Array:
    """Bits x with p(x) ∝ exp(bᵀx − ½xᵀAx + Σ ψ_i x_i), ψ the prior ``log_odds``: each given the
    others, one after another, from the old ``value`` (R, B, D)."""
    if stream.variates is not None:
        return np.asarray(stream.variates.binary_field(stream, matrix, vector, log_odds, value))
    out = _own(value).copy()
    _run(_binary_rows, stream, out, _own(matrix), _own(vector), _own(log_odds), out)
    return out


def _own(array: Array) -> Array:
    return np.ascontiguousarray(array, np.float64)


def _run(kernel, stream: Stream, out: Array, *arguments: Array) -> None:
    rows = out.shape[0] * out.shape[1]
    if not rows:
        return
    if stream.executor.workers > 1 and out.size * out.shape[2] >= PARALLEL:
        stream.executor.rows(kernel, rows, stream.key, *arguments)
    else:
        kernel(stream.executor._row_key(stream.key, rows), 0, rows, *arguments)
