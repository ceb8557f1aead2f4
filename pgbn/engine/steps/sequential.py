"""Entries drawn in turn, one by one: by the rules, the reference, or by a kernel for gammas.

    for i = 1, 2, …:  a_i ~ p(a_i | φ_{−i}),  φ_i ~ p(φ_i | a_i, φ_{−i})

where φ_{−i} are the new entries before i and the old ones after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from inspect import signature
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.products import (
    Labelled,
    Products,
    Shape4,
    added,
    align,
    relation_holds,
    shape4,
    spread,
)
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, Run, check_posterior, maker
from pgbn.engine.steps.gamma_layers import draws_as
from pgbn.errors import DataError
from pgbn.network.connections import Source
from pgbn.network.sequential_updates import InTurn
from pgbn.network.sumproduct import (
    Operand,
    OtherEntries,
    OtherLookedUp,
    PairMask,
    RuleExposure,
    SumProduct,
)
from pgbn.network.terms import Factor, Lookup
from pgbn.nodes.base import Node, draw_node
from pgbn.nodes.gamma import Gamma, tables_of_gamma
from pgbn.samplers.random import Stream, stream_key
from pgbn.samplers.sequential_kernels import Edges, Entries, Parents, Weights, draw_entries

# ---- by the rules -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class _Partners(Operand):
    """1 at the entries of one of two dims that are in a relation with the present one."""

    relation: str


class Entry:
    """The entry ``now`` of the nodes that are drawn together in turn, and its slots and evidence,
    as arrays that are aligned with that entry.

    An entry is a part of size 1 along one dim, which has another name in every slot that the node
    is in. Arrays with that dim are cut to the entry; all others are as for the node.
    """

    def __init__(self, program: Program, sequential: InTurn) -> None:
        self.program, self.members, self.now = program, sequential.members, 0
        self.size = program.sizes[sequential.dim]

    def shape4(self, name: str) -> Shape4:
        """The 4-d shape of an entry of a node."""
        sizes = self.program.sizes | {self.members[name]: 1}
        return shape4(self.program.storage[name], sizes, self.program.replicates)

    def put(self, name: str, drawn: NDArray[Any]) -> None:
        """Replace the entry of a node by a new value. Readers may have kept the old array, which is
        not changed."""
        value = self.program.values[name].copy()
        part = self.cut(name, value)
        part[...] = drawn.reshape(part.shape)
        self.program.values[name] = value

    def cut(self, name: str, value: NDArray[Any]) -> NDArray[Any]:
        """The entry of an array like a node's value, as a view."""
        return value[self._where(self.program.storage[name], self.members[name])]

    def quantity(self, node: Node, name: str) -> Labelled:
        """A quantity for a rule, aligned with an entry: count, exposure or a slot."""
        own, wiring = node.name, self.program.wiring
        if name == "exposure":
            products = wiring.exposures.source_exposure
            parts = [part for s in wiring.sources[own] for part in self._through(s, products(s))]
        elif name == "count":
            parts = self._counts(own)
        else:
            slots = wiring.exposures.named_sum(name, node, ())
            parts = [self._aligned(own, self._product(p, self.members[own])) for p in slots]
        return added(parts)

    def _counts(self, name: str) -> list[Labelled]:
        program, parts, children = self.program, list[Labelled](), dict[str, None]()
        for source in program.wiring.sources[name]:
            if source.is_delivered:
                children[source.child.name] = None
            else:
                parts += self._through(source, program.wiring.exposures.source_count(source))
        for child in children:
            counts = Labelled(lambda child=child: program.counts[child, name],  # type: ignore[misc]
                              program.storage[name], program.replicates)  # fmt: skip
            parts.append(self._aligned(name, self._cut(counts, self.members[name])))
        return parts

    def _through(self, source: Source, products: Iterable[SumProduct]) -> list[Labelled]:
        name, own = source.factor.name, source.own
        if source.factor.lookups:  # of all entries at once
            return [
                self._aligned(name, self._cut(whole, self.members[name]))
                for whole in self.program.received_through(source, products)
            ]
        here = next(dim for dim, mine in own.items() if mine == self.members[name])
        received = [self._product(product, here) for product in products]
        return [
            self._aligned(name, replace(each, dims=tuple(own[dim] for dim in each.dims)))
            for each in received
        ]

    def _aligned(self, name: str, labelled: Labelled) -> Labelled:
        sizes = self.program.sizes | {self.members[name]: 1}
        return align(labelled, self.program.storage[name], sizes)

    def _product(self, product: SumProduct, dim: str) -> Labelled:
        """A sum of products at one entry of ``dim``."""
        sizes = self.program.sizes | {dim: 1}
        operands = tuple(
            _Partners(name="", dims=each.dims, relation=each.relation)
            if isinstance(each, PairMask) and dim in each.dims
            else each
            for each in product.operands
        )
        product = replace(product, operands=operands)
        return Products(lambda operand: self._read(operand, dim), sizes).compile(product)

    def _read(self, operand: Operand, dim: str) -> Labelled:
        if isinstance(operand, _Partners):
            return self._partners(operand, dim)
        if isinstance(operand, RuleExposure) and operand.name in self.members:
            return self._passed(operand)
        return self._cut(self.program.read(operand), dim)

    def _passed(self, operand: RuleExposure) -> Labelled:
        """The exposure that an entry of a node passes to its slot, computed now."""
        program = self.program
        child = program.network.nodes[operand.name]
        rule = program.wiring.rules[operand.name, operand.slot]
        if rule.drawn is not None:
            return self._cut(program.read(operand), self.members[operand.name])
        function = rule.exposure
        assert callable(function)
        parts = {name: self.quantity(child, name) for name in rule.exposure_reads}
        whole = added(list(parts.values()))
        dims = tuple(dim for dim in program.storage[child.name] if dim in whole.dims)
        sizes = program.sizes | {self.members[operand.name]: 1}
        shape = (whole.replicates, *(sizes[dim] for dim in dims))

        def get() -> NDArray[Any]:
            result = function(**{name: part.get() for name, part in parts.items()})
            return np.asarray(result, np.float64).reshape(shape)

        return Labelled(get, dims, whole.replicates)

    def _partners(self, operand: _Partners, dim: str) -> Labelled:
        other = operand.dims[operand.dims[0] == dim]
        numbers = np.arange(self.program.sizes[other])

        def get() -> NDArray[Any]:
            now = np.full(1, self.now)
            pair = (now, numbers) if operand.dims[0] == dim else (numbers, now)
            return relation_holds(operand.relation, *pair).astype(np.float64)[None]

        return Labelled(get, (other,), 1)

    def _cut(self, whole: Labelled, dim: str) -> Labelled:
        """An array cut to the entry, if it has the dim."""
        if dim not in whole.dims:
            return whole
        get: Callable[[], NDArray[Any]] = whole.get
        return replace(whole, get=lambda: np.ascontiguousarray(get()[self._where(whole.dims, dim)]))

    def _where(self, dims: tuple[str, ...], dim: str) -> tuple[slice, ...]:
        now = slice(self.now, self.now + 1)
        return (slice(None), *(now if each == dim else slice(None) for each in dims))


