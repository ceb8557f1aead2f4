"""The collapsed sampler of LDA as textbooks have it, to compare others with.

P(z_i = k | rest) ∝ (m_jk + α) (n_vk + η) / (n_k + Vη), tokens one after another, without tables,
lists or streams: slow, and easy to check by reading.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["textbook_sweep"]

Labels = NDArray[np.int64]


@numba.njit
def _sweep(row: Any, word: Any, label: Any, units: Any, words: Any, sizes: Any, alpha: float,
           eta: float, uniform: Any) -> None:  # fmt: skip
    terms, topics = words.shape
    weight = np.empty(topics)
    for i in range(row.size):
        j, v, k = row[i], word[i], label[i]
        units[j, k] -= 1
        words[v, k] -= 1
        sizes[k] -= 1
        total = 0.0
        for k in range(topics):
            total += (units[j, k] + alpha) * (words[v, k] + eta) / (sizes[k] + terms * eta)
            weight[k] = total
        k = min(np.searchsorted(weight, uniform[i] * total), topics - 1)
        label[i] = k
        units[j, k] += 1
        words[v, k] += 1
        sizes[k] += 1


def textbook_sweep(row: Labels, word: Labels, label: Labels, shape: tuple[int, int, int],
                   alpha: float, eta: float, random: np.random.Generator) -> None:  # fmt: skip
    """Draw every label anew, in place."""
    documents, terms, topics = shape
    units, words = np.zeros((documents, topics), np.int64), np.zeros((terms, topics), np.int64)
    np.add.at(units, (row, label), 1)
    np.add.at(words, (word, label), 1)
    _sweep(row, word, label, units, words, words.sum(axis=0), alpha, eta, random.random(row.size))
