"""Pairs: an expression for the pairs of two dims that are apart, or for those that are the same.

    distinct(φ_i φ_j, i, j)    φ_i φ_j for i < j, and 0 for the other pairs
    same(ξ ν_k, k, l)          ξ ν_k where k = l, and 0 elsewhere

A node may stand several times in a product of which no two of its entries can be the same one:
the product is then linear in each entry, and the entries are drawn one after another.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import model_validator

from pgbn.checks import check_flag
from pgbn.nodes.expression import Expression, Slot, to_expression

Relation = Literal["upper", "distinct", "same"]
_SIGNS = {"upper": "<", "distinct": "≠", "same": "="}


class Pairs(Expression):
    """``of`` at the pairs of entries of two dims in a relation, and 0 at the others.

    ``relation`` is "upper" (first < second), "distinct" (first ≠ second) or "same"."""

    tag: ClassVar[str] = "pairs"
    of: Slot
    first: str
    second: str
    relation: Relation = "upper"

    @model_validator(mode="after")
    def _check_dims(self) -> Pairs:
        if self.first == self.second:
            raise ValueError(
                f"its two dims are both {self.first!r}: give two names, after a rename in one of "
                f"the factors, such as .rename({self.first}='other')"
            )
        return self

    def __str__(self) -> str:
        return f"[{self.first} {_SIGNS[self.relation]} {self.second}] ({self.of})"


def distinct(expression: Any, first: str, second: str, *, ordered: bool = False) -> Pairs:
    """An expression at the pairs first < second, each pair once; with ``ordered``, at all pairs
    first ≠ second, in both orders. It is 0 elsewhere.

    A graph: ``distinct(phi.rename(vertex="i") @ phi.rename(vertex="j"), "i", "j")``.
    """
    relation = "distinct" if check_flag("ordered", ordered) else "upper"
    return Pairs(of=to_expression(expression), first=first, second=second, relation=relation)


def same(expression: Any, first: str, second: str) -> Pairs:
    """An expression where first = second, the diagonal; it is 0 elsewhere."""
    return Pairs(of=to_expression(expression), first=first, second=second, relation="same")
