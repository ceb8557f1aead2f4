"""Expressions brought to their normal form, a section for each kind of expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from pgbn.errors import NetworkError
from pgbn.network.sequential_updates import check_apart
from pgbn.network.terms import (
    ALWAYS,
    FIRST,
    LATER,
    PREVIOUS,
    Factor,
    Lagged,
    Lookup,
    Operation,
    Polynomial,
    Term,
    ViaEdge,
)
from pgbn.nodes.base import Node
from pgbn.nodes.categorical import Categorical
from pgbn.nodes.edge import Edge
from pgbn.nodes.expression import Constant, Expression, Mix, Product, Rename, Sum
from pgbn.nodes.index import Categories, Index
from pgbn.nodes.pairs import Pairs
from pgbn.nodes.rules.registry import is_own
from pgbn.nodes.shift import Self, Shift

# ---- walk ---------------------------------------------------------------------------------------
#
# The walk over the expression of a slot: it is multiplied out, and every term is checked.
#
# How an expression of some type expands is said by a function ``expand(walk, expression)`` that
# registers itself by `expands` and gives the terms.


Expand = Callable[["Walk", Any], list[Term]]
E = TypeVar("E", bound=Expand)
_expansions: dict[type[Expression], Expand] = {}


def expands(kind: type[Expression]) -> Callable[[E], E]:
    """Register how expressions of a type expand."""

    def register(expand: E) -> E:
        _expansions[kind] = expand
        return expand

    return register


def lower(node: Node, slot: str) -> Polynomial:
    """The normal form of ``node``'s expression in ``slot``; dims are checked."""
    walk = Walk(node, slot)
    beyond = [dim for dim in walk.out if dim not in node.axes]
    if beyond:
        raise walk.error(
            f"{type(node).__name__}.slot_axes({slot!r}) names {beyond}, which {node.name} "
            f"{list(node.axes)} lacks; a slot may have the dims of its node only"
        )
    terms = [term for term in walk.expand(getattr(node, slot)) if term.coefficient != 0.0]
    for term in terms:
        walk.check(term)
    if not terms:
        if slot in node.real_slots or _is_default(node, slot):  # or not given, and not needed
            return Polynomial((Term(0.0, ()),))
        raise walk.error(f"is zero; give a positive number or a node{walk.or_allow()}")
    if walk.along is not None and all(term.phase == LATER for term in terms):
        raise walk.error(
            f"the first row of the Shift along {walk.along!r} would be zero; give "
            "pgbn.Shift(..., initial=1.0), or add a term that counts in every row"
        )
    through = next((f.through for term in terms for f in term.factors if f.through), None)
    if walk.along is not None and through is not None:
        raise walk.error(
            f"{through.operation.edge} is evaluated by itself and stands beside a Shift; put it "
            "into a node of its own, as the shape of a Gamma that stands here, or define expand()"
        )
    return Polynomial(tuple(terms), walk.along)


def _is_default(node: Node, slot: str) -> bool:
    given, default = getattr(node, slot), type(node).model_fields[slot].default
    if not isinstance(given, Constant) or not isinstance(default, Constant):
        return False
    return not issparse(given.value) and np.array_equal(given.value, default.value)


