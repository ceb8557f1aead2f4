"""Hidden units of separate documents, with Φ^(1…T) and r given: all sweeps of one document.

One sweep of document j (Zhou, Cong and Chen 2015, section 2.3, without the global steps):

    z_i        ∝ φ^(1)_wk (m^(1)_k + a^(1)_k)                 counts, θ^(1) marginalised
    x^(t)_k    ~ CRT(m^(t-1)_k, a^(t-1)_k),   split ∝ φ^(t)_kl θ^(t)_l → m^(t)_l
    p^(2)      ~ Beta(a0 + m^(1)_·, b0 + a^(1)_·),   c^(t) ~ Gam(e0 + θ^(t)_·, f0 + θ^(t-1)_·)
    θ^(t)_k    ~ Gam(a^(t)_k + m^(t)_k, c^(t+1) + q^(t)),   t = T … 2 (… 1 without labels)

with a^(t) = Φ^(t+1) θ^(t+1), a^(T) = r and q^(1) = 1, q^(t+1) = log(1 + q^(t) / c^(t+1)).

A document draws from a stream keyed by its content, so its result does not depend on other
documents. Very large counts, like the data of other links, have no labels: n_w1 … n_wK ~
Mult(n_w; φ^(1)_wk θ^(1)_k).

In a deep network most units of a layer are negligible in a given document. The others are listed,
and all sums over a layer run over the list (units.py, which states what is skipped and why). The
prior's part of the labels does so too: Σ_k φ^(1)_wk a^(1)_k = Σ_l (Φ^(1)Φ^(2))_wl θ^(2)_l.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from pgbn.errors import DataError
from pgbn.samplers.compiled import Kernel, njit, uncounted
from pgbn.samplers.documents.units import (
    TILE,
    Active,
    Layers,
    Sums,
    active_units,
    draw_units,
    expected_weights,
    likeliest,
    list_units,
    loadings_down,
    loadings_up,
    mix_units,
    pass_up,
    sums_of,
)
from pgbn.samplers.elementary import LN_2, exp, log, log1p, log1p_quotient
from pgbn.samplers.from_numba import carray, cfunc, errors, intrinsic, ir, is_jitted, types
from pgbn.samplers.lanes import aligned, pick, pointer, row_total, weigh
from pgbn.samplers.random import mix, restart, uniform
from pgbn.samplers.variates.dirichlet import draw_log_beta_odds
from pgbn.samplers.variates.gamma import HUGE, TINY, draw_gamma_rate
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


# ---- the first layer ---------------------------------------------------------------------------
#
#     P(z_i = k | z_-i, Φ) ∝ φ_wk (m_k + a_k)        counts, θ^(1) marginalised
#     (n_w1 … n_wK) ~ Mult(n_w; φ_wk θ_k)            large counts, and other links, where n_w is
#                                                    drawn given the datum
#
# The rows of Φ^(1) of the document's terms are divided by their largest entries, in float32, filled
# with zeros to a multiple of 16. Only the ratios within a row matter to labels.


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


# ---- scratch -----------------------------------------------------------------------------------
#
# The inputs and the scratch of the kernels of hidden units, in named bundles.
#
# Scratch is made once for a block of documents, as large as the largest of them needs, and used by
# one after another.


class Documents(NamedTuple):
    """Documents × terms by rows, and the hash of each document."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    hashes: np.ndarray


class GivenNetwork(NamedTuple):
    """Φ^(1) with one row for each term, (V, K_1), the result of `project_terms`, which has no rows
    if there is no second layer, and the layers above."""

    phi: np.ndarray
    projected: np.ndarray
    layers: Layers


class Sweeps(NamedTuple):
    """How many sweeps are run before moments are added up, and how many then."""

    burn_in: int
    samples: int


class Document(NamedTuple):
    """One document: its cells ``first`` … ``last`` - 1, their number filled up to a multiple of
    32, the sum of its data, and whether its tokens have labels."""

    first: int
    last: int
    filled: int
    tokens: float
    labelled: bool


