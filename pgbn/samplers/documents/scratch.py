"""The inputs and the scratch of the kernels of hidden units, in named bundles.

Scratch is made once for a block of documents, as large as the largest of them needs, and used by
one after another.
"""

from typing import NamedTuple

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.documents.first_layer import DATUM, CountLaw, most_labels
from pgbn.samplers.documents.units import TILE, Active, active_units
from pgbn.samplers.documents.upper_layers import Layers, Sums, sums_of
from pgbn.samplers.lanes import aligned


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