class Walk:
    """One walk over the expression of one slot, whose value may have the dims ``out``.

    ``along`` is the dim of the Shift that was met, if there is one; ``inside`` the lag of the one
    that the walk is inside of, where Self() stands for an earlier row, or 0; ``nodes`` are those
    that were met, by name.
    """

    def __init__(self, node: Node, slot: str, inside: int = 0) -> None:
        self.nodes: dict[str, Node] = {}
        self.node, self.slot, self.out = node, slot, node.slot_axes(slot)
        self.along: str | None = None
        self.inside = inside

    def error(self, message: str) -> NetworkError:
        """A complaint about the slot."""
        return NetworkError(f"{self.node.name}: {self.slot}: {message}")

    def or_allow(self) -> str:
        """How the author of a node type lets a slot be 0 or negative."""
        allow = f", or let {type(self.node).__name__} allow it: real_slots = ({self.slot!r},)"
        return allow if is_own(type(self.node)) else ""

    def expand(self, expression: Expression) -> list[Term]:
        """The terms of an expression."""
        for kind in type(expression).__mro__:
            if kind in _expansions:
                return _expansions[kind](self, expression)
        raise self.error(f"cannot use {expression!r} in a slot")

    def check(self, term: Term) -> None:
        """Every dim of a term is one of the slot's or is summed."""
        for factor in term.factors:
            extra = set(factor.dims) - set(self.out) - set(term.contracted)
            if extra:
                dims = ", ".join(sorted(extra))
                raise self.error(
                    f"{factor.name} has dim {dims}, which {self.node.name} {list(self.out)} lacks; "
                    f"add it to dims= of {self.node.name}, or sum it out with @"
                )
        constants = [factor.constant for factor in term.factors if factor.constant is not None]
        least = min([term.coefficient, *(float(array.min()) for array in constants)])
        if least < 0 and self.slot not in self.node.real_slots:
            raise self.error(
                f"holds the negative number {least:g}; give one that is not{self.or_allow()}"
            )
        self._check_sparse(term)
        check_apart(term, self.error, self.nodes)

    def _check_sparse(self, term: Term) -> None:
        sparse = [factor for factor in term.factors if factor.is_sparse]
        if len(sparse) > 1:
            raise self.error(
                "two sparse constants stand in one product; multiply them before, as in "
                "pgbn.Constant(A @ B, dims=…)"
            )
        real = term.coefficient < 0 or any(factor.real for factor in term.factors)
        if sparse and real:
            raise self.error(
                f"a sparse constant {sparse[0].dims} stands where values may be negative; give the "
                "whole array there: pgbn.Constant(W.toarray(), dims=…)"
            )
        if sparse and term.phase == LATER:
            raise self.error(
                f"a sparse constant {sparse[0].dims} stands beside Self(); in time give the whole "
                "array: pgbn.Constant(W.toarray(), dims=…)"
            )


# ---- edges --------------------------------------------------------------------------------------
#
# Edge: an operation of a user's own, by what it stands for, or by its own evaluation.


@expands(Edge)
def expand_edge(walk: Walk, edge: Edge) -> list[Term]:
    """The terms of the expression that it stands for. What is evaluated by itself is linear in each
    operand: a term for every choice of one term of each."""
    if not edge.is_evaluated:
        return walk.expand(edge.expanded)
    each = [_alike(walk, edge, slot, [_operand(walk, edge, slot, term)
                                      for term in walk.expand(getattr(edge, slot))])
            for slot in edge.slots()]  # fmt: skip
    if not any(factor.own_dims for terms in each for _, factor in terms):
        raise walk.error(f"{edge}: no node stands in {', '.join(edge.slots())}; give one of them")
    return [_term(walk, edge, choice) for choice in product(*each)]


def _alike(
    walk: Walk, edge: Edge, slot: str, terms: list[tuple[float, Factor]]
) -> list[tuple[float, Factor]]:
    """The summands of an operand with the same dims in the same order: an edge tells dims by their
    place."""
    wanted = max((factor.dims for _, factor in terms), key=len)
    for _, factor in terms:
        if set(factor.dims) != set(wanted):
            raise walk.error(
                f"{edge}: {slot} = {getattr(edge, slot)} adds what has the dims {list(wanted)} to "
                f"{factor.name}, which has {list(factor.dims)}, and the edge is evaluated for each "
                "summand alone; give all of them the same dims (a number as "
                "pgbn.Constant(np.full(…), dims=…)), or add this one to what comes out of the edge"
            )
    return [(coefficient, _in_order(factor, wanted)) for coefficient, factor in terms]


