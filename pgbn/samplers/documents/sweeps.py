"""Hidden units of separate documents, with Φ^(1…T) and r given: all sweeps of one document.

One sweep of document j (Zhou, Cong and Chen 2015, section 2.3, without the global steps):

    z_i        ∝ φ^(1)_wk (m^(1)_k + a^(1)_k)                 counts, θ^(1) marginalised
    x^(t)_k    ~ CRT(m^(t-1)_k, a^(t-1)_k),   split ∝ φ^(t)_kl θ^(t)_l → m^(t)_l
    p^(2)      ~ Beta(a0 + m^(1)_·, b0 + a^(1)_·),   c^(t) ~ Gam(e0 + θ^(t)_·, f0 + θ^(t-1)_·)
    θ^(t)_k    ~ Gam(a^(t)_k + m^(t)_k, c^(t+1) + q^(t)),   t = T … 2 (… 1 without labels)

with a^(t) = Φ^(t+1) θ^(t+1), a^(T) = r and q^(1) = 1, q^(t+1) = log(1 + q^(t) / c^(t+1)).

A document draws from a stream keyed by its content, so its result does not depend on other
documents. Very large counts, like the data of other links, have no labels: n_w1 … n_wK ~ Mult(n_w;
φ^(1)_wk θ^(1)_k).

In a deep network most units of a layer are negligible in a given document. The others are listed,
and all sums over a layer run over the list (units.py, which states what is skipped and why). The
prior's part of the labels does so too: Σ_k φ^(1)_wk a^(1)_k = Σ_l (Φ^(1)Φ^(2))_wl θ^(2)_l.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.documents.first_layer import has_labels, label_tokens, split_document
from pgbn.samplers.documents.scratch import Document, filled_up, scratch_for, token_number
from pgbn.samplers.documents.units import active_units, draw_units, list_units, mix_units
from pgbn.samplers.documents.upper_layers import Layers, loadings_down, loadings_up, pass_up
from pgbn.samplers.elementary import exp, log1p, log1p_quotient
from pgbn.samplers.lanes import aligned, row_total
from pgbn.samplers.random import mix, restart
from pgbn.samplers.uncounted import uncounted
from pgbn.samplers.variates.dirichlet import draw_log_beta_odds
from pgbn.samplers.variates.gamma import HUGE, TINY, draw_gamma_rate

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


_0 = np.uint64(0)


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
