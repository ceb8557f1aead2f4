"""What users give to a network, checked before any work: data, labels, given values and sizes.

Data come as an array, dense, masked or sparse, as a `pgbn.Corpus`, or as coordinates and values:

    {"sender": i, "receiver": j, "action": a, "month": t, "values": n}

a dict from the dims of a node to the numbers of its cells along them, with their values (1 if
missing); or a ``sparse.COO`` array, or a ``scipy.sparse.coo_array``. These are never dense.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import prod
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_unmasked, first_difference, in_order, is_sparse_array, numbers
from pgbn.engine.data.cells import GROUP, Cells, cells_of, coordinate_cells, sees_zeros, typed
from pgbn.errors import DataError, StorageError, did_you_mean
from pgbn.network.network import Network, check_size
from pgbn.network.terms import Factor, Lagged, Lookup, ViaEdge
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.poisson_gamma import PoissonGamma
from pgbn.nodes.rules import EvidenceRule, find_link
from pgbn.samplers.executor import ROW_BLOCK, Executor
from pgbn.storage.archive import Group, register_documents
from pgbn.storage.corpus import Corpus, FolderCorpus, counts_of
from pgbn.storage.read_limits import check_bytes, memory
from pgbn.storage.sparse import check_sparse, row_arrays

VALUES = "values"
_MOST = 2**62  # cells, whose numbers must be integers
_BYTES = 64  # of a cell where all are kept: its value, place, rate and counts, some of them twice


def read_data(network: Network, data: Mapping[str, Any]) -> dict[str, Cells]:
    """Check the data of every observed node, before any work."""
    if not isinstance(data, Mapping):
        name = network.observed[0]
        raise DataError(
            f"data must be a dict from names to arrays, such as {{{name!r}: X}}; got "
            f"{type(data).__name__}"
        )
    for name in data:
        if name not in network.observed:
            if name in network.latent:
                raise DataError(
                    f"data: {name!r} is a latent node, which is drawn; to fix its value, pass it "
                    f"as given={{{name!r}: array}}, to begin there as start={{{name!r}: array}}"
                )
            raise DataError(
                f"data: {name!r} is not an observed node.{did_you_mean(name, network.observed)}"
            )
    for name in network.observed:
        if name not in data:
            raise DataError(
                f"data: no values for the observed node {name!r}; give {{{name!r}: array, …}}"
            )
    cells = {
        name: read_array(network.nodes[name], value, sizes=network.sizes)  # type: ignore[arg-type]
        for name, value in data.items()
    }
    for name, cell in cells.items():
        if cell.missing is not None:
            check_imputable(network, network.nodes[name])
    return cells


def read_array(
    node: Observed, value: Any, imputed: bool = True, sizes: Mapping[str, int] | None = None
) -> Cells:
    """The cells of one node's data: sparse or dense, masked where unknown.

    Named dims (of an ``xarray.DataArray``) go by name, all other arrays by position. ``sizes`` are
    those of dims that coordinates may leave open. ``imputed=False`` rejects masked cells: they are
    imputed by chains, and nowhere else.
    """
    if isinstance(value, Cells):  # read before, e.g. by the chain that was saved
        return value
    cells = _read(node, in_order(node.name, node.axes, counts_of(value)), imputed, sizes or {})
    if sees_zeros(node) and (cells.numbers.size or cells.size < prod(cells.shape)):
        _check_all_fit(node, cells.shape)
        cells = cells_of(node, cells.dense(), 1)
    cells.labels = labels_of(node.axes, value) or cells.labels
    return cells


def _read(node: Observed, value: Any, imputed: bool, sizes: Mapping[str, int]) -> Cells:
    """The cells of coordinates, of a sparse matrix or of a dense array."""
    if isinstance(value, Mapping) and not sp.issparse(value):
        return _read_coordinates(node, *_by_dim(node, value, sizes), imputed)
    if is_sparse_array(value) or (sp.issparse(value) and len(value.shape) > 2):
        found = value.asformat("coo")
        if getattr(found, "fill_value", 0) != 0:
            raise DataError(
                f"{node.name}: a sparse array that is {found.fill_value} where it has no entry; "
                "give one that is 0 there"
            )
        return _read_coordinates(node, list(found.coords), found.data, found.shape, imputed)
    read = _read_sparse if sp.issparse(value) else _read_dense
    return read(node, value, imputed)


def _read_dense(node: Observed, value: Any, imputed: bool) -> Cells:
    mask = np.ma.getmaskarray(value) if np.ma.is_masked(value) else None
    if mask is not None and not imputed:
        raise DataError(
            f"{node.name}: masked cells are not supported here; fill them, e.g. with "
            ".filled(0), or omit the rows with unknown cells"
        )
    try:
        array = _as_array(np.ma.getdata(value) if np.ma.isMaskedArray(value) else value)
    except ValueError:
        raise DataError(
            f"{node.name}: the data have rows of unequal length; give an array of "
            f"{' × '.join(node.axes)}"
        ) from None
    if array.dtype.kind not in "iufb":
        example = ", ".join(f"{dim!r}: […]" for dim in node.axes)
        cells = f", or the numbers of the cells, {{{example}, 'values': […]}}"
        raise DataError(
            f"{node.name}: data of dtype {array.dtype}; give numbers (integers or floats), dense "
            f"or scipy.sparse{cells if len(node.axes) > 2 else ''}"
        )
    _check_shape(node, array.shape)
    if sees_zeros(node):
        _check_all_fit(node, array.shape)
    array = _wide(array)
    _check_values(node, array if mask is None else array[~mask], imputed)
    if mask is not None:
        array = np.where(mask, 0, array)
    return cells_of(node, array[None], 1, mask)


def _check_all_fit(node: Observed, shape: tuple[int, ...]) -> None:
    """Reject data of which all cells would not fit into memory."""
    size = prod(shape)
    sizes = " × ".join(f"{n} {dim}" for n, dim in zip(shape, node.axes, strict=True))
    what = f"{node.name}: {size} cells ({sizes}), of which {type(node).__name__} needs every one,"
    check_bytes(what, size * _BYTES, "give fewer rows or columns")


def _as_array(value: Any) -> NDArray[Any]:
    """An array; numbers in pandas' own types, such as Int64, would otherwise become objects."""
    array = np.asarray(value)
    if array.dtype == object and hasattr(value, "columns") and hasattr(value, "to_numpy"):
        numbers = all(getattr(kind, "kind", "O") in "iufb" for kind in value.dtypes)
        return np.asarray(value.to_numpy(np.float64, na_value=np.nan) if numbers else array)
    return array