def _in_order(factor: Factor, dims: tuple[str, ...]) -> Factor:
    order = [factor.dims.index(dim) for dim in dims]
    own = tuple(factor.own_dims[i] for i in order) if factor.own_dims else ()
    known = None if factor.constant is None else np.transpose(factor.constant, order)
    return replace(factor, dims=dims, own_dims=own, constant=known)


def _operand(walk: Walk, edge: Edge, slot: str, term: Term) -> tuple[float, Factor]:
    """The coefficient and the one factor of an operand."""
    what = f"{edge}: {slot} = {getattr(edge, slot)}"
    if not term.factors:  # a number
        return term.coefficient, Factor("constant", (), constant=np.ones(()))
    factor = term.factors[0]
    plain = len(term.factors) == 1 and not term.contracted and term.phase == ALWAYS
    if not plain or factor.lookups or factor.is_sparse or factor.relation or factor.previous:
        raise walk.error(
            f"{what}: an edge that is evaluated by itself takes nodes, arrays and sums of these; "
            "multiply, sum and index what comes out of it instead, or define expand(self)"
        )
    if factor.real:
        raise walk.error(
            f"{what} may be negative, and counts are shared out among what is not; give the edge "
            "positive nodes and arrays"
        )
    if factor.is_node and not factor.dims:
        raise walk.error(f"{what} has no dims; multiply the edge by it instead: {slot} * edge")
    return term.coefficient, factor


def _term(walk: Walk, edge: Edge, choice: tuple[tuple[float, Factor], ...]) -> Term:
    operands = dict(zip(edge.slots(), (factor for _, factor in choice), strict=True))
    nodes = [slot for slot, factor in operands.items() if factor.own_dims]
    own = {slot: factor.dims for slot, factor in operands.items()}
    dims, independent = tuple(edge.dims_of(**own)), tuple(edge.independent_dims(**own))
    if not all(isinstance(dim, str) and dim for dim in dims) or len(set(dims)) < len(dims):
        raise walk.error(f"{edge}: dims_of() returned {dims}; return names of dims, each once")
    coefficient = float(prod(coefficient for coefficient, _ in choice))
    if not nodes:
        return Term(coefficient, (_known(walk, edge, operands, dims),))
    for dim in independent:
        if dim not in dims:
            raise walk.error(
                f"{edge}: independent_dims() returned {independent}, and its value has the dims "
                f"{dims}; return some of these"
            )
    operation = Operation(edge, operands, dims, nodes[0], independent)
    factors = tuple(_through(operation, slot, operands[slot]) for slot in nodes)
    return Term(coefficient, factors)


def _known(walk: Walk, edge: Edge, operands: dict[str, Factor], dims: tuple[str, ...]) -> Factor:
    """The value of an edge of arrays, as an array."""
    found = edge.evaluate(**{slot: factor.constant[None] for slot, factor in operands.items()})
    array = np.asarray(found, np.float64)
    if array.ndim != 1 + len(dims) or not np.isfinite(array).all() or (array < 0).any():
        raise walk.error(
            f"{edge}: evaluate() returned {found!r:.60} for the known summands; return an array of "
            f"numbers of at least 0, replicates first, then {', '.join(dims)}"
        )
    return Factor("constant", dims, constant=array[0])


def _through(operation: Operation, slot: str, factor: Factor) -> Factor:
    """A node that is read through the operation: each of its entries may matter everywhere."""
    name = type(operation.edge).__name__
    lookups = [ViaEdge(name, dim, operation.dims, operation, slot) for dim in factor.own_dims]
    return Factor(
        factor.name, operation.dims, operation.dims, lookups=tuple(lookups),
        entries=factor.own_dims,
    )  # fmt: skip


# ---- indexed ------------------------------------------------------------------------------------
#
# Index: a dim is read through an array of categories.