class TermLoadings(NamedTuple):
    """Φ^(1) of the terms of one document.

    ``rows`` are its rows, each divided by its largest entry ``peak``; ``columns`` is flat, with a
    line for each unit l of the second layer, (Φ^(1)Φ^(2))_wl of the terms, divided likewise;
    ``smooth`` is Σ_k rows_wk a_k.
    """

    rows: np.ndarray
    peak: np.ndarray
    columns: np.ndarray
    smooth: np.ndarray


class Labels(NamedTuple):
    """The labels ``z`` of the tokens of a document, and the topics that have some.

    These are used[1 … used[0]], a line of `DocumentState.used`, with their counts ``held``, and
    place[k] is where k is listed, 0 if it is not. ``running`` is scratch for sums over them.
    """

    z: np.ndarray
    held: np.ndarray
    place: np.ndarray
    running: np.ndarray


class DocumentState(NamedTuple):
    """The state of a document's chain, layer t in the places at[t] … at[t + 1] of a vector.

    θ^(t) ~ Gam(a, c[t]) received the counts m and the exposure q[t]; ``parts`` is θ^(t) / θ^(t)_·
    and total[t] is θ^(t)_·. The units of layer t with counts are used[t, 1 … used[t, 0]].
    """

    a: np.ndarray
    m: np.ndarray
    used: np.ndarray
    parts: np.ndarray
    total: np.ndarray
    c: np.ndarray
    q: np.ndarray


class Scratch(NamedTuple):
    """All scratch for one document after another; ``prior`` is a^(1) up to a factor, for labels."""

    rng: np.ndarray
    terms: TermLoadings
    labels: Labels
    state: DocumentState
    prior: np.ndarray
    mixed: np.ndarray
    product: np.ndarray
    split: np.ndarray
    active: Active
    sums: Sums


@njit(cache=True, nogil=True)
def filled_up(number):
    """The least multiple of 32 from ``number`` on."""
    return (number + TILE - 1) // TILE * TILE


@njit(cache=True, nogil=True)
def token_number(data, first, last):
    """The sum of a document's data."""
    total = 0
    for cell in range(first, last):
        total += data[cell]
    return total


