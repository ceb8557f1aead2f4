"""Pairs: the same terms, each at the pairs of two dims that are in a relation."""

from __future__ import annotations

from dataclasses import replace

from pgbn.network.lowering.walk import Walk, expands
from pgbn.network.terms import Factor, Term
from pgbn.nodes.pairs import Pairs

__all__ = ["expand_pairs"]


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
