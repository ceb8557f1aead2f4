"""Of what kind an operand is: explain asks here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgbn.explain.algebra import Formula, numeral
from pgbn.explain.readers import operation_value
from pgbn.explain.symbols import At, shift
from pgbn.network.sumproduct import (
    ConstantArray,
    FirstRow,
    HeardCount,
    LaterRows,
    LookedUp,
    NodeValue,
    Operand,
    OperationPart,
    OperationValue,
    PairMask,
    PreviousRow,
    RuleCount,
    RuleExposure,
    SparseConstant,
    SumProduct,
    TimeExposure,
)
from pgbn.network.terms import FIRST, LATER, Earlier

if TYPE_CHECKING:
    from pgbn.explain.notation import Notation

__all__ = [
    "in_first_rows",
    "in_later_rows",
    "operand_formula",
    "pairs_in_signs",
    "takes_a_dot",
]


def takes_a_dot(operand: Operand) -> bool:
    """Whether a sum over one of its indices can be written by a dot in place of the index."""
    return type(operand) not in (RuleExposure, RuleCount, LookedUp, OperationValue)


def in_first_rows(notation: Notation, operand: Operand, dim: str) -> int:
    """If an operand counts in the first rows of a chain only, ``dim`` being its rows, how many
    these are; else 0."""
    if isinstance(operand, FirstRow):
        return operand.lag
    if not isinstance(operand, TimeExposure):
        return 0
    first = dim == notation.along(notation.network.nodes[operand.name]) and operand.phase == FIRST
    return operand.lag if first else 0


def in_later_rows(notation: Notation, operand: Operand, dim: str) -> int:
    """If an operand counts in all rows of a chain but the first ones, how many these are; else
    0."""
    if not isinstance(operand, PreviousRow | TimeExposure):
        return 0
    along = notation.along(notation.network.nodes[operand.name])
    if isinstance(operand, PreviousRow):
        own = dict(zip(operand.dims, operand.own_dims, strict=True))
        return operand.lag if own[dim] == along else 0
    return operand.lag if dim == along and operand.phase == LATER else 0


def _looked_up(notation: Notation, operand: LookedUp, at: At) -> dict[str, str]:
    """The indices of what is read through categories: author(j) for an author."""
    here = dict(zip(operand.own_dims, operand.dims, strict=True))
    inner = {own: at[dim] for own, dim in here.items() if own not in operand.through}
    for lookup in operand.lookups:
        rows = [at[here[dim]] for dim in lookup.dims]
        inner[lookup.dim] = (shift(rows[0], -lookup.lag) if isinstance(lookup, Earlier)
                             else notation.category(lookup.name, rows))  # fmt: skip
    return inner


def operand_formula(notation: Notation, operand: Operand, at: At) -> Formula:
    """An operand with its indices."""
    if isinstance(operand, ConstantArray | SparseConstant):
        return notation.constant(operand.value, operand.dims, at)
    if isinstance(operand, PairMask):
        first, second = (at[dim] for dim in operand.dims)
        return Formula(f"1({first} {_SIGNS[operand.relation]} {second})")
    if isinstance(operand, FirstRow):
        index = at[operand.dims[0]]
        known = index.isdigit() and int(index) <= operand.lag
        sign = "=" if operand.lag == 1 else r"\le"
        return numeral(1.0) if known else Formula(rf"1({index} {sign} {operand.lag})")
    if isinstance(operand, OperationPart):
        return numeral(1.0)
    if isinstance(operand, OperationValue):
        indices = [at[dim] for dim in reversed(operand.dims)]
        return operation_value(notation, operand.operation, indices)
    if isinstance(operand, LaterRows):
        index = at[operand.dims[0]]
        beyond = "+" in index and int(index.rpartition("+")[2] or 0) >= operand.lag
        size = notation.size[operand.dims[0]]
        return Formula(rf"1({index} \le {size})" if beyond else f"1({index} > {operand.lag})")
    if isinstance(operand, LookedUp):
        return operand_formula(notation, operand.whole, _looked_up(notation, operand, at))
    node = notation.network.nodes[operand.name]
    if isinstance(operand, HeardCount):
        return notation.count(operand.name, at)
    if isinstance(operand, RuleCount):
        return notation.computed_count(node, operand.slot, at)
    if isinstance(operand, RuleExposure):
        return notation.passed(node, operand.slot, at)
    assert isinstance(operand, NodeValue)
    names = dict(zip(operand.own_dims, operand.dims, strict=True))
    if isinstance(operand, PreviousRow):
        row = names[notation.along(node) or ""]
        at = {**at, row: shift(at[row], -operand.lag)}
    return notation.value(operand.name, at, [names[dim] for dim in node.axes])


_SIGNS = {"upper": "<", "distinct": r"\ne", "same": "="}


def pairs_in_signs(
    product: SumProduct, at: At, signs: list[str]
) -> tuple[list[Operand], list[str]]:
    """The operands and what stands under the sum signs, with the relation of a pair of which a
    member is summed written there: a sum over i < j, or over the j > i."""
    kept, signs = list(product.operands), list(signs)
    for mask in [operand for operand in kept if isinstance(operand, PairMask)]:
        first, second = (at[dim] for dim in mask.dims)
        under = [index for index in (first, second) if index in signs]
        if not under:
            continue
        sign = _SIGNS[mask.relation]
        if under == [second]:
            first, second, sign = second, first, sign.replace("<", ">")
        signs[signs.index(under[0])] = f"{first} {sign} {second}"
        signs = [each for each in signs if each not in under[1:]]
        kept.remove(mask)
    return kept, signs
