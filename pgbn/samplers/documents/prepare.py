"""Computed once, before the sweeps: hashes of documents, loadings of terms two layers up."""

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.documents.layers import Layers
from pgbn.samplers.documents.units import active_units, list_units, mix_units
from pgbn.samplers.random import mix
from pgbn.samplers.simd.lanes import aligned
from pgbn.samplers.uncounted import uncounted

__all__ = ["hash_documents", "project_rows", "project_terms"]


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
    """`project_terms`, with room for the units of a term."""
    units = uncounted(active)
    for term in range(start, stop):
        list_units(phi[term], parts, units)
        mix_units(units, loadings, out.shape[1], out[term])
