"""Expressions brought to their normal form.

The expression of a slot is multiplied out, and every term is checked. `expand` has a function for
each kind of expression.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from itertools import product
from math import prod

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
from pgbn.nodes.rules import is_own
from pgbn.nodes.shift import Self, Shift


def lower(node: Node, slot: str) -> Polynomial:
    """The normal form of ``node``'s expression in ``slot``; dims are checked."""
    walk = Walk(node, slot)
    beyond = [dim for dim in walk.out if dim not in node.axes]
    if beyond:
        raise walk.error(
            f"{type(node).__name__}.slot_axes({slot!r}) names {beyond}, which {node.name} "
            f"{list(node.axes)} lacks; a slot may have the dims of its node only"
        )
    terms = [term for term in expand(getattr(node, slot), walk) if term.coefficient != 0.0]
    for term in terms:
        walk.check(term)
    if not terms:
        if slot in node.real_slots or _is_default(node, slot):  # or it is not given, and not needed
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
            f"{through.operation.edge} is evaluated by itself and stands next to a Shift; put it "
            "into a separate node, as the shape of a Gamma that stands here, or define expand()"
        )
    return Polynomial(tuple(terms), walk.along)


def _is_default(node: Node, slot: str) -> bool:
    given, default = getattr(node, slot), type(node).model_fields[slot].default
    if not isinstance(given, Constant) or not isinstance(default, Constant):
        return False
    return not issparse(given.value) and np.array_equal(given.value, default.value)


class Walk:
    """One walk over the expression of one slot, whose value may have the dims ``out``.

    ``along`` is the dim of the Shift in the expression, or None. ``inside`` is the lag of the Shift
    that the walk is inside of, or 0; inside, Self() is an earlier row. ``nodes`` are the nodes
    found so far, by name.
    """

    def __init__(self, node: Node, slot: str, inside: int = 0) -> None:
        self.nodes: dict[str, Node] = {}
        self.node, self.slot, self.out = node, slot, node.slot_axes(slot)
        self.along: str | None = None
        self.inside = inside

    def error(self, message: str) -> NetworkError:
        """An error about the slot."""
        return NetworkError(f"{self.node.name}: {self.slot}: {message}")

    def or_allow(self) -> str:
        """How the author of a node type allows a slot to be 0 or negative."""
        allow = f", or let {type(self.node).__name__} allow it: real_slots = ({self.slot!r},)"
        return allow if is_own(type(self.node)) else ""

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
                "dense array there: pgbn.Constant(W.toarray(), dims=…)"
            )
        if sparse and term.phase == LATER:
            raise self.error(
                f"a sparse constant {sparse[0].dims} stands next to Self(); in time give the dense "
                "array: pgbn.Constant(W.toarray(), dims=…)"
            )


@singledispatch
def expand(expression: Expression, walk: Walk) -> list[Term]:
    """The terms of an expression."""
    raise walk.error(f"cannot use {expression!r} in a slot")


# ---- edges: operations of a user's own ----------------------------------------------------------


@expand.register
def expand_edge(edge: Edge, walk: Walk) -> list[Term]:
    """The terms of the expansion of an edge.

    An edge that is evaluated by itself is linear in each operand. It has a term for every choice of
    one term of each operand."""
    if not edge.is_evaluated:
        return expand(edge.expanded, walk)
    each = [_operands(walk, edge, slot) for slot in edge.slots()]
    if not any(factor.own_dims for terms in each for _, factor in terms):
        raise walk.error(f"{edge}: no node stands in {', '.join(edge.slots())}; give one of them")
    return [_term(walk, edge, choice) for choice in product(*each)]


def _operands(walk: Walk, edge: Edge, slot: str) -> list[tuple[float, Factor]]:
    """The summands of an operand, each a coefficient and a factor.

    All have the same dims in the same order: an edge identifies dims by their position."""
    terms = [_operand(walk, edge, slot, term) for term in expand(getattr(edge, slot), walk)]
    wanted = max((factor.dims for _, factor in terms), key=len)
    for _, factor in terms:
        if set(factor.dims) != set(wanted):
            raise walk.error(
                f"{edge}: {slot} = {getattr(edge, slot)} adds a term with the dims {list(wanted)} "
                f"to {factor.name}, which has {list(factor.dims)}, and the edge is evaluated for "
                "each summand alone; give all of them the same dims (a number as "
                "pgbn.Constant(np.full(…), dims=…)), or add this one to the result of the edge"
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
            "multiply, sum and index its result instead, or define expand(self)"
        )
    if factor.real:
        raise walk.error(
            f"{what} may be negative, and counts are shared out among positive terms only; give "
            "the edge positive nodes and arrays"
        )
    if factor.is_node and not factor.dims:
        raise walk.error(f"{what} has no dims; multiply the edge by it instead: {slot} * edge")
    return term.coefficient, factor


