"""Counts of the few cells of a matrix that are not 0."""

from typing import NamedTuple

import numpy as np

__all__ = ["SparseCounts"]


class SparseCounts(NamedTuple):
    """Row i has the counts ``data[indptr[i]:indptr[i + 1]]`` in the columns ``indices`` (CSR)."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
