"""Files for the data of a network, as the commands take them: ``counts.mtx``, or ``x=counts.mtx``.

A network of one observed node needs no names; of several, each gets ``name=file``, and so do
numbers of categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.engine.data.coords import check_coords
from pgbn.errors import DataError, did_you_mean, notify
from pgbn.network.network import Network
from pgbn.storage.number_files import Numbers, read_numbers
from pgbn.storage.texts import text_lines
from pgbn.training.new_rows import align_terms, amount

__all__ = [
    "Labels",
    "data_labels",
    "dims_of",
    "files_of",
    "in_run_order",
    "read_labels",
    "read_nodes",
]

Labels = dict[str, list[str]]  # of each dim


def files_of(
    words: Sequence[str],
    observed: Sequence[str],
    categories: Iterable[str] = (),
    some: bool = False,
) -> dict[str, Path]:
    """The file of every observed node (with ``some``, of those that are known), and of the numbers
    of categories, which the network may have already."""
    found: dict[str, Path] = {}
    known = (*observed, *categories)
    for word in words:
        name, sign, file = word.partition("=")
        if name not in known or not sign:
            if len(observed) > 1 or (sign and not Path(word).exists()):
                shown = " ".join(f"{each}=FILE" for each in known)
                raise DataError(
                    f"{word!r} is of no observed node.{did_you_mean(name, known)} Give {shown}"
                )
            name, file = observed[0], word
        if name in found:
            raise DataError(f"{word!r}: there is a file of {name!r} already; give one")
        found[name] = Path(file)
    missing = [name for name in observed if name not in found]
    if missing and not (some and len(missing) < len(observed)):
        raise DataError(f"no data of {missing[0]!r}; give {missing[0]}=FILE")
    return found


def dims_of(network: Network, name: str) -> tuple[str, ...]:
    """The dims of the data of a node, or of the numbers of categories."""
    known = network.categories.get(name)
    return network[name].axes if known is None else known.dims


def read_nodes(network: Network, files: Mapping[str, Path]) -> dict[str, Numbers]:
    """The numbers of every node; those of a node of one dim may be a single column."""
    return {name: _fitted(read_numbers(file, rows=(*dims_of(network, name), "")[0]),
                          len(dims_of(network, name)))
            for name, file in files.items()}  # fmt: skip


def _fitted(numbers: Numbers, dims: int) -> Numbers:
    values = numbers.values
    if dims != 1 or values.ndim != 2 or values.shape[1] != 1:
        return numbers
    return Numbers((values.toarray() if sp.issparse(values) else values)[:, 0], numbers.rows)


def data_labels(network: Network, read: Mapping[str, Numbers]) -> Labels:
    """The names along dims that the files have."""
    out: Labels = {}
    for name, numbers in read.items():
        axes = dims_of(network, name)
        if np.ndim(numbers.values) != len(axes):
            continue  # refused with the data, by the network
        for dim, labels in ((axes[:1], numbers.rows), (axes[1:2], numbers.columns)):
            if dim and labels is not None and out.setdefault(dim[0], labels) != labels:
                raise DataError(
                    f"{name}: the names along {dim[0]!r} are not those of the other data; bring "
                    "them into one order"
                )
    return out


def read_labels(words: Iterable[str], network: Network) -> Labels:
    """From ``term=words.txt``, one name on each line, to the names along dims."""
    out: Labels = {}
    for word in words:
        dim, sign, file = word.partition("=")
        if not sign or not file:
            raise DataError(
                f"{word!r}: give DIM=FILE, such as {(*network.dims, 'dim')[0]}=names.txt"
            )
        if dim not in network.dims:
            raise DataError(f"{word!r}: no node has this dim.{did_you_mean(dim, network.dims)}")
        try:
            out[dim] = list(text_lines(Path(file)))
        except (OSError, EOFError, UnicodeError) as error:
            raise DataError(f"{word!r}: cannot be read ({error})") from None
    check_coords(network, out, network.sizes)
    return out


def in_run_order(
    name: str, numbers: Numbers, axes: Sequence[str], plate: str, coords: Mapping[str, Any]
) -> Any:
    """New rows of a node in the order of the run, along the dim that is not theirs: where file and
    run have names along it, columns go by name."""
    for dim, labels in zip(axes, (numbers.rows, numbers.columns), strict=False):
        if dim == plate or labels is None or dim not in coords:
            continue
        known = list(map(str, coords[dim]))
        if labels == known:
            continue
        if dim == axes[0]:
            raise DataError(f"{name}: the names along {dim!r} are not those of the run; bring them "
                            "into its order")  # fmt: skip
        matrix, columns, total = align_terms(numbers.values, len(known), labels, known, name)
        if columns:
            notify(f"{name}: {columns} of {dim!r} with {amount(total)} that the run does not know "
                   "were dropped")  # fmt: skip
        return matrix
    return numbers.values