def _term(walk: Walk, edge: Edge, choice: tuple[tuple[float, Factor], ...]) -> Term:
    """A term of an evaluated edge, whose nodes are read through the operation.

    Each entry of a node may matter in every cell. The value of arrays alone is an array too."""
    operands = dict(zip(edge.slots(), (factor for _, factor in choice), strict=True))
    nodes = {slot: factor for slot, factor in operands.items() if factor.own_dims}
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
    operation = Operation(edge, operands, dims, next(iter(nodes)), independent)
    factors = []
    for slot, factor in nodes.items():
        entries, kind = factor.own_dims, type(edge).__name__
        lookups = tuple(ViaEdge(kind, dim, dims, operation, slot) for dim in entries)
        factors.append(Factor(factor.name, dims, dims, lookups=lookups, entries=entries))
    return Term(coefficient, tuple(factors))


def _known(walk: Walk, edge: Edge, operands: dict[str, Factor], dims: tuple[str, ...]) -> Factor:
    """The value of an edge of arrays, as an array."""
    found = edge.evaluate(**{slot: factor.constant[None] for slot, factor in operands.items()})
    array = np.asarray(found, np.float64)
    if array.ndim != 1 + len(dims) or not np.isfinite(array).all() or (array < 0).any():
        raise walk.error(
            f"{edge}: evaluate() returned {found!r:.60} for the fixed summands; return an array of "
            f"numbers of at least 0, replicates first, then {', '.join(dims)}"
        )
    return Factor("constant", dims, constant=array[0])


# ---- categories: a dim is read through an array -------------------------------------------------


@expand.register
def expand_index(index: Index, walk: Walk) -> list[Term]:
    """The terms; their factors with an indexed dim are read through its categories.

    A hidden choice reads a sum over all possible choices."""
    chosen = tuple(each for each in index.by if isinstance(each, Categorical))
    known = tuple(each for each in index.by if isinstance(each, Categories))
    if chosen:
        of = Index(of=index.of, by=known) if known else index.of
        free = _free_dims(expand(of, walk))
        for z in chosen:
            if z.over not in free:
                raise walk.error(
                    f"{index}: {z} chooses an entry of {z.over!r}, but {of} has the dims "
                    f"{sorted(free)}; give Categorical(…, over=…) one of these"
                )
        return expand(Mix(factors=(*chosen, of), over=tuple(z.over for z in chosen)), walk)
    terms = expand(index.of, walk)
    for categories in known:
        free = _free_dims(terms)
        if categories.of not in free:
            raise walk.error(
                f"{index}: {categories} names entries of {categories.of!r}, but {index.of} has the "
                f"dims {sorted(free)}; give Categories(…, of=…) one of these"
            )
        terms = [_looked_up(walk, index, term, categories) for term in terms]
    return terms


def _free_dims(terms: list[Term]) -> set[str]:
    return {dim for term in terms for dim in term.free}


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
    """A factor with the dims of the categories instead of the dim that they index."""
    if factor.previous:
        raise walk.error(f"{index}: Self() cannot be indexed; index the other factors")
    if factor.through is not None:
        raise walk.error(
            f"{index}: {factor.through.operation.edge} is evaluated by itself and cannot be "
            "indexed; let its evaluate() return the entries that you need"
        )
    if factor.is_sparse:
        raise walk.error(f"{index}: index the sparse matrix itself: pgbn.Constant(W[rows], dims=…)")
    own = dict(zip(factor.dims, factor.own_dims or factor.dims, strict=True))
    through = {dim for lookup in factor.lookups for dim in lookup.dims}
    if own[categories.of] in through:
        raise walk.error(
            f"{index}: {categories.of!r} is itself read through {factor.lookups[0].name}; give one "
            "array of categories that does both"
        )
    for here, mine in own.items():
        if here == categories.of or (mine in through and here == mine):
            continue
        if {here, mine} & set(categories.dims):
            raise walk.error(
                f"{index}: {factor.name} has the dim {here!r} itself, which {categories} has too; "
                f"rename the dim of {categories} or of {factor.name}"
            )
    lookup = Lookup(categories.name, own[categories.of], categories.dims)
    return _read_through(factor, categories.of, lookup)