def _read_sparse(node: Observed, value: Any, imputed: bool) -> Cells:
    _check_shape(node, value.shape)
    check_sparse(node.name, value)
    if value.dtype.kind not in "iufb":
        raise DataError(f"{node.name}: sparse data of dtype {value.dtype}; give integers or floats")
    if value.dtype.kind != "b":  # small integers could overflow where duplicates are added
        value = value.astype(_wide(np.empty(0, value.dtype)).dtype, copy=False)
    matrix = sp.csr_array(value, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data = _wide(matrix.data)
    _check_values(node, matrix.data, imputed)
    return Cells(node.axes, tuple(matrix.shape), 1, matrix.indptr.astype(np.int64),
                 matrix.indices.astype(np.int32), typed(matrix.data))  # fmt: skip


def _read_coordinates(
    node: Observed,
    places: Sequence[Any],
    values: Any,
    shape: tuple[int | None, ...],
    imputed: bool,
) -> Cells:
    """Cells at some places. Sizes that are not given are one more than the largest number."""
    name, axes = node.name, node.axes
    if len(places) != len(axes):
        raise DataError(
            f"{name}: coordinates along {len(places)} dims, but the node has {len(axes)}: {axes}"
        )
    read = tuple(_numbers(name, dim, each) for dim, each in zip(axes, places, strict=True))
    found = numbers(f"{name}: the values", values)
    lengths = {each.size for each in read} | {found.size}
    if len(lengths) > 1 or found.ndim != 1:
        raise DataError(
            f"{name}: coordinates and values of different lengths, {sorted(lengths)}; give a "
            "number along each dim, and a value, for every cell"
        )
    sizes = _complete_shape(name, axes, read, shape)
    _check_shape(node, sizes)
    values = _wide(found)
    _check_values(node, values, imputed)
    if len(axes) > 2:
        return coordinate_cells(axes, sizes, read, typed(values))
    matrix = sp.coo_array((values, read), shape=sizes)
    if len(axes) == 2:
        return _read_sparse(node, matrix, imputed)
    return _read_dense(node, matrix.toarray(), imputed)


def _complete_shape(
    name: str,
    axes: tuple[str, ...],
    places: tuple[NDArray[np.int64], ...],
    given: tuple[int | None, ...],
) -> tuple[int, ...]:
    largest = [int(each.max(initial=-1)) for each in places]
    shape = tuple(
        most + 1 if size is None else size for most, size in zip(largest, given, strict=True)
    )
    for dim, most, size in zip(axes, largest, shape, strict=True):
        if most >= size:
            raise DataError(
                f"{name}: has the number {most} along {dim!r}, whose size is {size}; numbers go "
                f"from 0 to {size - 1}"
            )
    if prod(shape) > _MOST:
        raise DataError(f"{name}: {' × '.join(map(str, shape))} cells are more than 2^62")
    return shape


def _by_dim(
    node: Observed, value: Mapping[Any, Any], sizes: Mapping[str, int]
) -> tuple[list[Any], Any, tuple[int | None, ...]]:
    """The numbers along each dim, the values, and the sizes as far as they are known."""
    axes = node.axes
    unknown = [key for key in value if key not in (*axes, VALUES)]
    missing = [dim for dim in axes if dim not in value]
    if unknown or missing:
        example = ", ".join(f"{dim!r}: […]" for dim in axes)
        raise DataError(
            f"{node.name}: coordinates of {', '.join(map(str, value))}, but its dims are {axes}; "
            f"give {{{example}, {VALUES!r}: […]}}"
        )
    places = [value[dim] for dim in axes]
    values = value.get(VALUES)
    if values is None:
        values = np.ones(np.size(places[0]), np.int64)
    return places, values, tuple(sizes.get(dim) for dim in axes)


def _numbers(name: str, dim: str, value: Any) -> NDArray[np.int64]:
    array = numbers(f"{name}: the numbers along {dim!r}", value)
    whole = array.dtype.kind in "iu" or bool((array % 1 == 0).all())
    if array.ndim != 1 or not whole or (array.size and not 0 <= array.min() <= array.max() < 2**62):
        raise DataError(
            f"{name}: along {dim!r}, {value!r:.60}; give a list of integers from 0 on, one for "
            "each cell"
        )
    return array.astype(np.int64)


def _wide(values: NDArray[Any]) -> NDArray[Any]:
    """Integers as int64 and floats as float64; integers beyond int64 stay and are rejected."""
    if values.dtype.kind == "f":
        return values.astype(np.float64, copy=False)
    return values if values.dtype == np.uint64 else values.astype(np.int64, copy=False)


def _check_shape(node: Observed, shape: tuple[int, ...]) -> None:
    if len(shape) != len(node.axes):
        raise DataError(
            f"{node.name}: data of shape {shape}, but the node has {len(node.axes)} dims "
            f"{node.axes}; give an array of {' × '.join(node.axes) or 'no axes'}"
        )
    for dim, size in zip(node.axes, shape, strict=True):
        if size == 0:
            raise DataError(
                f"{node.name}: data of shape {shape}: the dim {dim!r} is empty; give at least one "
                f"{dim}"
            )


def _check_values(node: Observed, values: NDArray[Any], imputed: bool) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        kind = "NaN" if np.isnan(values).any() else "infinite"
        remedy = (
            "for unknown cells give a numpy.ma.masked_array, whose masked cells are imputed"
            if imputed and is_imputable(node)
            else "give finite numbers, or omit the rows with unknown cells"
        )
        raise DataError(f"{node.name}: the data have {kind} values; {remedy}")
    complaint = node.check(values)
    if complaint:
        raise DataError(f"{node.name}: the data have {complaint}")


# ---- masked cells --------------------------------------------------------------------------------


def is_imputable(node: Node) -> bool:
    """Masked cells are imputed as Poisson counts, so the data must rest on such counts."""
    return find_link(node) is not None and node.simplex is None


def _is_silent(rule: EvidenceRule) -> bool:
    """Whether a rule sends its slot no evidence at masked cells. Their value is 0, and the result
    of a function of the cells is dropped there (`Quantities.without_missing`). A slot's value is
    not dropped."""
    parts = ((rule.count, rule.count_reads), (rule.exposure, rule.exposure_reads))
    return rule.drawn is None and all(
        part in ("value", "count", 0) or (callable(part) and {"value", "count"} & set(reads))
        for part, reads in parts
    )


def check_imputable(network: Network, node: Node) -> None:
    """Reject masked cells of a node that has no counts to impute them from."""
    link, kind = find_link(node), type(node).__name__
    wrong = "" if is_imputable(node) else f"for {kind}"
    for slot in node.slots():
        rule = network.wiring.rules.get((node.name, slot))
        if wrong or link is None or rule is None:
            continue
        reads = {"value", "count", "exposure"} & set(rule.exposure_reads)
        is_plain = (rule.count, rule.kind, rule.drawn) == ("count", "poisson", None) and not reads
        if slot == link.slot and not is_plain:
            wrong = f"since the rule of {kind} for {slot} is not that of Pois(exposure · {slot})"
        elif slot != link.slot and not _is_silent(rule):
            wrong = f"since the rule of {kind} for {slot} does not look at the data of each cell"
    if wrong:
        raise DataError(
            f"{node.name}: the data have masked cells, which cannot be imputed {wrong}; use a "
            "node with Poisson counts, such as pgbn.Poisson, or omit the rows with unknown "
            "cells"
        )


# ---- corpora ------------------------------------------------------------------------------------


class StoredCells(Cells):
    """Rows of a corpus in a folder, whose cells stay there. Whoever works on some rows gets them by
    `read`. Only the beginnings of rows and the totals of the columns are in memory."""

    missing = None
    replicates = 1
    is_corpus = True

    def __init__(self, node: Observed, corpus: Corpus) -> None:
        """Look at all blocks once, one after another; a damaged one is named."""
        self.dims, self.shape, self.node, self.corpus = node.axes, corpus.shape, node, corpus
        self.starts = np.zeros(corpus.shape[0] + 1, np.int64)
        self.column_totals = np.zeros(corpus.shape[1])
        kinds, row = set(), 0
        for block in corpus.blocks():
            part = read_array(node, block, imputed=False)
            rows = slice(row + 1, row + 1 + part.rows)
            self.starts[rows] = self.starts[row] + part.indptr[1:]
            self.column_totals += np.bincount(part.indices, part.values, corpus.shape[1])
            kinds.add(part.values.dtype.kind)
            row += part.rows
        self.dtype, self.first = np.dtype(np.float64 if "f" in kinds else np.int64), 0

    def release_rows(self) -> None:
        """There is nothing in memory."""

    size = property(lambda self: int(self.starts[-1] - self.starts[0]))
    is_integer = property(lambda self: self.dtype.kind == "i")
    indices = property(lambda self: self.read().indices)
    values = property(lambda self: self.read().values)

    def any(self) -> bool:
        return bool(self.column_totals.any())

    def sum(self) -> int:
        return int(self.column_totals.sum())

    def totals(self) -> NDArray[Any]:
        return self.column_totals.astype(self.dtype)[None]

    def part(self, first: int, last: int) -> StoredCells:
        part = copy(self)
        part.first, part.shape = first, (last - first, self.shape[1])
        part.starts = self.starts[first : last + 1]
        blocks = np.diff(self.starts[: first + 1 : ROW_BLOCK])  # the cells of those before
        part.groups_before = int((-(-blocks // GROUP)).sum())
        return part

    def read(self) -> Cells:
        """The cells themselves, block by block."""
        indices, values, cell = np.empty(self.size, np.int32), np.empty(self.size, self.dtype), 0
        for part, start, stop in self._stored():
            own = slice(int(part.indptr[start]), int(part.indptr[stop]))
            here = slice(cell, cell + own.stop - own.start)
            indices[here], values[here] = part.indices[own], part.values[own]
            cell = here.stop
        cells = Cells(self.dims, self.shape, 1, self.starts - self.starts[0], indices, values,
                      is_corpus=True)  # fmt: skip
        cells.before, cells.groups_before = int(self.starts[0]), self.groups_before
        return cells

    def can_be_read(self) -> bool:
        """Whether the folder is there, on this machine."""
        try:
            next(self._stored(), None)
        except StorageError:
            return False
        return True

    def _stored(self) -> Iterator[tuple[Cells, int, int]]:
        """The blocks that have some of the rows, and which of their rows these are."""
        each, last = self.corpus.block_rows, self.first + self.shape[0]
        for number in range(self.first // each, -(-last // each)):
            before = number * each
            part = read_array(self.node, self.corpus.block(number), imputed=False)
            yield part, max(self.first - before, 0), min(last - before, each)


def read_corpora(network: Network, data: Any, executor: Executor) -> Any:
    """The data of a network with its corpora read; anything else as it is."""
    if not isinstance(data, Mapping):
        return data
    nodes = network.nodes
    return {
        name: read_corpus_cells(node, value, executor)
        if isinstance(value, Corpus) and isinstance(node := nodes.get(name), Observed)
        else value
        for name, value in data.items()
    }


def read_corpus_cells(node: Observed, corpus: Corpus, executor: Executor) -> Cells:
    """The cells of all blocks, in arrays of the executor: one block is read at a time."""
    if len(node.axes) != 2:
        return read_array(node, corpus)  # which rejects it
    if sees_zeros(node):
        raise DataError(
            f"{node.name}: a Corpus keeps the cells that are not 0, and {type(node).__name__} "
            "needs every cell (its link rule says all_cells=True); give an array"
        )
    rows, columns = corpus.shape
    if rows and executor.spreads_rows and isinstance(corpus, FolderCorpus):
        return StoredCells(node, corpus)  # the workers read their rows themselves
    indptr = executor.zeros((rows + 1,), np.int64)
    indices = executor.zeros((corpus.entries,), np.int32)
    values: Any = None
    row = cell = 0
    for block in corpus.blocks():
        part = read_array(node, block, imputed=False)
        if values is None or part.values.dtype.kind == "f" != values.dtype.kind:
            before, values = values, executor.zeros((corpus.entries,), part.values.dtype)
            if before is not None:  # counts, and these are the first reals
                values[:cell] = before[:cell]
        here = slice(cell, cell + part.values.size)
        indices[here], values[here] = part.indices, part.values
        indptr[row + 1 : row + 1 + part.rows] = cell + part.indptr[1:]
        row, cell = row + part.rows, here.stop
        executor.release()
    if values is None:
        return read_array(node, corpus)  # it has no rows: rejected there
    return Cells(node.axes, (rows, columns), 1, indptr, indices[:cell], values[:cell],
                 is_corpus=True, release_rows=executor.release)  # fmt: skip


# Documents × terms of a model, as arrays of a file: any number from 0 on.
_ANY = PoissonGamma("data", 1.0, Gamma("noise", 1.0, 1.0), dims=("doc", "term"))


def document_arrays(X: Any) -> Group:
    """The documents that belong to a model; unknown cells count as 0."""
    cells = read_array(_ANY, X)
    return row_arrays(cells.shape, cells.indptr, cells.indices, cells.values)


register_documents(document_arrays)


# ---- the labels along dims, from data frames, xarray or ``coords=`` ------------------------------
#
# {"term": ["alpha", "beta"], "doc": [10, 20]}: they go with draws into xarray, ArviZ, reports and
# files. A dim without labels is numbered.


Coords = dict[str, list[Any]]


def read_coords(
    network: Network,
    data: Mapping[str, Any],
    given: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Coords:
    """The labels that data bring with them, and those ``given``, which come first."""
    out = check_coords(network, given, sizes or {})
    first = set(out)
    for name, value in data.items():
        labels = labels_of(network.nodes[name].axes, value)
        own = {dim: each for dim, each in labels.items() if dim not in first}
        same_labels(name, own, out, "the other data", "coords={{{dim!r}: [...]}}")
        out |= own
    return out


def given_coords(network: Network, given: Any, names: Iterable[str], what: str = "given") -> Coords:
    """The labels that the given values of some nodes bring with them: those of `pgbn.Draws`, of
    data frames and of xarray. They are rejected if two of them name a dim differently."""
    axes = {name: network.nodes[name].axes for name in names if name in network.nodes}
    if not isinstance(given, Mapping):
        known: Any = getattr(given, "coords", None) or {}
        used = {dim for each in axes.values() for dim in each}
        return {dim: list(known[dim]) for dim in used & set(known)}
    out: Coords = {}
    for name, dims in axes.items():
        value = given[name]
        if not hasattr(value, "dims") and len(getattr(value, "shape", ())) != len(dims):
            continue  # draws one below another, whose lines are no dim of the node
        labels = labels_of(dims, value)
        same_labels(f"{what}: {name!r}", labels, out, "the others")
        out |= labels
    return out


def check_labels(network: Network, data: Any, what: str, values: Any, names: Iterable[str]) -> None:
    """Reject values (``given=``, ``start=``) whose labels along a dim are not those of the data."""
    labels = given_coords(network, values, names, what)
    if labels and isinstance(data, Mapping):
        same_labels(what, labels, given_coords(network, data, data, "data"), "the data")


def same_labels(
    what: str,
    labels: Mapping[str, Any],
    known: Mapping[str, Any],
    of: str,
    remedy: str = "arrays without labels",
) -> None:
    """Reject labels that differ from those of others along a dim that both name: columns in another
    order are other columns. ``remedy`` names an alternative argument, for ``{dim}``."""
    for dim in labels:
        if dim in known and list(labels[dim]) != list(known[dim]):
            raise DataError(
                f"{what}: the labels along {dim!r} are not those of {of}, such as "
                f"{first_difference(labels[dim], known[dim])}; bring them into one order, or give "
                f"{remedy.format(dim=dim)}"
            )


def check_coords(network: Network, given: Any, sizes: Mapping[str, int]) -> Coords:
    """``coords=`` as a user gave it: a list of labels for each dim, as long as the dim."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DataError(f"coords={given!r:.60}: give a dict, such as coords={{'term': names}}")
    out: Coords = {}
    for dim, labels in given.items():
        if dim not in network.dims:
            raise DataError(f"coords: no node has a dim {dim!r}.{did_you_mean(dim, network.dims)}")
        if isinstance(labels, (str, bytes, Mapping)) or not hasattr(labels, "__len__"):
            raise DataError(f"coords: {dim!r}: give a list of labels, not {labels!r:.40}")
        out[dim] = [_plain(label) for label in np.asarray(labels, object).ravel().tolist()]
        if dim in sizes and len(out[dim]) != sizes[dim]:
            raise DataError(
                f"coords: {len(out[dim])} labels along {dim!r}, but its size is {sizes[dim]}"
            )
    return out


def term_labels(cells: Any) -> list[str] | None:
    """The names of the columns of data that were read; None if they have none, or if these are no
    texts, or not all different."""
    names = cells.labels.get(cells.dims[-1], [])
    texts = bool(names) and all(isinstance(name, str) for name in names)
    return list(names) if texts and len(set(names)) == len(names) else None


def labels_of(axes: tuple[str, ...], value: Any) -> Coords:
    """The labels of a data frame, a series or an ``xarray.DataArray``, or of data that were read
    from one; numbers 0, 1, … are none."""
    if isinstance(getattr(value, "labels", None), dict):
        return dict(value.labels)
    if hasattr(value, "dims") and hasattr(value, "coords"):
        named = {str(dim): value.coords[dim] for dim in value.dims if dim in value.coords}
        pairs = {dim: labels for dim, labels in named.items() if dim in axes}
    elif hasattr(value, "index") and hasattr(value, "to_numpy"):
        found = [value.index, value.columns] if hasattr(value, "columns") else [value.index]
        pairs = dict(zip(axes, found, strict=False))
    else:
        return {}
    lists = {
        dim: [_plain(label) for label in np.asarray(labels, object).tolist()]
        for dim, labels in pairs.items()
    }
    return {dim: labels for dim, labels in lists.items() if labels != list(range(len(labels)))}


def _plain(label: Any) -> Any:
    """A label that JSON can hold: integers and floats as they are, all else as text."""
    if isinstance(label, (bool, np.bool_)):
        return str(label)
    if isinstance(label, Integral):
        return int(label)
    return float(label) if isinstance(label, Real) else str(label)


def check_network(network: Network) -> Network:
    """A network, or an error that names the argument."""
    if not hasattr(network, "categories"):
        raise DataError(f"network={network!r:.60} is no pgbn.Network")
    return network


def bind_indexes(network: Network, data: Any) -> tuple[Network, Any]:
    """The network with the numbers of categories from ``data``, and the other data.

    Everything that is saved with the network, or made of it, then has them.
    """
    check_network(network)
    if not isinstance(data, Mapping):
        return network, data
    found = {
        name: in_order(name, network.categories[name].dims, value)
        for name, value in data.items()
        if name in network.categories
    }
    rest = {name: value for name, value in data.items() if name not in found}
    for name in found:
        if labels := labels_of(network.categories[name].dims, data[name]):
            known = {n: value for n, value in rest.items() if n in network.observed}
            same_labels(name, labels, given_coords(network, known, known, "data"), "the data")
    return (network.with_indexes(**found) if found else network), rest


# ---- values of nodes that a user gives: one for each node, or draws of it ----

_DRAWS = ("chain", "draw")  # dims of draws, before those of their node


def given_arrays(given: Any) -> dict[str, Any]:
    """The given values by name, from a dict or from `pgbn.Draws`."""
    if given is None or isinstance(given, Mapping):
        return {str(name): value for name, value in (given or {}).items()}
    if callable(getattr(given, "given_value", None)):  # draws, with the values given to them
        further = {name: given.given_value(name) for name in given.given if name not in given}
        return dict(given) | further
    values = getattr(given, "values", None)  # of a chain, or of new rows, which are read by name
    if isinstance(values, Mapping) or (callable(values) and callable(getattr(given, "items", 0))):
        dict_of = "….values" if isinstance(values, Mapping) else "dict(….items())"
        raise DataError(
            f"given is a {type(given).__name__}, no dict and no pgbn.Draws; give a dict of its "
            f"values, given={dict_of}"
        )
    raise DataError(
        f"given={given!r:.60}: give a dict, such as given={{'name': array}}, or pgbn.Draws"
    )


def read_stack(node: Node, value: Any) -> tuple[NDArray[Any], tuple[int, ...]]:
    """Checked values of a node with the dims (draw, *axes), and the sizes of the dims of draws:
    none for a single value."""
    what = f"given: {node.name!r}"
    check_unmasked(what, value)
    dims = getattr(value, "dims", ())
    drawn = tuple(dim for dim in _DRAWS if isinstance(dims, tuple) and dim in dims)
    value = in_order(what, (*drawn, *node.axes), value)
    array = numbers(what, value.toarray() if sp.issparse(value) else value)
    extra = array.ndim - len(node.axes)
    if not 0 <= extra <= len(_DRAWS) or not array.size:
        raise DataError(
            f"{what} is an array of shape {array.shape}, but its dims are {node.axes}; give an "
            "array of these, or draws with the dims draw, or chain and draw, before them"
        )
    array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    stack = array.reshape(-1, *array.shape[extra:])
    for each in stack:
        complaint = None
        if not np.isfinite(each).all():
            wrong = each[~np.isfinite(each)].flat[0]
            complaint = f"has the value {wrong:g}; give an array of finite numbers"
        elif isinstance(node, Latent):
            complaint = node.refuses(each)
        elif isinstance(node, Observed) and (found := node.check(each)):
            complaint = f"has {found}"
        if complaint:
            raise DataError(f"{what} {complaint}")
    return stack, array.shape[:extra]


# ---- the sizes of all dims, and whether arrays of these sizes fit into memory -------------------


_ENTRY = 26  # bytes of an entry without rows: two values, a count, its level and place in lists
_ROW = 64  # bytes of numbers that a row has in one layer, and of sums on their way


def complete_sizes(
    network: Network, sizes: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, int]:
    """All sizes: the network's, those given, and those of arrays; they must agree."""
    if not isinstance(sizes, Mapping):
        raise DataError(f"sizes={sizes!r}: give a dict from dims to sizes, such as {{'doc': 10}}")
    every = dict(network.sizes)
    for dim, size in sizes.items():
        if dim not in network.dims:
            raise DataError(f"sizes: no node has a dim {dim!r}.{did_you_mean(dim, network.dims)}")
        every[dim] = check_size(dim, size)
    for name, shape in shapes.items():
        axes = network.nodes[name].axes
        if len(axes) != len(shape):
            raise DataError(f"{name}: an array of shape {shape}, but its dims are {axes}")
        turned = all(every.get(dim, n) == n for dim, n in zip(axes, shape[::-1], strict=True))
        for dim, size in zip(axes, shape, strict=True):
            if every.setdefault(dim, size) != size:
                hint = f"; is it transposed? its dims are {axes}" if turned else ""
                raise DataError(
                    f"{name}: dim {dim!r} has size {size} here, but {every[dim]} elsewhere; give "
                    f"an array of that size, or another sizes={{{dim!r}: {size}}}{hint}"
                )
    factors = [
        (name, factor)
        for (name, _), polynomial in network.wiring.polynomials.items()
        for term in polynomial.terms
        for factor in term.factors
    ]
    earlier = [(name, replace(factor, dims=each.dims, own_dims=(each.dim,), constant=None))
               for name, factor in factors for each in factor.lookups
               if isinstance(each, Lagged)]  # fmt: skip
    factors += earlier  # the two names of the rows have one size
    throughs = [(name, factor.through) for name, factor in factors if factor.through]
    factors += [(name, each) for name, t in throughs for each in t.operation.operands.values()]
    lookups = [(factor, lookup) for _, factor in factors for lookup in factor.lookups
               if not isinstance(lookup, Lagged | ViaEdge)]  # fmt: skip
    for _, lookup in lookups:
        _add_rows(network, lookup, every)
    known = -1
    while len(every) > known:  # a size that was found may determine others
        known = len(every)
        for name, factor in factors:
            _add_sizes(every, name, factor)
    lookups.sort(key=lambda pair: -int(network.indexes[pair[1].name].max()))  # the largest decides
    for factor, lookup in lookups:
        _add_entries(network, factor, lookup, every)
    unknown = ", ".join(f"{dim!r}: …" for dim in network.dims if dim not in every)
    if unknown:
        raise DataError(
            f"the sizes of some dims are not known; give sizes={{{unknown}}} to Network(...), or "
            "to this call if it takes sizes"
        )
    return every


def _add_rows(network: Network, lookup: Lookup, every: dict[str, int]) -> None:
    """The sizes of the dims of categories, which follow from their numbers."""
    name, array = lookup.name, network.indexes.get(lookup.name)
    if array is None:
        raise DataError(
            f"{name}: no numbers of these categories; give them with the data, "
            f"{{{name!r}: […], …}}, or before: net.with_indexes({name}=[…])"
        )
    for dim, size in zip(lookup.dims, array.shape, strict=True):
        if every.setdefault(dim, size) != size:
            raise DataError(
                f"{name}: {size} numbers along {dim!r}, but {dim!r} has size {every[dim]}; give a "
                f"number for each, {{{name!r}: […], …}}"
            )


def _add_entries(network: Network, factor: Factor, lookup: Lookup, every: dict[str, int]) -> None:
    """The number of entries that categories name: the largest number if it is not given."""
    named = int(network.indexes[lookup.name].max()) + 1
    entries = every.setdefault(lookup.dim, named)
    if factor.constant is not None:
        entries = factor.constant.shape[factor.entries.index(lookup.dim)]
    if named > entries:
        raise DataError(
            f"{lookup.name}: has the number {named - 1}, but {lookup.dim!r} has size {entries}; "
            f"numbers go from 0 to {entries - 1}"
        )


def _add_sizes(every: dict[str, int], name: str, factor: Factor) -> None:
    """The sizes that follow from a factor in a slot of a node: those of a constant array. Two names
    of a dim, and the two dims of pairs, have the same size."""
    if factor.constant is not None:
        shape = dict(zip(factor.entries or factor.dims, factor.constant.shape, strict=True))
        through = {dim for lookup in factor.lookups for dim in lookup.dims}
        names = zip(factor.dims, factor.own_dims or factor.dims, strict=True)
        same = [(dim, shape[mine]) for dim, mine in names if mine not in through]
    else:
        own = factor.own_dims if factor.relation is None else factor.dims[::-1]
        same = [(dim, every[mine]) for dim, mine in zip(factor.dims, own, strict=True)
                if mine in every]  # fmt: skip
        for dim, mine in zip(factor.dims, own, strict=True):
            if dim in every:
                every.setdefault(mine, every[dim])
    for dim, size in same:
        if every.setdefault(dim, size) != size:
            raise DataError(
                f"{name}: {factor.name or 'pairs'} has size {size} along {dim!r}, "
                f"but {dim!r} has size {every[dim]}"
            )


def check_fits(
    network: Network,
    sizes: Mapping[str, int],
    replicates: int = 1,
    data: bool = False,
    argument: str = "",
    rows_in: int | None = None,
) -> None:
    """Reject sizes at which the values and counts of the nodes would not fit into memory.

    ``data``: the observed nodes are drawn, as complete arrays. ``argument`` is the user's argument.
    ``rows_in`` is the number of bytes of arrays with rows that are in memory at a time.
    """
    if rows_in is not None:
        others = bytes_without_rows(network, sizes)
        check_bytes(f"{rows_in} bytes for rows and {others} for what all rows share",
                    rows_in + others, "give a smaller memory=, or fewer topics")  # fmt: skip
        return
    need = {
        node.name: 16 * replicates * prod(sizes.get(dim, 1) for dim in node.axes)  # two arrays
        for node in network
        if data or isinstance(node, Latent)
    }
    total = sum(need.values())
    if total <= memory():
        return
    worst = network.nodes[max(need, key=lambda name: need[name])]
    shape = ", ".join(f"{dim}={sizes.get(dim, 1)}" for dim in worst.axes)
    largest = max(worst.axes, key=lambda dim: sizes.get(dim, 1), default="replicates")
    check_bytes(f"{argument}{worst.name} [{shape}]", total, f"make {largest} smaller")


def bytes_without_rows(network: Network, sizes: Mapping[str, int]) -> int:
    """The memory of a chain without the rows that an executor keeps elsewhere: the values and
    counts that all rows share, and a few numbers for each row and layer."""
    rows = {dim for name in network.observed for dim in network.nodes[name].axes[:1]}
    shared = per_row = 0
    for name in network.latent:
        axes = network.nodes[name].axes
        if not rows.intersection(axes):
            shared += prod(sizes[dim] for dim in axes)
        elif len(axes) > 1:
            per_row += prod(sizes[dim] for dim in axes if dim in rows)
    return _ENTRY * shared + _ROW * per_row