@expands(Index)
def expand_index(walk: Walk, index: Index) -> list[Term]:
    """The terms, whose factors with an indexed dim are read through its categories; what a hidden
    choice reads is a sum over all that it might choose."""
    chosen = tuple(each for each in index.by if isinstance(each, Categorical))
    known = tuple(each for each in index.by if isinstance(each, Categories))
    if chosen:
        of = Index(of=index.of, by=known) if known else index.of
        return walk.expand(_mixed(walk, index, chosen, of))
    terms = walk.expand(index.of)
    for categories in known:
        free = {dim for term in terms for dim in term.dims if dim not in term.contracted}
        if categories.of not in free:
            raise walk.error(
                f"{index}: {categories} names entries of {categories.of!r}, but {index.of} has the "
                f"dims {sorted(free)}; give Categories(…, of=…) one of these"
            )
        terms = [_looked_up(walk, index, term, categories) for term in terms]
    return terms


def _mixed(walk: Walk, index: Index, chosen: tuple[Categorical, ...], of: Expression) -> Mix:
    for z in chosen:
        free = {d for term in walk.expand(of) for d in term.dims if d not in term.contracted}
        if z.over not in free:
            raise walk.error(
                f"{index}: {z} chooses an entry of {z.over!r}, but {of} has the dims "
                f"{sorted(free)}; give Categorical(…, over=…) one of these"
            )
    return Mix(factors=(*chosen, of), over=tuple(z.over for z in chosen))


def _looked_up(walk: Walk, index: Index, term: Term, categories: Categories) -> Term:
    inner = set(categories.dims) & set(term.contracted)
    if inner:
        raise walk.error(
            f"{index}: {index.of} sums over {sorted(inner)}, which {categories} has; rename it in "
            "one of them"
        )
    factors = tuple(
        _factor(walk, index, factor, categories) if categories.of in factor.dims else factor
        for factor in term.factors
    )
    return replace(term, factors=factors)


def _factor(walk: Walk, index: Index, factor: Factor, categories: Categories) -> Factor:
    """A factor with the dims of the categories in the place of the dim that they are about."""
    if factor.previous:
        raise walk.error(f"{index}: Self() cannot be indexed; index what is beside it")
    if factor.through is not None:
        raise walk.error(
            f"{index}: {factor.through.operation.edge} is evaluated by itself and cannot be "
            "indexed; let its evaluate() give the entries that are wanted"
        )
    if factor.is_sparse:
        raise walk.error(f"{index}: index the sparse matrix itself: pgbn.Constant(W[rows], dims=…)")
    own = factor.own_dims or factor.dims
    at = factor.dims.index(categories.of)
    if any(own[at] in lookup.dims for lookup in factor.lookups):
        raise walk.error(
            f"{index}: {categories.of!r} is itself read through {factor.lookups[0].name}; give one "
            "array of categories that does both"
        )
    through = {dim for lookup in factor.lookups for dim in lookup.dims}
    rest = [(here, mine) for i, (here, mine) in enumerate(zip(factor.dims, own, strict=True))
            if i != at]  # fmt: skip
    for here, mine in rest:
        if (mine not in through or here != mine) and {here, mine} & set(categories.dims):
            raise walk.error(
                f"{index}: {factor.name} has the dim {here!r} itself, which {categories} has too; "
                f"rename the dim of {categories} or of {factor.name}"
            )
    kept = [(here, mine) for here, mine in rest if mine not in categories.dims]
    dims = tuple((dim, dim) for dim in categories.dims) + tuple(kept)
    return replace(
        factor,
        dims=tuple(here for here, _ in dims),
        own_dims=tuple(mine for _, mine in dims),
        entries=factor.entries or own,
        simplex=() if categories.of in factor.simplex else factor.simplex,
        lookups=(*factor.lookups, Lookup(categories.name, own[at], categories.dims)),
    )


# ---- leaves -------------------------------------------------------------------------------------
#
# Nodes and constants: a term of one factor.


