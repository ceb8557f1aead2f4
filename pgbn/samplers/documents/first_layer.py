"""The first layer of one document with Φ^(1) given: labels of tokens, splits of cells.

    P(z_i = k | z_-i) ∝ φ_wk (m_k + a_k)          counts, θ^(1) marginalised
    (n_w1 … n_wK) ~ Mult(n_w; φ_wk θ_k)            large counts, and other links, where n_w is
                                                   drawn given the datum

The rows of Φ^(1) of the document's terms are divided by their largest entries, in float32, filled
with zeros to a multiple of 16. Only the ratios within a row matter to labels.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from pgbn.errors import DataError
from pgbn.samplers.compiled import Kernel, njit
from pgbn.samplers.documents.units import expected_weights, likeliest
from pgbn.samplers.elementary import LN_2, log
from pgbn.samplers.from_numba import carray, cfunc, errors, intrinsic, ir, is_jitted, types
from pgbn.samplers.lanes import pick, pointer, weigh
from pgbn.samplers.random import uniform
from pgbn.samplers.variates.gig import draw_bessel
from pgbn.samplers.variates.multinomial import draw_multinomial
from pgbn.samplers.variates.poisson import draw_truncated_poisson

# ---- counts -------------------------------------------------------------------------------------
#
# The count behind a datum: n given y, where n ~ Pois(λ).
#
#     DATUM       n = y
#     TRUNCATED   n ~ Pois(λ) given n ≥ 1                   y = 1(n ≥ 1)
#     BESSEL      n ~ Bessel_{-1}(2 √(noise · y · λ))       y ~ Gam(n, noise)
#     OWN         by a function of (rng, y, λ, noise)       a link from outside the package
#
# The first three are part of the calling kernel. A function from outside is called by its address,
# a number: so the kernel is compiled once and kept on disk, whichever function that is.


DATUM, TRUNCATED, BESSEL, OWN = range(4)
_BUILT_IN = {"truncated_poisson": TRUNCATED, "bessel": BESSEL}
_OF_FUNCTION = types.int64(types.CPointer(types.uint64), *[types.float64] * 3)


class CountLaw(NamedTuple):
    """The law of n given y: which one it is, its noise, and the address of a function (OWN)."""

    kind: int
    noise: float
    address: int


def count_law(latent: str | Callable[..., int] | None, noise: float) -> CountLaw:
    """The law that a link names: None (the data are the counts), a built-in one, or a function of
    (rng, value, rate, noise) that numba can compile."""
    if latent is None:
        return CountLaw(DATUM, noise, 0)
    if callable(latent):
        return CountLaw(OWN, noise, _compiled(latent).address)
    if latent not in _BUILT_IN:
        raise DataError(
            f"latent={latent!r}: give a function of (rng, value, rate, noise), or one of "
            f"{', '.join(map(repr, _BUILT_IN))}"
        )
    return CountLaw(_BUILT_IN[latent], noise, 0)


@cache
def _compiled(function: Callable[..., int]) -> Any:
    """The function with a plain address; it stays in memory as long as the process."""
    own = is_jitted(function) or isinstance(function, Kernel)
    inner = function if own else njit(nogil=True, error_model="python")(function)

    def outer(words, value, rate, noise):
        return np.int64(inner(carray(words, 2), value, rate, noise))

    try:
        return cfunc(_OF_FUNCTION)(outer)
    except errors.NumbaError as error:
        name = getattr(function, "__name__", repr(function))
        raise DataError(
            f"latent={name}: numba cannot compile it as a function of (rng, value, rate, noise) "
            f"that returns an integer:\n{error}"
        ) from error


@intrinsic
def _call(typing_context, address, words, value, rate, noise):
    """The function at an address."""

    def code(context, builder, signature, arguments):
        kinds = [context.get_value_type(kind) for kind in _OF_FUNCTION.args]
        kind = ir.FunctionType(context.get_value_type(_OF_FUNCTION.return_type), kinds)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(function, arguments[1:])

    return types.int64(types.int64, *_OF_FUNCTION.args), code


@njit(cache=True, nogil=True)
def _own_count(rng, law, value, rate):
    """The count that a function from outside draws."""
    count = _call(law.address, pointer(rng), value, rate, law.noise)
    if count < 0:
        raise ValueError("the latent= of a link drew a negative count")
    return count


@njit(cache=True, nogil=True, forceinline=True)
def draw_count(rng, law, value, rate):
    """n given the datum ``value`` and the rate λ of its cell."""
    if law.kind == DATUM:
        return np.int64(value)
    if law.kind == TRUNCATED:
        return draw_truncated_poisson(rng, rate)
    if law.kind == BESSEL:
        safe = max(rate, 1e-300)
        return draw_bessel(rng, LN_2 + 0.5 * (log(law.noise * value) + log(safe)))
    return _own_count(rng, law, value, rate)


# ---- first layer --------------------------------------------------------------------------------


_MOST_LABELS = 10**8  # of a document: 0.4 GB
_WORTH = 4  # with so many labels for each binomial, labels cost 4 to 16 times what splits cost
_OVERHEAD = 16  # the cost of a cell in addition to its binomials, in topics
# Unsigned, or numba would allow for negative indices in the innermost loops.
_0, _1 = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def has_labels(kind, tokens, cells, topics):
    """Whether every token of a document gets a label, rather than every cell a split.

    Labels take about half the sweeps, as θ^(1) is marginalised, though with a small a both take
    many to leave a topic; splits cost the same however large the counts are. The choice depends on
    the document and the model alone, or a batch would change its results.
    """
    most = min(_WORTH * cells * (topics + _OVERHEAD), _MOST_LABELS)
    return kind == DATUM and tokens <= most


def most_labels(indptr, data, topics: int) -> tuple[int, bool]:
    """The most labels that one of some documents of counts has, and whether all have labels, see
    `has_labels`."""
    cells = np.diff(indptr)
    rows = np.repeat(np.arange(cells.size), cells)
    tokens = np.bincount(rows, weights=data, minlength=cells.size)
    labelled = tokens <= np.minimum(_WORTH * cells * (topics + _OVERHEAD), _MOST_LABELS)
    return int(tokens[labelled].max(initial=0)), bool(labelled.all())


@njit(cache=True, nogil=True)
def label_tokens(document, data, work, least, expected):
    """One pass over the tokens of a document; z = -1 for a token without a label yet.

    First labels have the weights φ_wk a_k, whatever labels the previous tokens got. With (m_k +
    a_k) and a small a all would follow the first one, and the chain would take thousands of sweeps
    to leave that topic. The start of a chain does not change its law, only how soon it gets there.

    φ_wk (m_k + a_k) is the sum over the few topics with counts and the prior's part,
    ``smooth`` = Σ_k φ_wk a_k for each of the terms, ``prior`` being a up to a factor. If
    Σ_k φ_wk a_k is not above smooth · ``least``, so much is missing in ``prior`` that the label is
    drawn by ``expected`` instead.
    """
    rng, prior, product, sums = work.rng, work.prior, work.product, work.sums
    rows, smooth, used = work.terms.rows, work.terms.smooth, work.state.used[0]
    labels = work.labels
    z, held, place, running = labels.z, labels.held, labels.place, labels.running
    token = 0
    active = used[0]
    flat = rows.reshape(-1)
    size = np.uint64(rows.shape[1])
    for cell in range(document.first, document.last):
        term = cell - document.first
        begin = np.uint64(term) * size
        for _ in range(np.int64(data[cell])):
            old = z[token]
            if old >= 0:
                spot = place[old]
                held[spot] -= 1.0
                if held[spot] == 0.0:
                    moved = used[active]
                    used[spot], held[spot] = moved, held[active]
                    place[moved] = spot
                    place[old] = 0
                    active -= 1
            listed = 0.0
            for i in range(_1, np.uint64(active + 1)):
                listed += flat[begin + np.uint64(used[i])] * held[i]
                running[i] = listed
            target = uniform(rng) * (listed + smooth[term])
            if old >= 0 and target < listed:
                i = _1
                while running[i] <= target:
                    i += _1
                held[i] += 1.0
                new = used[i]
            else:
                weight = weigh(flat, begin, prior, size, sums.reached, _0, sums.lanes, _0)
                if least * smooth[term] < weight < math.inf:
                    new = np.int32(pick(rng, size, sums.reached, _0, sums.lanes, _0, weight))
                else:
                    expected_weights(rows[term], expected, product)
                    new = np.int32(likeliest(rng, product))
                if place[new] == 0:
                    active += 1
                    used[active], held[active] = new, 0.0
                    place[new] = active
                held[place[new]] += 1.0
            z[token] = new
            token += 1
    used[0] = active


@njit(cache=True, nogil=True)
def split_document(document, data, law, work, expected):
    """n_w given the data and the rate λ_w = Σ_k φ_wk θ_k, then a multinomial split of n_w.

    ``expected`` is E θ_k up to a factor.
    """
    rng, split, product = work.rng, work.split, work.product
    rows, peak = work.terms.rows, work.terms.peak
    part, total = work.state.parts, work.state.total[0]
    for k in range(split.size):
        split[k] = 0
    for cell in range(document.first, document.last):
        value = rows[cell - document.first]
        rate = 0.0
        for k in range(split.size):
            product[k] = np.float64(value[k]) * part[k] * (peak[cell - document.first] * total)
            rate += product[k]
        count = draw_count(rng, law, data[cell], rate)
        if rate == 0.0:
            expected_weights(value, expected, product)
        draw_multinomial(rng, count, product, split)
