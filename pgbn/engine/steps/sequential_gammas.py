"""The kernel for gammas in turn whose exposures are sums over the other entries.

It serves φ ~ Gam(a, c) with the dims (entry, part) or (entry) that stands twice in products over
all pairs of entries, or over edges between them, whatever else these products hold, as long as it
varies with no entry: r_k φ_ik φ_jk and φ_ik λ_kl φ_jl alike. The shape a may be drawn with each
entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled
from pgbn.engine.compile.products import compile_product
from pgbn.engine.steps.gamma_layers import draws_as
from pgbn.errors import DataError
from pgbn.network.sumproduct import OtherEntries, OtherLookedUp, PairMask, SumProduct
from pgbn.network.terms import Factor, Lookup
from pgbn.nodes.base import Node
from pgbn.nodes.gamma import Gamma, tables_of_gamma
from pgbn.samplers.sequential_kernels import Edges, Entries, Parents, Weights, draw_entries

if TYPE_CHECKING:
    from pgbn.engine.compile.program import Program
    from pgbn.engine.plan import Run
    from pgbn.network.connections import Source
    from pgbn.network.sequential_updates import InTurn


# ---- edges --------------------------------------------------------------------------------------
#
# Entries that meet by arrays of categories, ``phi[source] * phi[target]``: the edges of a graph.
#
# An edge from an entry to itself would be the square of that entry: it is refused.


_EMPTY = np.zeros(0, np.int64)
ALL_PAIRS = Edges(_EMPTY, _EMPTY, _EMPTY, _EMPTY)


def check_loops(program: Program, sequential: InTurn) -> None:
    """Refuse categories that name one entry twice in a row."""
    for source in program.wiring.sources[sequential.node]:
        own = [factor for factor in source.term.factors if factor.name == sequential.node]
        for one, other in combinations(own, 2):
            for first in one.lookups:
                for second in other.lookups:
                    if first.dim == second.dim == sequential.dim and first.dims == second.dims:
                        _check_pair(program, source, sequential.node, first.name, second.name)


def _check_pair(program: Program, source: Source, node: str, first: str, second: str) -> None:
    one, other = np.broadcast_arrays(program.indexes[first], program.indexes[second])
    loops = np.argwhere(one == other)
    if len(loops):
        at = tuple(loops[0])
        where = ", ".join(str(index) for index in at[1:])
        raise DataError(
            f"{source.child.name}: {first} and {second} both name {one[at]} at {where}: a self "
            f"loop, where {node} would be multiplied by itself, has no conjugate update; leave "
            f"such rows out (there are {len(loops)} of them)"
        )


def edges_of(program: Program, sequential: InTurn, first: Factor, second: Factor) -> Edges | None:
    """The edges between entries that two factors of a product read, as lists for every entry."""
    arrays = [_entries(program, sequential, factor) for factor in (first, second)]
    if arrays[0] is None or arrays[1] is None:
        return None
    size = program.sizes[sequential.dim]
    return Edges(*_lists(arrays[1], arrays[0], size), *_lists(arrays[0], arrays[1], size))


def _entries(program: Program, sequential: InTurn, factor: Factor) -> NDArray[np.int64] | None:
    """The entry that each row reads, if only that dim is read through categories."""
    if [lookup.dim for lookup in factor.lookups] != [sequential.dim]:
        return None
    place = program.view(factor.lookups, program.storage[factor.name]).place
    return place[0] if len(place) == 1 else None


def _lists(
    own: NDArray[np.int64], others: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every entry, where its others begin; and the others, one entry after another."""
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(own, minlength=size), out=starts[1:])
    return starts, np.ascontiguousarray(others[np.argsort(own, kind="stable")])


# ---- sequential gammas --------------------------------------------------------------------------


_OTHERS = OtherEntries | OtherLookedUp
_NONE = np.zeros((0, 0, 0))
_NO_PARENTS = Parents(*(np.zeros((0, 0), kind) for kind in (float, np.int64, float, float)))


@dataclass(frozen=True)
class _Weight:
    """Σ_l w_kl of the other entries, those before, after, or both; or those at the other ends of
    edges, of which the entry is the second or the first."""

    get: Callable[[], NDArray[np.float64]]
    before: bool
    after: bool
    ends: tuple[Factor, Factor] | None = None

    @property
    def edges(self) -> tuple[tuple[Lookup, ...], ...]:
        """What tells edges from other edges: the categories of both ends."""
        return () if self.ends is None else tuple(end.lookups for end in self.ends)


