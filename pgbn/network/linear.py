"""Linear predictors: slots whose value is told about as a whole, by a quadratic form.

A cell of a child with the predictor ψ = Σ_d g_d x_d + rest has the likelihood exp(κψ − ½ωψ²). What
the vector x hears of all cells is exp(bᵀx − ½xᵀAx) with A = Σ ω g gᵀ and b = Σ (κ − ω·rest) g: its
entries depend on each other along the dims that the predictor sums over, and are drawn jointly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from pgbn.errors import MissingRuleError
from pgbn.network.terms import Factor, Polynomial
from pgbn.nodes.base import Node

if TYPE_CHECKING:
    from pgbn.network.connections import Source

__all__ = ["check_linear", "joint_dims"]


def check_linear(
    node: Node,
    slot: str,
    polynomial: Polynomial,
    hearing: Collection[str],
    way_out: Callable[[str], str],
) -> None:
    """Refuse what is not linear in each of the nodes that hear of a slot."""

    def refuse(reason: str, remedy: str) -> MissingRuleError:
        return MissingRuleError(f"{node.name}: {slot} = {getattr(node, slot)}: {reason}; {remedy}")

    if polynomial.along is not None:
        raise refuse(
            "a Shift has no joint update in a linear predictor",
            "give the row before as a known array: pgbn.Constant(…) @ a node",
        )
    seen: dict[str, Factor] = {}
    for term in polynomial.terms:
        own = [factor for factor in term.factors if factor.name in hearing]
        names = [factor.name for factor in own]
        for factor in own:
            if names.count(factor.name) > 1:
                raise refuse(
                    f"{factor.name} stands twice in a product, which is not linear in it",
                    f"use it once, or use another node in one place{way_out(factor.name)}",
                )
            if factor.lookups:
                raise refuse(
                    f"{factor.name} is read through {factor.lookups[0].name}",
                    "multiply by a known array of zeros and ones in place of it: "
                    f"pgbn.Constant(…) @ {factor.name}",
                )
            if seen.setdefault(factor.name, factor).dims != factor.dims:
                raise refuse(
                    f"{factor.name} stands there with different dims",
                    f"use another node in one place{way_out(factor.name)}",
                )
        if any(factor.relation is not None for factor in term.factors):
            raise refuse("pairs have no joint update", "use a known array of zeros and ones")


def joint_dims(node: Node, sources: Iterable[Source]) -> tuple[str, ...]:
    """The dims of a node, by its own names, along which it is drawn jointly: those that a linear
    predictor with it sums over."""
    summed = {
        source.own[dim]
        for source in sources
        for dim in source.factor.dims
        if dim not in source.child.axes
    }
    return tuple(dim for dim in node.axes if dim in summed)