def draw_entry(program: Program, entry: Entry, node: Node) -> Callable[[int], None]:
    """The function that draws the present entry of a node."""
    posterior = program.wiring.draws[node.name].posterior
    needed = {name: entry.quantity(node, name).get for name in signature(posterior).parameters}
    slots = {slot: entry.quantity(node, slot).get for slot in node.slots()}
    received, shape = program.received_from(node.name), entry.shape4(node.name)
    simplex = program.stream(node.name, 0).simplex

    def draw(key: int) -> None:
        updated: Any = posterior(**{name: get() for name, get in needed.items()})
        check_posterior(node, slots, updated, received)
        kept = {slot: get() for slot, get in slots.items() if slot not in updated}
        stream = Stream(key, shape, program.executor, simplex)
        entry.put(node.name, draw_node(node, stream, shape, {**updated, **kept}))

    return draw


# ---- by a kernel --------------------------------------------------------------------------------
#
# It serves φ ~ Gam(a, c) with the dims (entry, part) or (entry) that is twice in products over all
# pairs of entries, or over edges between them. The other factors of these products must not vary
# over entries: both r_k φ_ik φ_jk and φ_ik λ_kl φ_jl are served. The shape a may be drawn with each
# entry.


_EMPTY = np.zeros(0, np.int64)
ALL_PAIRS = Edges(_EMPTY, _EMPTY, _EMPTY, _EMPTY)


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


_OTHERS = OtherEntries | OtherLookedUp
_NONE = np.zeros((0, 0, 0))
_NO_PARENTS = Parents(*(np.zeros((0, 0), kind) for kind in (float, np.int64, float, float)))


@dataclass(frozen=True)
class _Side:
    """The other entries that an entry meets through a source: those before it, after it, or both.
    With edges, they are those at the other ends; the entry is the second or the first of an edge.
    ``dims`` are those by which it meets them."""

    dims: set[str]
    before: bool
    after: bool
    ends: tuple[Factor, ...] = ()

    @property
    def edges(self) -> tuple[tuple[Lookup, ...], ...]:
        """The identity of edges: the categories of both ends."""
        return tuple(end.lookups for end in self.ends)