def sequential_gammas(program: Program, sequential: InTurn) -> Run | None:
    """The function that draws the entries by the kernel, or None if they are not of its form."""
    name, node = sequential.node, program.network.nodes[sequential.node]
    storage = program.storage[name]
    if (
        not draws_as(program.wiring, node, Gamma)
        or storage[0] != sequential.dim
        or len(storage) > 2
    ):
        return None
    parent = _parent(program, sequential)
    if parent is None and len(sequential.members) > 1:
        return None
    weights, fixed = list[_Weight](), list[Callable[[], Any]]()
    for source in program.wiring.sources[name]:
        products = program.wiring.exposures.source_exposure(source)
        if not any(isinstance(o, _OTHERS) for p in products for o in p.operands):
            fixed += [part.get for part in program.through(source, products)]
            continue
        for product in products:
            weight = _weight(program, sequential, source, product)
            if weight is None:
                return None
            weights.append(weight)
    if len({weight.edges for weight in weights}) > 1:
        return None
    return _run(program, sequential, parent, weights, fixed)


def _run(
    program: Program, sequential: InTurn, parent: Node | None, weights: list[_Weight],
    fixed: list[Callable[[], Any]],
) -> Run | None:  # fmt: skip
    name, values = sequential.node, program.values
    shape, dims = (*program.shape[name], 1)[:3], len(program.storage[name])
    ends = weights[0].ends
    edges = ALL_PAIRS if ends is None else edges_of(program, sequential, *ends)
    if edges is None:
        return None
    count, rate = program.received_count(name).get, program.slot(name, "rate").get
    prior = program.slot(name, "shape").get
    above = None
    if parent is not None:
        above = (program.received_count(parent.name).get, program.slot(parent.name, "shape").get,
                 program.slot(parent.name, "rate").get)  # fmt: skip

    def run(key: int) -> None:
        parents, known = _NO_PARENTS, _NONE
        if parent is not None and above is not None:
            tables, e, f = (_full(get(), shape[:2], 1) for get in above)
            parents = Parents(np.empty(shape[:2]), tables.astype(np.int64, copy=False), e, f)
        else:
            known = _full(prior(), shape, dims)
        others = _full(sum(get() for get in fixed), shape, dims) if fixed else _NONE
        entries = Entries(values[name].reshape(shape).copy(), _full(count(), shape, dims), known,
                          _full(rate(), shape, dims), others)  # fmt: skip
        both = Weights(*(_added(weights, side) for side in ("before", "after")))
        draw_entries(np.uint64(key), entries, parents, both, edges)
        values[name] = entries.value.reshape(program.shape[name])
        if parent is not None:
            values[parent.name] = parents.value.reshape(program.shape[parent.name])

    return run


def _full(value: Any, shape: tuple[int, ...], dims: int) -> NDArray[Any]:
    """A quantity beside a node of so many dims, a number or an array, as a whole array with the
    entries after the replicates."""
    array = np.asarray(value)
    array = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64, copy=False)
    if array.ndim:
        own = (array.shape[0], *array.shape[array.ndim - dims :])
        array = array.reshape((*own, *(1,) * (len(shape) - len(own))))
    return np.ascontiguousarray(np.broadcast_to(array, shape))


def _added(weights: list[_Weight], side: str) -> NDArray[np.float64]:
    """The weights of one side, added; a diagonal is written out where others are not."""
    parts = [weight.get() for weight in weights if getattr(weight, side)]
    if not parts:
        return np.zeros((1, weights[0].get().shape[1], 1))
    if any(part.shape[2] > 1 for part in parts):
        parts = [part * np.eye(part.shape[1]) if part.shape[2] == 1 else part for part in parts]
    return np.ascontiguousarray(sum(parts[1:], parts[0]))