def scratch_for(
    start: int, stop: int, documents: Documents, law: CountLaw | None, layers: Layers
) -> Scratch:
    """Scratch for each of the documents start..stop."""
    at, topics, depth = layers.at, int(layers.width[0]), layers.width.size
    edges = documents.indptr[start : stop + 1]
    data = documents.data[edges[0] : edges[-1]]
    has_labels = law is None or law.kind == DATUM
    longest = most_labels(edges, data, topics)[0] if has_labels else 0
    distinct = int(np.diff(edges).max(initial=1))
    padded, widest = -(-distinct // TILE) * TILE, int(np.diff(at).max())
    second = int(at[2] - at[1]) if depth > 1 else 0
    return Scratch(
        rng=np.zeros(2, np.uint64),
        terms=TermLoadings(
            rows=aligned(distinct * at[1]).reshape(distinct, at[1]),
            peak=np.ones(distinct),
            columns=aligned(second * padded),
            smooth=np.zeros(padded),
        ),
        labels=Labels(
            z=np.zeros(max(longest, 1), np.int32),
            held=np.zeros(topics + 1),
            place=np.zeros(topics, np.int32),
            running=np.zeros(topics + 1),
        ),
        state=DocumentState(
            a=np.zeros(at[-1]),
            m=np.zeros(at[-1]),
            used=np.zeros((depth, widest + 1), np.int32),
            parts=aligned(at[-1]),
            total=np.zeros(depth),
            c=np.ones(depth),
            q=np.ones(depth),
        ),
        prior=aligned(at[1]),
        mixed=aligned(max(padded, widest)),
        product=np.zeros(topics),
        split=np.zeros(topics, np.int64),
        active=active_units(widest),
        sums=sums_of(widest),
    )


# ---- prepare ------------------------------------------------------------------------------------
#
# Computed once, before the sweeps: hashes of documents, loadings of terms two layers up.


@njit(cache=True, nogil=True)
def hash_documents(_key, start, stop, indptr, indices, data, out):
    """out_j = a hash of the (term, value) pairs of document j; ``data`` as 64-bit words."""
    for row in range(start, stop):
        word = np.uint64(indptr[row + 1] - indptr[row])
        for cell in range(indptr[row], indptr[row + 1]):
            word = mix(word + np.uint64(0x9E3779B97F4A7C15) + np.uint64(indices[cell]))
            word = mix(word ^ data[cell])
        out[row] = word


def project_terms(_key, start, stop, phi, layers: Layers, out) -> None:
    """out_wl = Σ_k φ^(1)_wk φ^(2)_kl / Σ_k φ^(1)_wk for the terms start..stop."""
    width, loadings = int(layers.at[1]), layers.up[: layers.up_at[1]]
    project_rows(start, stop, phi, loadings, active_units(width), aligned(width), out)


@njit(cache=True, nogil=True)
def project_rows(start, stop, phi, loadings, active, parts, out):
    """`project_terms`, with scratch for the units of a term."""
    units = uncounted(active)
    for term in range(start, stop):
        list_units(phi[term], parts, units)
        mix_units(units, loadings, out.shape[1], out[term])


# ---- moments ------------------------------------------------------------------------------------
#
# Moments of hidden units, added up over sweeps.
#
# With α = a + m, E θ_k = α_k / rate and E θ_k/θ_· = α_k / α_·: conditional moments given (a, m,
# c), not draws of θ. The expectation is the same, the variance smaller.


class Moments(NamedTuple):
    """First and second moments of θ^(t)/θ^(t)_· and of θ^(t), (documents, places) each.

    Layer t goes to the columns from ``column[t]`` on, or nowhere if that is negative. Arrays of no
    columns are not filled.
    """

    column: np.ndarray
    share: np.ndarray
    share_square: np.ndarray
    unit: np.ndarray
    unit_square: np.ndarray


@njit(cache=True, nogil=True)
def _total(a, m):
    """Σ_k α_k, in an order that no machine changes."""
    return row_total(a, _0, np.uint64(a.size)) + row_total(m, _0, np.uint64(m.size))


@njit(cache=True, nogil=True)
def _add(a, m, first, second, mean, square):
    """Add first · α and second · α (α + 1), α = a + m."""
    for k in range(mean.size):
        alpha = a[k] + m[k]
        mean[k] += first * alpha
        square[k] += second * alpha * (alpha + 1.0)


@njit(cache=True, nogil=True)
def add_moments(row, layers, moments, state, scale):
    """Add the conditional moments of every layer that is asked for, times ``scale``."""
    for t in range(layers.width.size):
        if moments.column[t] < 0:
            continue
        here = slice(layers.at[t], layers.at[t] + layers.width[t])
        columns = slice(moments.column[t], moments.column[t] + layers.width[t])
        a, m = state.a[here], state.m[here]
        if moments.share.shape[1]:
            mean, square = moments.share[row, columns], moments.share_square[row, columns]
            total = _total(a, m)
            if total > 0.0:
                first = scale / total
                _add(a, m, first, first / (total + 1.0), mean, square)
            else:  # a document without counts whose shapes all underflowed: shares stay
                for k in range(mean.size):
                    mean[k] += scale / mean.size
                    square[k] += scale / mean.size
        if moments.unit.shape[1]:
            mean, square = moments.unit[row, columns], moments.unit_square[row, columns]
            rate = state.c[t] + state.q[t]
            first = scale / rate
            _add(a, m, first, first / rate, mean, square)


# ---- sweeps -------------------------------------------------------------------------------------


def infer_documents(key, start, stop, documents, law, network, sweeps, moments) -> None:
    """All sweeps of documents start..stop; their moments are written to their rows. ``law`` is None
    if every document has labels (`most_labels`): code for splits is then not compiled."""
    work = scratch_for(start, stop, documents, law, network.layers)
    sweep_documents(key, start, stop, documents, law, network, sweeps, moments, work)


@njit(cache=True, nogil=True)
def sweep_documents(key, start, stop, documents, law, network, sweeps, moments, work):
    """`infer_documents`, with scratch."""
    documents, network, moments = uncounted(documents), uncounted(network), uncounted(moments)
    layers, work = network.layers, uncounted(work)
    for row in range(start, stop):
        restart(work.rng, key ^ documents.hashes[row], 0)
        document = _open(row, documents, law, layers, work)
        _load_terms(document, documents.indices, network, work)
        least = _begin(document, layers, work)
        top = work.state.total[-1]
        for sweep in range(sweeps.burn_in + sweeps.samples):
            sweep_document(document, documents.data, law, layers, work, least, top)
            if sweep >= sweeps.burn_in:
                add_moments(row, layers, moments, work.state, 1.0 / sweeps.samples)


@njit(cache=True, nogil=True)
def sweep_document(document, data, law, layers, work, least, top):
    """One sweep, in the order of the text above; ``least``: see `_begin`, ``top`` is Σ_k r_k."""
    count = _draw_counts(document, data, law, layers, work, least)
    _pass_tables_up(layers, work)
    _draw_rates(layers.prior, count, top, work)
    _draw_layers(document, layers, work)


# ---- before the first sweep -----------------------------------------------------------


@njit(cache=True, nogil=True)
def _open(row, documents, law, layers, work):
    """The document of a row; no token has a label, no unit a count."""
    first, last = documents.indptr[row], documents.indptr[row + 1]
    tokens = token_number(documents.data, first, last)
    labelled = law is None or has_labels(law.kind, tokens, last - first, layers.width[0])
    z, place, m, used = work.labels.z, work.labels.place, work.state.m, work.state.used
    for i in range(np.int64(tokens) if labelled else 0):
        z[i] = -1
    for k in range(place.size):
        place[k] = 0
    for k in range(m.size):
        m[k] = 0.0
    for t in range(used.shape[0]):
        used[t, 0] = 0
    return Document(first, last, filled_up(last - first), tokens, labelled)


@njit(cache=True, nogil=True)
def _load_terms(document, indices, network, work):
    """The loadings of the document's terms, each term's divided by its largest one."""
    rows, peak, columns = work.terms.rows, work.terms.peak, work.terms.columns
    projected = network.projected
    for cell in range(document.first, document.last):
        line, i = network.phi[indices[cell]], cell - document.first
        largest, total = 1e-300, 0.0
        for k in range(line.size):
            largest = max(largest, line[k])
            total += line[k]
        peak[i] = largest
        for k in range(line.size):
            rows[i, k] = line[k] / largest
        share = total / largest
        for k in range(projected.shape[1]):
            columns[k * document.filled + i] = projected[indices[cell], k] * share


@njit(cache=True, nogil=True)
def _begin(document, layers, work):
    """Start where every unit has the expectation that r implies for c = 1.

    The result is the part of ``smooth`` that a label by ``prior`` must at least have, see
    `label_tokens`: the parts of a layer lack negligible units, and ``smooth`` does not.
    """
    at, width, state = layers.at, layers.width, work.state
    depth = width.size
    for k in range(width[depth - 1]):
        state.a[at[depth - 1] + k] = layers.r[k]
    for t in range(depth - 1, -1, -1):
        here = slice(at[t], at[t + 1])
        if t < depth - 1:
            _mix_down(t, document, layers, work)
        state.total[t] = list_units(state.a[here], state.parts[here], work.active)
    if depth > 1:
        return 0.0
    for k in range(work.prior.size):
        work.prior[k] = state.parts[k]
    rows, smooth = work.terms.rows, work.terms.smooth
    for term in range(document.last - document.first):
        smooth[term] = 0.0
        for k in range(width[0]):
            smooth[term] += rows[term, k] * state.a[k]
    return 0.999 / state.total[0]


# ---- the steps of a sweep -------------------------------------------------------------


@njit(cache=True, nogil=True)
def _draw_counts(document, data, law, layers, work, least):
    """m^(1) of the document, by labels or by splits; their sum."""
    m, used, topics = work.state.m, work.state.used[0], layers.width[0]
    expected = layers.expected[:topics]
    if law is None or document.labelled:
        label_tokens(document, data, work, least, expected)
        for k in range(layers.at[1]):
            m[k] = 0.0
        for i in range(1, used[0] + 1):
            m[used[i]] = work.labels.held[i]
        return document.tokens
    split_document(document, data, law, work, expected)
    split, found, count = work.split, 0, 0.0
    for k in range(topics):
        m[k] = split[k]
        count += m[k]
        if split[k]:
            found += 1
            used[found] = k
    used[0] = found
    return count


@njit(cache=True, nogil=True)
def _pass_tables_up(layers, work):
    """m^(t) of the layers above the first: the tables of the counts below."""
    at, state = layers.at, work.state
    for t in range(1, layers.width.size):
        below, here = slice(at[t - 1], at[t]), slice(at[t], at[t + 1])
        expected = layers.expected[at[t] : at[t] + layers.width[t]]
        pass_up(
            work.rng, state.m[below], state.used[t - 1], state.a[below], loadings_up(layers, t),
            state.parts[here], expected, state.m[here], state.used[t], work.sums,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _draw_rates(prior, count, top, work):
    """c[t] and q[t]: rate and exposure of layer t, θ^(t) ~ Gam(a, c[t]).

    Σ_k a^(t)_k = Σ_l θ^(t+1)_l because the columns of Φ sum to one; at the top it is ``top``.
    ``count`` is the number of tokens.
    """
    rng, c, q, total = work.rng, work.state.c, work.state.q, work.state.total
    depth = c.size
    above = total[1] if depth > 1 else top
    log_odds = draw_log_beta_odds(rng, prior[0] + count, prior[1] + above)
    c[0] = exp(log_odds)
    q[0] = 1.0
    # The exposure of the second layer is ln(1 + 1/c), without forming 1/c.
    log_one_plus = log1p(exp(-abs(log_odds))) + max(-log_odds, 0.0)
    for t in range(1, depth):
        q[t] = log_one_plus if t == 1 else log1p_quotient(q[t - 1], c[t - 1])
        above = top if t == depth - 1 else total[t + 1]
        drawn = draw_gamma_rate(rng, prior[2] + above, prior[3] + total[t])
        c[t] = min(max(drawn, TINY), HUGE)


@njit(cache=True, nogil=True)
def _draw_layers(document, layers, work):
    """a^(t), then θ^(t), from the top down; θ^(1) only if it is not marginalised."""
    at, state = layers.at, work.state
    depth = layers.width.size
    for t in range(depth - 1, -1, -1):
        here = slice(at[t], at[t + 1])
        if t < depth - 1:
            _mix_down(t, document, layers, work)
        if t > 0 or not document.labelled:
            state.total[t] = draw_units(
                work.rng, state.a[here], state.m[here], state.c[t] + state.q[t],
                state.parts[here], work.active,
            )  # fmt: skip


@njit(cache=True, nogil=True)
def _mix_down(t, document, layers, work):
    """a^(t) = Φ^(t+1) θ^(t+1), of the units above that are listed; for labels also their inputs:
    a^(1) up to a factor, and Σ_k φ^(1)_wk a^(1)_k of the document's terms."""
    at, mixed, above = layers.at, work.mixed, work.state.total[t + 1]
    mix_units(work.active, loadings_down(layers, t), at[t + 1] - at[t], mixed)
    _scale(mixed, above, work.state.a[at[t] : at[t + 1]])
    if t == 0 and document.labelled:
        for k in range(work.prior.size):
            work.prior[k] = mixed[k]
        mix_units(work.active, work.terms.columns, document.filled, mixed)
        _scale(mixed, above, work.terms.smooth[: document.filled])


@njit(cache=True, nogil=True)
def _scale(mixed, total, out):
    """out_k = mixed_k · total."""
    for k in range(out.size):
        out[k] = np.float64(mixed[k]) * total
