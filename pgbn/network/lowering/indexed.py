"""Index: a dim is read through an array of categories."""

from __future__ import annotations

from dataclasses import replace

from pgbn.network.lowering.walk import Walk, expands
from pgbn.network.terms import Factor, Lookup, Term
from pgbn.nodes.categorical import Categorical
from pgbn.nodes.categories import Categories
from pgbn.nodes.expression import Expression, Mix
from pgbn.nodes.index import Index

__all__ = ["expand_index"]


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