def _parent(program: Program, sequential: InTurn) -> Node | None:
    """The node that is drawn with each entry, if it is a gamma that is the shape of the entry's
    gammas and of nothing else."""
    names = [name for name in sequential.members if name != sequential.node]
    if len(names) != 1:
        return None
    wiring, parent = program.wiring, program.network.nodes[names[0]]
    polynomial, sources = wiring.polynomials[sequential.node, "shape"], wiring.sources[parent.name]
    term = polynomial.terms[0]
    plain = polynomial.is_plain and len(term.factors) == 1 and term.coefficient == 1.0
    rule = wiring.rules.get((sequential.node, "shape"))
    serves = (
        draws_as(wiring, parent, Gamma)
        and plain
        and len(sources) == 1
        and parent.axes == (sequential.members[parent.name],)
        and rule is not None
        and rule.count is tables_of_gamma
    )
    return parent if serves else None


def _weight(
    program: Program, sequential: InTurn, source: Source, product: SumProduct
) -> _Weight | None:
    """What multiplies the sums of the other entries in the exposure through a source."""
    others = [o for o in product.operands if isinstance(o, _OTHERS)]
    masks = [o for o in product.operands if isinstance(o, PairMask)]
    rest = tuple(o for o in product.operands if o not in others and o not in masks)
    side = _side(source, others, masks)
    if side is None or any(side.dims & set(o.dims) for o in rest):
        return None
    part, other_part = (
        _part(program, sequential, dims, own)
        for dims, own in ((source.factor.dims, source.factor.own_dims),
                          (others[0].dims, others[0].own_dims))
    )  # fmt: skip
    inner = tuple(dim for dim in product.summed if dim not in side.dims and dim != other_part)
    present = {dim for operand in rest for dim in operand.dims}
    kept = tuple(dim for dim in present if dim not in inner)
    if not set(kept) <= {part, other_part}:
        return None
    scale = product.coefficient * prod(program.sizes[dim] for dim in product.repeated)
    whole = compile_product(
        SumProduct(scale, rest, kept, tuple(d for d in inner if d in present), ()),
        program.read,
        program.sizes,
    )
    dims = (part,) if part == other_part else (part, other_part)
    get = _matrix(whole, dims, tuple(program.sizes[dim] if dim else 1 for dim in dims))
    return _Weight(get, side.before, side.after, side.ends)


@dataclass(frozen=True)
class _Side:
    """Which other entries an entry meets through a source, and the dims by which it does."""

    dims: set[str]
    before: bool
    after: bool
    ends: tuple[Factor, Factor] | None = None


def _side(
    source: Source, others: list[OtherEntries | OtherLookedUp], masks: list[PairMask]
) -> _Side | None:
    if len(others) != 1:
        return None
    if isinstance(others[0], OtherLookedUp):
        ends = [factor for factor in source.term.factors if factor.name == others[0].name]
        if masks or len(ends) != 2 or not source.factor.lookups:
            return None
        first = source.factor is ends[0]
        return _Side(others[0].through, not first, first, (ends[0], ends[1]))
    if len(masks) != 1 or masks[0].relation == "same" or source.factor.lookups:
        return None
    mask = masks[0]
    here = [dim for dim in mask.dims if dim in source.factor.dims]
    there = [dim for dim in mask.dims if dim in others[0].dims]
    if len(here) != 1 or len(there) != 1 or here == there:
        return None
    both = mask.relation == "distinct"
    return _Side(set(mask.dims), both or here[0] == mask.dims[1], both or here[0] == mask.dims[0])


def _part(program: Program, sequential: InTurn, dims: tuple[str, ...], own: tuple[str, ...]) -> str:
    """What the dim of the parts of an entry is called in a slot; "" if it has none."""
    storage = program.storage[sequential.node]
    return dims[own.index(storage[1])] if len(storage) > 1 else ""


def _matrix(
    whole: Labelled, dims: tuple[str, ...], sizes: tuple[int, ...]
) -> Callable[[], NDArray[np.float64]]:
    """Weights as (replicates, parts, other parts or 1)."""
    order = [dim for dim in dims if dim in whole.dims]
    axes = (0, *(1 + whole.dims.index(dim) for dim in order))
    wide = tuple(size if dim in order else 1 for dim, size in zip(dims, sizes, strict=True))
    shape = (*sizes, 1)[:2]

    def get() -> NDArray[np.float64]:
        value = np.asarray(whole.value) if whole.value is not None else whole.get().transpose(axes)
        value = value.reshape((-1, *(*wide, 1)[:2]))
        return np.broadcast_to(value, (len(value), *shape))

    return get