@expands(Node)
def expand_node(walk: Walk, node: Node) -> list[Term]:
    """The value of a node."""
    if node is walk.node:
        raise walk.error("refers to itself; use pgbn.Shift(pgbn.Self(), ...)")
    walk.nodes[node.name] = node
    if node.real and walk.slot not in walk.node.real_slots:
        raise walk.error(
            f"{node.name} is a {type(node).__name__}, whose value may be negative, and a "
            f"{walk.slot} may not; put its exponential there, a positive node: "
            f"pgbn.LogNormal('exp_{node.name}', {node.name}, 10.0, dims={node.axes}) (a gate "
            "whose log odds are real is a pgbn.LogitBernoulli)"
            f"{walk.or_allow()}"
        )
    return [Term(1.0, (Factor(node.name, node.axes, node.axes, node.sums_over, real=node.real),))]


@expands(Constant)
def expand_constant(walk: Walk, constant: Constant) -> list[Term]:
    """A number is a coefficient, an array a factor."""
    value = constant.value
    if value.ndim == 0:
        return [Term(float(value), ())]
    dims = constant.dims
    if not dims and value.ndim == 1 and walk.node.simplex is not None:
        dims = (walk.node.simplex,)
    if len(dims) != value.ndim:
        raise walk.error(
            f"an array of {value.ndim} axes needs as many names: "
            f"pgbn.Constant(value=array, dims={walk.out[-value.ndim :]})"
        )
    real = bool(value.min() < 0)
    return [Term(1.0, (Factor("constant", dims, constant=value, real=real),))]


# ---- paired -------------------------------------------------------------------------------------
#
# Pairs: the same terms, each at the pairs of two dims that are in a relation.


@expands(Pairs)
def expand_pairs(walk: Walk, pairs: Pairs) -> list[Term]:
    """The terms times 1 at the pairs in the relation and 0 at the others."""
    return [_paired(walk, term, pairs) for term in walk.expand(pairs.of)]


def _paired(walk: Walk, term: Term, pairs: Pairs) -> Term:
    dims = (pairs.first, pairs.second)
    free = [dim for dim in term.dims if dim not in term.contracted]
    missing = [dim for dim in dims if dim not in free]
    if len(missing) > (1 if pairs.relation == "same" else 0):
        raise walk.error(
            f"{pairs} needs the dims {list(dims)}, but a term of it has {free}; rename one of its "
            f"dims to {missing[0]!r}, as in .rename({(free or ['dim'])[0]}={missing[0]!r})"
        )
    return replace(term, factors=(*term.factors, Factor("", dims, relation=pairs.relation)))


# ---- products -----------------------------------------------------------------------------------
#
# Sums and products: multiplied out, every choice of one term of each factor.


@expands(Sum)
def expand_sum(walk: Walk, expression: Sum) -> list[Term]:
    """The terms of all parts."""
    return [term for part in expression.terms for term in walk.expand(part)]


@expands(Product)
def expand_product(walk: Walk, expression: Product) -> list[Term]:
    """Products of terms, summed over nothing."""
    return _all(walk, expression, lambda parts: ())


@expands(Mix)
def expand_mix(walk: Walk, expression: Mix) -> list[Term]:
    """Products of terms, summed over the dims of the Mix."""
    return _all(walk, expression, lambda parts: _summed(walk, expression, parts))


def _all(
    walk: Walk,
    expression: Mix | Product,
    summed: Callable[[tuple[Term, ...]], tuple[str, ...]],
) -> list[Term]:
    terms = []
    for parts in product(*(walk.expand(factor) for factor in expression.factors)):
        _check_inner(walk, parts)
        terms.append(_multiply(parts, summed(parts)))
    return [term for term in terms if term is not None]


def _check_inner(walk: Walk, parts: tuple[Term, ...]) -> None:
    """A dim that one part has summed may not be used by another."""
    for dim in (dim for part in parts for dim in part.contracted):
        if sum(dim in part.dims for part in parts) > 1:
            first, *rest = [factor.name for part in parts for factor in part.factors]
            raise walk.error(
                f"dim {dim!r} is summed inside and used outside; to sum once over all of them "
                f"write {first} @ ({' * '.join(rest)}) or pgbn.Mix(factors=({first}, "
                f"{', '.join(rest)})), else rename one"
            )


