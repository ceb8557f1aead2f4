"""Which rows of a child read an entry of its parent, where that is not written by equal indices:
through categories, or through an operation of a user's own.

An operation is linear in each operand: y_v = Σ_e (∂y_v/∂a_e) a_e. So entry e hears the exposure
Σ_v (∂y_v/∂a_e) q_v, and of the counts of cell v those that went to it, with its name in brackets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgbn.explain.algebra import Formula, numeral
from pgbn.explain.names import escape_math
from pgbn.explain.symbols import DOT, At, shift
from pgbn.network.connections import Source
from pgbn.network.terms import Earlier, Operation

if TYPE_CHECKING:
    from pgbn.explain.notation import Notation

__all__ = ["entry_mark", "operation_value", "over", "readers_beside", "weight_of"]


def over(readers: str, body: Formula) -> Formula:
    """A sum over the rows that read an entry, if they read it through something."""
    return Formula.sum_over(readers, body) if readers else body


def readers_beside(notation: Notation, source: Source, at: At) -> tuple[dict[str, str], str]:
    """Indices, in the child's names, of the dims that parent and child share, and which rows
    of the child read an entry of the parent: "j : author(j) = a" where they read it through
    categories, else nothing."""
    lookups = source.factor.lookups
    through = {dim for lookup in lookups for dim in lookup.dims}
    here = {own: dim for dim, own in source.own.items()}
    inner = {dim: at[own] for dim, own in source.own.items() if own not in through}
    fresh = at is not notation.index or source.factor.through is not None
    rows = {own: notation.free(here[own], at.values()) if fresh else notation.index[here[own]]
            for own in here if own in through}  # fmt: skip
    lags = {lookup.dims[0]: lookup for lookup in lookups if isinstance(lookup, Earlier)}
    rows |= {own: shift(at[lookup.dim], lookup.lag) for own, lookup in lags.items()}
    inner |= {here[own]: row for own, row in rows.items()}
    rows = {own: row for own, row in rows.items() if own not in lags}
    if source.factor.through is not None:
        return inner, ", ".join(rows.values())
    named = [
        f"{notation.category(lookup.name, [rows[dim] for dim in lookup.dims])} = {at[lookup.dim]}"
        for lookup in lookups
        if not isinstance(lookup, Earlier) and at[lookup.dim] != DOT
    ]
    which = f" : {', '.join(named)}" if named else ""
    return inner, f"{', '.join(rows.values())}{which}"


def operation_value(notation: Notation, operation: Operation, indices: list[str]) -> Formula:
    """Edge(a, b) with the indices of one cell."""
    parts = [
        notation.bare(factor.name) if factor.own_dims else r"\mathrm{const}"
        for factor in operation.operands.values()
    ]
    name = escape_math(type(operation.edge).__name__)
    return Formula(f"{name}({', '.join(parts)})_{{{' '.join(indices)}}}")


def weight_of(notation: Notation, source: Source, at: At, inner: At) -> Formula:
    """How an entry enters a cell: ∂y_v/∂a_e through an operation, else 1."""
    through = source.factor.through
    if through is None:
        return numeral(1.0)
    indices = [inner[dim] for dim in reversed(source.factor.dims)]
    top = operation_value(notation, through.operation, indices).latex
    below = notation.value(source.factor.name, at).latex
    return Formula(rf"\frac{{\partial {top}}}{{\partial {below}}}")


def entry_mark(notation: Notation, source: Source, at: At) -> str:
    """[a_e] on the counts of a cell that an operation gave to an entry; else nothing."""
    if source.factor.through is None:
        return ""
    return f"[{notation.value(source.factor.name, at).latex}]"
