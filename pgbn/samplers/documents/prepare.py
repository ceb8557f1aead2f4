"""Computed once, before the sweeps: hashes of documents, loadings of terms two layers up."""

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.documents.layers import loadings_up
from pgbn.samplers.documents.units import active_units, list_units, mix_units
from pgbn.samplers.random import mix
from pgbn.samplers.simd.lanes import aligned
from pgbn.samplers.uncounted import keep, uncounted

__all__ = ["hash_documents", "project_terms"]


@njit(cache=True, nogil=True)
def hash_documents(_key, start, stop, indptr, indices, data, out):
    """out_j = a hash of the (term, value) pairs of document j; ``data`` as 64-bit words."""
    for row in range(start, stop):
        word = np.uint64(indptr[row + 1] - indptr[row])
        for cell in range(indptr[row], indptr[row + 1]):
            word = mix(word + np.uint64(0x9E3779B97F4A7C15) + np.uint64(indices[cell]))
            word = mix(word ^ data[cell])
        out[row] = word


@njit(cache=True, nogil=True)
def project_terms(_key, start, stop, phi, layers, out):
    """out_wl = Σ_k φ^(1)_wk φ^(2)_kl / Σ_k φ^(1)_wk for the terms start..stop."""
    at = layers.at
    room, parts = active_units(at[1]), aligned(at[1])
    active, loadings = uncounted(room), loadings_up(layers, 1)
    for term in range(start, stop):
        list_units(phi[term], parts, active)
        mix_units(active, loadings, at[2] - at[1], out[term])
    keep(room)