Weight = tuple[_Side, Callable[[], NDArray[np.float64]]]  # Σ_l w_kl of the other entries


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
    weights, fixed = list[Weight](), list[Callable[[], Any]]()
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
    if len({side.edges for side, _ in weights}) > 1:
        return None
    return _run(program, sequential, parent, weights, fixed)


def _run(
    program: Program, sequential: InTurn, parent: Node | None, weights: list[Weight],
    fixed: list[Callable[[], Any]],
) -> Run | None:  # fmt: skip
    name, values = sequential.node, program.values
    shape, dims = (*program.shape[name], 1)[:3], len(program.storage[name])
    ends = weights[0][0].ends
    edges = edges_of(program, sequential, *ends) if ends else ALL_PAIRS
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
    """A quantity that is aligned with a node of some dims, a number or an array, as a full array
    with the entries after the replicates."""
    array = np.asarray(value)
    array = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64, copy=False)
    if array.ndim:
        own = (array.shape[0], *array.shape[array.ndim - dims :])
        array = array.reshape((*own, *(1,) * (len(shape) - len(own))))
    return np.ascontiguousarray(np.broadcast_to(array, shape))


def _added(weights: list[Weight], side: str) -> NDArray[np.float64]:
    """The weights of one side, added; a diagonal is written out if others are not diagonal."""
    parts = [get() for which, get in weights if getattr(which, side)]
    if not parts:
        return np.zeros((1, weights[0][1]().shape[1], 1))
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
) -> Weight | None:
    """The factor of the sums of the other entries in the exposure through a source."""
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
    summed = tuple(dim for dim in inner if dim in present)
    weight = SumProduct(scale, rest, kept, summed, ())
    found = Products(program.read, program.sizes).compile(weight)
    dims = (part,) if part == other_part else (part, other_part)
    sizes = program.sizes | {"": 1}
    shape = (*(sizes[dim] for dim in dims), 1)[:2]

    def matrix() -> NDArray[np.float64]:
        """Weights as (replicates, parts, other parts or 1)."""
        wide = spread(found.get(), found.dims, dims, sizes)
        wide = wide.reshape((len(wide), *(*wide.shape[1:], 1)[:2]))
        return np.broadcast_to(wide, (len(wide), *shape))

    return side, matrix


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
    """The name, in a slot, of the dim of the parts of an entry; "" if it has none."""
    storage = program.storage[sequential.node]
    return dims[own.index(storage[1])] if len(storage) > 1 else ""


# ---- the step -----------------------------------------------------------------------------------


def check_loops(program: Program, sequential: InTurn) -> None:
    """Reject categories that name one entry twice in a row: an edge from an entry to itself would
    be the square of that entry."""
    node, dim = sequential.node, sequential.dim
    for source in program.wiring.sources[node]:
        own = [factor for factor in source.term.factors if factor.name == node]
        for one, other in combinations(own, 2):
            for first, second in ((a, b) for a in one.lookups for b in other.lookups):
                if first.dim == second.dim == dim and first.dims == second.dims:
                    _check_pair(program, source, node, first.name, second.name)


def _check_pair(program: Program, source: Source, node: str, first: str, second: str) -> None:
    one, other = np.broadcast_arrays(program.indexes[first], program.indexes[second])
    loops = np.argwhere(one == other)
    if len(loops):
        at = tuple(loops[0])
        where = ", ".join(str(index) for index in at[1:])
        raise DataError(
            f"{source.child.name}: {first} and {second} both name {one[at]} at {where}: a self "
            f"loop, where {node} would be multiplied by itself, has no conjugate update; omit "
            f"such rows (there are {len(loops)} of them)"
        )


@maker("in turn", Draw)
def draw_sequential(program: Program, task: Draw) -> Run:
    """The function that draws the entries of a node one after another, given a key."""
    sequential = program.wiring.connections.sequential[task.node.name]
    check_loops(program, sequential)
    fast = sequential_gammas(program, sequential) if program.kernels else None
    if fast is not None:
        return fast
    entry = Entry(program, sequential)
    draws = [draw_entry(program, entry, program.network.nodes[name]) for name in sequential.members]

    def run(key: int) -> None:
        for now in range(entry.size):
            entry.now = now
            for number, draw in enumerate(draws):
                draw(stream_key(key, now, number))

    return run
