"""Rename: the same terms under other names of their dims."""

from __future__ import annotations

from dataclasses import replace

from pgbn.network.lowering.walk import Walk, expands
from pgbn.network.terms import Term
from pgbn.nodes.expression import Rename

__all__ = ["expand_rename"]


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