def _multiply(parts: tuple[Term, ...], summed: tuple[str, ...]) -> Term | None:
    phases = {(part.phase, part.lag) for part in parts if part.phase != ALWAYS}
    if len({phase for phase, _ in phases}) > 1:
        return None  # one part counts in the first rows only, the other in later rows only
    phase, lag = phases.pop() if phases else (ALWAYS, 1)
    inner = tuple(dim for part in parts for dim in part.contracted)
    return Term(
        float(np.prod([part.coefficient for part in parts])),
        tuple(factor for part in parts for factor in part.factors),
        inner + summed,
        phase,
        lag,
    )


def _summed(walk: Walk, mix: Mix, parts: tuple[Term, ...]) -> tuple[str, ...]:
    free = [set(part.dims) - set(part.contracted) for part in parts]
    if mix.over is not None:
        for dim in mix.over:
            if not any(dim in dims for dims in free):
                raise walk.error(
                    f"{mix} sums over {dim!r}, which no factor has; they have "
                    f"{sorted(set().union(*free))}"
                )
            if dim in walk.out:
                raise walk.error(
                    f"{mix} sums over {dim!r}, which {walk.node.name} {list(walk.out)} has "
                    f"itself; rename it in the factors: .rename({dim}='other')"
                )
        return mix.over
    every = dict.fromkeys(dim for part in parts for dim in part.dims)
    shared = [d for d in every if sum(d in dims for dims in free) > 1 and d not in walk.out]
    if not shared:
        names = " and ".join(str(sorted(dims)) for dims in free)
        raise walk.error(
            f"{mix} has no dim to sum over: the factors have {names}, "
            f"and {walk.node.name} has {list(walk.out)}; a shared dim that "
            f"{walk.node.name} lacks is summed, or write * for an elementwise product"
        )
    return tuple(shared)


# ---- renamed ------------------------------------------------------------------------------------
#
# Rename: the same terms under other names of their dims.


@expands(Rename)
def expand_rename(walk: Walk, rename: Rename) -> list[Term]:
    """The terms with their free dims renamed."""
    return [_renamed(walk, term, rename) for term in walk.expand(rename.of)]


def _renamed(walk: Walk, term: Term, rename: Rename) -> Term:
    names = dict(rename.names)
    free = [dim for dim in term.dims if dim not in term.contracted]
    missing = set(names) - set(free)
    if missing:
        raise walk.error(
            f"rename of {sorted(missing)}, but {rename.of} has the dims {free}; rename one of these"
        )
    renamed = [names.get(dim, dim) for dim in term.dims]
    if len(set(renamed)) < len(renamed):
        raise walk.error(f"rename by {names} gives {rename.of} a dim twice: {renamed}")
    factors = tuple(
        replace(
            factor,
            dims=tuple(names.get(dim, dim) for dim in factor.dims),
            simplex=tuple(names.get(dim, dim) for dim in factor.simplex),
        )
        for factor in term.factors
    )
    return replace(term, factors=factors)


# ---- shifted ------------------------------------------------------------------------------------
#
# Shift and Self: an earlier row, of the node itself or of others, in all rows but the first.


@expands(Shift)
def expand_shift(walk: Walk, shift: Shift) -> list[Term]:
    """What counts in later rows, and the initial value, which counts in the first ones."""
    if walk.inside:
        raise walk.error("a Shift inside a Shift")
    if shift.along not in walk.node.axes:
        raise walk.error(f"Shift along {shift.along!r}, but its dims are {walk.node.axes}")
    inside = Walk(walk.node, walk.slot, inside=shift.lag)
    later = inside.expand(shift.of)
    walk.nodes |= inside.nodes
    own = [term for term in later if term.phase == LATER]
    others = [_earlier(walk, shift, term) for term in later if term.phase != LATER]
    initial = walk.expand(shift.initial)
    if not own:  # no row depends on its own row before
        return others + [_only(term, shift, FIRST) for term in initial]
    _check_own(walk, shift)
    return own + others + [replace(term, phase=FIRST, lag=shift.lag) for term in initial]