def _read_through(factor: Factor, dim: str, lookup: Lookup) -> Factor:
    """A factor with the dims of a lookup instead of ``dim``."""
    own = factor.own_dims or factor.dims
    pairs = [(each, each) for each in lookup.dims]
    pairs += [
        (here, mine)
        for here, mine in zip(factor.dims, own, strict=True)
        if here != dim and mine not in lookup.dims
    ]
    return replace(
        factor,
        dims=tuple(here for here, _ in pairs),
        own_dims=tuple(mine for _, mine in pairs),
        entries=factor.entries or own,
        simplex=() if dim in factor.simplex else factor.simplex,
        lookups=(*factor.lookups, lookup),
    )


# ---- nodes and constants: a term of one factor --------------------------------------------------


@expand.register
def expand_node(node: Node, walk: Walk) -> list[Term]:
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


@expand.register
def expand_constant(constant: Constant, walk: Walk) -> list[Term]:
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


# ---- sums and products: every choice of one term of each factor ---------------------------------


@expand.register
def expand_sum(expression: Sum, walk: Walk) -> list[Term]:
    """The terms of all parts."""
    return [term for part in expression.terms for term in expand(part, walk)]


@expand.register(Product)
@expand.register(Mix)
def expand_product(expression: Product | Mix, walk: Walk) -> list[Term]:
    """Products of terms, summed over the dims of a Mix.

    A product of a part for the first rows only and a part for later rows only is 0 and dropped."""
    terms = []
    for parts in product(*(expand(factor, walk) for factor in expression.factors)):
        _check_inner(walk, parts)
        summed = _summed(walk, expression, parts) if isinstance(expression, Mix) else ()
        phases = {(part.phase, part.lag) for part in parts if part.phase != ALWAYS}
        if len({phase for phase, _ in phases}) > 1:
            continue
        coefficient = float(np.prod([part.coefficient for part in parts]))
        factors = tuple(factor for part in parts for factor in part.factors)
        inner = tuple(dim for part in parts for dim in part.contracted)
        phase, lag = phases.pop() if phases else (ALWAYS, 1)
        terms.append(Term(coefficient, factors, inner + summed, phase, lag))
    return terms


def _check_inner(walk: Walk, parts: tuple[Term, ...]) -> None:
    """A dim that one part has summed may not be used by another."""
    for dim in (dim for part in parts for dim in part.contracted):
        if sum(dim in part.dims for part in parts) > 1:
            first, *rest = [factor.name for part in parts for factor in part.factors]
            raise walk.error(
                f"dim {dim!r} is summed inside and used outside; to sum once over all of them "
                f"write {first} @ ({' * '.join(rest)}) or pgbn.extend.Mix(factors=({first}, "
                f"{', '.join(rest)})), else rename one"
            )


def _summed(walk: Walk, mix: Mix, parts: tuple[Term, ...]) -> tuple[str, ...]:
    free = [set(part.free) for part in parts]
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


# ---- pairs, and other names of dims -------------------------------------------------------------


@expand.register
def expand_pairs(pairs: Pairs, walk: Walk) -> list[Term]:
    """The terms, multiplied by 1 at the pairs in the relation and by 0 at the others."""
    dims, terms = (pairs.first, pairs.second), []
    for term in expand(pairs.of, walk):
        missing = [dim for dim in dims if dim not in term.free]
        if len(missing) > (1 if pairs.relation == "same" else 0):
            raise walk.error(
                f"{pairs} needs the dims {list(dims)}, but a term of it has {term.free}; rename "
                f"one of its dims to {missing[0]!r}, as in "
                f".rename({(term.free or ['dim'])[0]}={missing[0]!r})"
            )
        mask = Factor("", dims, relation=pairs.relation)
        terms.append(replace(term, factors=(*term.factors, mask)))
    return terms


@expand.register
def expand_rename(rename: Rename, walk: Walk) -> list[Term]:
    """The terms with their free dims renamed."""
    names, terms = dict(rename.names), []

    def renamed(dims: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(dim, dim) for dim in dims)

    for term in expand(rename.of, walk):
        missing = set(names) - set(term.free)
        if missing:
            raise walk.error(
                f"rename of {sorted(missing)}, but {rename.of} has the dims {term.free}; rename "
                "one of these"
            )
        every = list(renamed(term.dims))
        if len(set(every)) < len(every):
            raise walk.error(f"rename by {names} gives {rename.of} a dim twice: {every}")
        factors = tuple(
            replace(factor, dims=renamed(factor.dims), simplex=renamed(factor.simplex))
            for factor in term.factors
        )
        terms.append(replace(term, factors=factors))
    return terms


