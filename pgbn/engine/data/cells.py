"""Observed data: checked, and kept as the non-zero cells of a matrix (CSR).

Data come as an array, dense, masked or sparse, as a `pgbn.Corpus`, or as coordinates and values:

    {"sender": i, "receiver": j, "action": a, "month": t, "values": n}

a dict from the dims of a node to the numbers of its cells along them, with their values (1 if
missing); or a ``sparse.COO`` array, or a ``scipy.sparse.coo_array``. These are never dense.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import in_order, is_sparse_array, numbers
from pgbn.engine.compile.products import Labelled, SparseEntries, relation_holds
from pgbn.engine.compile.program import Program
from pgbn.engine.data.coords import labels_of
from pgbn.engine.data.nonzero import GROUP, Cells, cells_of, coordinate_cells, sees_zeros, typed
from pgbn.errors import DataError, StorageError, did_you_mean
from pgbn.network.sumproduct import (
    ConstantArray,
    Operand,
    SparseConstant,
    operand_of,
    reduce_product,
)
from pgbn.network.terms import Term
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.poisson_gamma import PoissonGamma
from pgbn.nodes.rules.registry import find_link
from pgbn.nodes.rules.types import EvidenceRule
from pgbn.samplers.executor import ROW_BLOCK, Executor
from pgbn.storage.archive import Group, register_documents
from pgbn.storage.blocks import Corpus, FolderCorpus, counts_of
from pgbn.storage.read_limits import check_bytes
from pgbn.storage.sparse import check_sparse, row_arrays

if TYPE_CHECKING:
    from pgbn.network.network import Network


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
    if mask is not None:
        array = np.where(mask, 0, array)
    _check_values(node, array, imputed)
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


# ---- data of probability 0, which no chain can explain -------------------------------------------


def check_possible(program: Program) -> None:
    """Reject positive data at cells where every term of the rate has a factor that is 0 by a
    constant or a given value: P(x > 0) = 0."""
    for node in program.network:
        if not isinstance(node, Observed):
            continue
        link = find_link(node)
        if link is None or (link.counts and not node.positive_needs_counts):
            continue
        terms = program.wiring.polynomials[node.name, link.slot].terms
        _check_pairs(node, link.slot, terms, program.cells[node.name])
        if all(_has_zero(program, term) for term in terms):
            cells = program.cells[node.name]
            possible = sum(_possible(program, term, cells) for term in terms)
            wrong = np.flatnonzero((cells.values > 0) & (possible == 0))
            if wrong.size:
                value, place = _value_at(node, cells, int(wrong[0]))
                raise DataError(
                    f"{node.name}: the value {value} at {place} has probability 0, since the "
                    f"{link.slot} is 0 there by its constants or given values; correct these or "
                    "the data"
                )


def _given_factors(program: Program, term: Term) -> list[Labelled]:
    """The factors of a term whose values are given or constant, but for sparse constants."""
    return [
        program.read(operand_of(factor))
        for factor in term.factors
        if not factor.is_sparse
        and not factor.through  # its result is given only if all its nodes are
        and (factor.constant is not None or factor.when or factor.name in program.wiring.given)
    ]


def _has_zero(program: Program, term: Term) -> bool:
    """Whether a given or constant factor of a term is 0 somewhere."""
    return (
        term.coefficient == 0
        or any(factor.is_sparse and not factor.constant.min() for factor in term.factors)
        or any(not part.get().all() for part in _given_factors(program, term))
    )


def _possible(program: Program, term: Term, cells: Cells) -> Any:
    """In how many ways a term's given factors allow a positive rate, at every cell."""
    positive: list[Operand] = [
        ConstantArray(dims=part.dims, value=np.asarray(part.get()[0] != 0, np.float64))
        for part in _given_factors(program, term)
    ]
    here: Any = 1.0
    for factor in (factor for factor in term.factors if factor.is_sparse):
        if set(factor.dims) & set(term.contracted):
            ones = (factor.constant != 0).astype(np.float64)
            positive.append(SparseConstant(dims=factor.dims, value=ones))
        else:
            places = (cells.positions((dim,), 1) for dim in factor.dims)
            here = here * (SparseEntries(factor.constant).at(*places) != 0)
    room = program.product(reduce_product(float(term.coefficient != 0), positive, term.contracted))
    if room.value is not None:
        return room.value * here
    return room.get().reshape(-1)[cells.positions(room.dims, room.replicates)] * here


def _value_at(node: Observed, cells: Cells, cell: int) -> tuple[str, str]:
    """The value of a cell and its place, for an error."""
    row = np.unravel_index(int(cells.cell_rows()[cell]), cells.shape[:-1] or (1,))
    place = (*row, cells.indices[cell])[-len(node.axes) or 2 :]
    where = ", ".join(f"{dim} {index}" for dim, index in zip(node.axes, place, strict=True))
    return f"{cells.values[cell]:g}", where or "its only cell"


def _check_pairs(node: Observed, slot: str, terms: Sequence[Term], cells: Cells) -> None:
    """Reject positive data at pairs that no term is about: the other half of a symmetric matrix,
    and self loops."""
    if any(not any(pair.relation for pair in term.factors) for term in terms):
        return  # a term that is about all pairs
    possible = np.zeros(cells.values.size, np.bool_)
    for term in terms:
        holds = np.ones(cells.values.size, np.bool_)
        for pair in term.factors:
            if pair.relation and set(pair.dims) <= set(node.axes):
                first, second = (cells.positions((dim,), 1) for dim in pair.dims)
                holds &= relation_holds(pair.relation, first, second)
        possible |= holds
    wrong = np.flatnonzero((cells.values > 0) & ~possible)
    if wrong.size:
        value, place = _value_at(node, cells, int(wrong[0]))
        sign = {"upper": "<", "distinct": "≠", "same": "="}
        pairs = dict.fromkeys(
            f"pairs {pair.dims[0]} {sign[pair.relation]} {pair.dims[1]}"
            for term in terms for pair in term.factors if pair.relation
        )  # fmt: skip
        raise DataError(
            f"{node.name}: the value {value} at {place} has probability 0: the {slot} is about "
            f"{' and '.join(pairs)} only. Give "
            "each pair once, scipy.sparse.triu(A, 1) of a symmetric matrix A; a self loop has no "
            "place in it"
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