def _check_own(walk: Walk, shift: Shift) -> None:
    """What a node that depends on its own rows needs of their dim."""
    if walk.along not in (None, shift.along):
        raise walk.error(
            f"holds Shifts along {walk.along!r} and {shift.along!r}; give all the same dim"
        )
    if shift.along in walk.node.sums_over:
        raise walk.error(
            f"Shift along {shift.along!r}, but {walk.node.name} sums to one over that dim, so that "
            "its rows are no steps in time; give it another dim for the time, such as "
            "dims='time', and shift along that"
        )
    walk.along = shift.along


def _only(term: Term, shift: Shift, when: str) -> Term:
    """A term in the first rows only, or in the later rows only."""
    dims = (shift.along,)
    mask = Factor("", dims, dims, when=when, lag=shift.lag)
    return replace(term, factors=(*term.factors, mask))


def _earlier(walk: Walk, shift: Shift, term: Term) -> Term:
    """A term without Self(), its lag before."""
    free = [dim for dim in term.dims if dim not in term.contracted]
    if shift.along not in free:
        what = "number" if not term.factors else f"{free}"
        raise walk.error(
            f"{shift} shifts what has no dim {shift.along!r} ({what}): every term of a Shift must "
            f"contain Self(), or a node or an array that has {shift.along!r}; add the others "
            "outside of it"
        )
    factors = tuple(
        _read_earlier(walk, shift, factor) if shift.along in factor.dims else factor
        for factor in term.factors
    )
    return _only(replace(term, factors=factors), shift, LATER)


def _read_earlier(walk: Walk, shift: Shift, factor: Factor) -> Factor:
    """A factor with its rows read a lag before."""
    at = factor.dims.index(shift.along)
    own = factor.own_dims or factor.dims
    rest = [(here, mine) for i, (here, mine) in enumerate(zip(factor.dims, own, strict=True))
            if i != at]  # fmt: skip
    looked = {dim for lookup in factor.lookups for dim in (lookup.dim, *lookup.dims)}
    mixed = factor.through or own[at] in looked or any(mine == shift.along for _, mine in rest)
    if mixed or factor.relation or factor.is_sparse:
        raise walk.error(
            f"{shift}: {factor.name or 'a pair'} cannot be read a lag before, since its "
            f"{shift.along!r} is read through something else or is that of a sparse constant or a "
            f"pair; look the rows up: node.rename({shift.along}='past')[pgbn.Categories('before', "
            f"dims={shift.along!r}, of='past', values=[0, 0, 1, 2, …])]"
        )
    name = f"{shift.along} {shift.lag} before"
    return replace(
        factor,
        dims=(shift.along, *(here for here, _ in rest)),
        own_dims=(shift.along, *(mine for _, mine in rest)),
        entries=factor.entries or own,
        simplex=() if shift.along in factor.simplex else factor.simplex,
        lookups=(*factor.lookups, Lagged(name, own[at], (shift.along,), shift.lag)),
    )


@expands(Self)
def expand_self(walk: Walk, expression: Self) -> list[Term]:
    """An earlier row of the node itself."""
    if not walk.inside:
        raise walk.error("Self() may stand only inside a Shift")
    names, node = dict(expression.names), walk.node
    dims = tuple(names.get(dim, dim) for dim in node.axes)
    simplex = tuple(names.get(dim, dim) for dim in node.sums_over)
    factor = Factor(PREVIOUS, dims, node.axes, simplex, previous=True, lag=walk.inside)
    return [Term(1.0, (factor,), phase=LATER, lag=walk.inside)]