# ---- earlier rows, of the node itself or of others ----------------------------------------------


@expand.register
def expand_shift(shift: Shift, walk: Walk) -> list[Term]:
    """The terms of the later rows, and the initial value, which is that of the first rows."""
    if walk.inside:
        raise walk.error("a Shift inside a Shift")
    if shift.along not in walk.node.axes:
        raise walk.error(
            f"Shift along {shift.along!r}, but {walk.node.name} has the dims {walk.node.axes}; add "
            f"{shift.along!r} to them, or shift along one of them"
        )
    inside = Walk(walk.node, walk.slot, inside=shift.lag)
    later = expand(shift.of, inside)
    walk.nodes |= inside.nodes
    own = [term for term in later if term.phase == LATER]
    others = [_earlier(walk, shift, term) for term in later if term.phase != LATER]
    initial = expand(shift.initial, walk)
    if not own:  # no row depends on an earlier row of the node
        return others + [_only(term, shift, FIRST) for term in initial]
    if walk.along not in (None, shift.along):
        raise walk.error(
            f"holds Shifts along {walk.along!r} and {shift.along!r}; give all the same dim"
        )
    if shift.along in walk.node.sums_over:
        raise walk.error(
            f"Shift along {shift.along!r}, but {walk.node.name} sums to one over that dim, so that "
            "its rows are not steps in time; give it another dim for the time, such as "
            "dims='time', and shift along that"
        )
    walk.along = shift.along
    return own + others + [replace(term, phase=FIRST, lag=shift.lag) for term in initial]


def _only(term: Term, shift: Shift, when: str) -> Term:
    """A term in the first rows only, or in the later rows only."""
    dims = (shift.along,)
    mask = Factor("", dims, dims, when=when, lag=shift.lag)
    return replace(term, factors=(*term.factors, mask))


def _earlier(walk: Walk, shift: Shift, term: Term) -> Term:
    """A term without Self(), read ``shift.lag`` rows before."""
    if shift.along not in term.free:
        what = "number" if not term.factors else f"{term.free}"
        raise walk.error(
            f"{shift} shifts a term without dim {shift.along!r} ({what}): every term of a Shift "
            f"must contain Self(), or a node or an array that has {shift.along!r}; add the others "
            "outside of it"
        )
    factors = tuple(
        _read_earlier(walk, shift, factor) if shift.along in factor.dims else factor
        for factor in term.factors
    )
    return _only(replace(term, factors=factors), shift, LATER)


def _read_earlier(walk: Walk, shift: Shift, factor: Factor) -> Factor:
    """A factor with its rows read a lag before."""
    own = dict(zip(factor.dims, factor.own_dims or factor.dims, strict=True))
    looked = {dim for lookup in factor.lookups for dim in (lookup.dim, *lookup.dims)}
    elsewhere = any(here != shift.along == mine for here, mine in own.items())
    mixed = factor.through or own[shift.along] in looked or elsewhere
    if mixed or factor.relation or factor.is_sparse:
        raise walk.error(
            f"{shift}: {factor.name or 'a pair'} cannot be read a lag before, since its "
            f"{shift.along!r} is read through something else or is that of a sparse constant or a "
            f"pair; look the rows up: node.rename({shift.along}='past')[pgbn.Categories('before', "
            f"dims={shift.along!r}, of='past', values=[0, 0, 1, 2, …])]"
        )
    name = f"{shift.along} {shift.lag} before"
    lookup = Lagged(name, own[shift.along], (shift.along,), shift.lag)
    return _read_through(factor, shift.along, lookup)


@expand.register
def expand_self(expression: Self, walk: Walk) -> list[Term]:
    """An earlier row of the node itself."""
    if not walk.inside:
        raise walk.error("Self() may stand only inside a Shift")
    names, node = dict(expression.names), walk.node
    dims = tuple(names.get(dim, dim) for dim in node.axes)
    simplex = tuple(names.get(dim, dim) for dim in node.sums_over)
    factor = Factor(PREVIOUS, dims, node.axes, simplex, previous=True, lag=walk.inside)
    return [Term(1.0, (factor,), phase=LATER, lag=walk.inside)]
