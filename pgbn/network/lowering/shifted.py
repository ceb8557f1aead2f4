"""Shift and Self: an earlier row, of the node itself or of others, in all rows but the first."""

from __future__ import annotations

from dataclasses import replace

from pgbn.network.lowering.walk import Walk, expands
from pgbn.network.terms import FIRST, LATER, PREVIOUS, Earlier, Factor, Term
from pgbn.nodes.shift import Self, Shift

__all__ = ["expand_self", "expand_shift"]


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
        lookups=(*factor.lookups, Earlier(name, own[at], (shift.along,), shift.lag)),
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
