"""The categories of new rows: each row, a replicate, has numbers of its own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError
from pgbn.network.network import Network
from pgbn.samplers.random import word_of

__all__ = ["RowIndexes", "along_rows", "row_indexes"]


def along_rows(network: Network, rows: str) -> list[str]:
    """The categories that slots read and that have the dim of the rows."""
    read = {
        lookup.name
        for polynomial in network.wiring.polynomials.values()
        for term in polynomial.terms
        for factor in term.factors
        for lookup in factor.lookups
    }
    return [name for name, each in network.categories.items() if name in read and rows in each.dims]


@dataclass(frozen=True)
class RowIndexes:
    """``arrays[name]`` has the rows first, and 1 in the place of their dim: (rows, *dims)."""

    arrays: dict[str, NDArray[np.int64]]

    def take(self, chosen: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """The numbers of some rows."""
        return {name: array[chosen] for name, array in self.arrays.items()}

    def hashed(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Hashes of rows that know the numbers too: rows of other categories are other rows."""
        for name, array in self.arrays.items():
            for column in array.reshape(len(array), -1).astype(np.uint64).T:
                hashes = (hashes + np.uint64(word_of(name))) * np.uint64(0x9E3779B97F4A7C15) ^ (
                    column
                )  # fmt: skip
        return hashes


def row_indexes(
    network: Network, rows: str, count: int, given: Collection[str]
) -> tuple[Network, RowIndexes]:
    """The network of a single row, and the numbers of each of them; those of the old rows, which
    were not ``given`` with the new ones, will not do."""
    arrays, largest = {}, {}
    for name in along_rows(network, rows):
        dims = network.categories[name].dims
        axis = dims.index(rows)
        if name not in given:
            raise DataError(
                f"data: {name!r}: no numbers of the new rows; give {{{name!r}: […], …}}, one for "
                f"each {rows}"
            )
        array = network.indexes[name]
        if array.shape[axis] != count:
            raise DataError(
                f"data: {name!r}: {array.shape[axis]} numbers along {rows!r}, but there are "
                f"{count} rows; give one for each"
            )
        first = np.moveaxis(array, axis, 0)
        arrays[name] = np.expand_dims(first, axis + 1)
        largest[name] = np.expand_dims(first.max(axis=0), axis)  # a row that the sizes must fit
    return (network.with_indexes(**largest) if largest else network), RowIndexes(arrays)
