"""Pairs: an expression for the pairs of entries of two dims that differ, or that are the same.

    distinct(φ_i φ_j, i, j)    φ_i φ_j for i < j, and 0 for the other pairs
    same(ξ ν_k, k, l)          ξ ν_k for k = l, and 0 for the other pairs

A product may contain a node several times if its entries in the product are always different.
The product is then linear in each entry, and the entries are drawn one after another.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import model_validator

from pgbn.checks import check_flag
from pgbn.nodes.expression import Dim, Expression, Slot, to_expression

Relation = Literal["upper", "distinct", "same"]
_SIGNS = {"upper": "<", "distinct": "≠", "same": "="}


class Pairs(Expression):
    """``of`` at the pairs of entries of two dims in a relation, and 0 at the others.

    `pgbn.distinct` and `pgbn.same` make them.

    Parameters
    ----------
    of : node or expression
        The expression.
    first : str
        The first dim.
    second : str
        The second dim.
    relation : "upper", "distinct" or "same"
        first < second, first ≠ second, or first = second.

    Examples
    --------
    >>> phi = pgbn.Gamma("phi", 1.0, 1.0, dims=("vertex", "community"))
    >>> rate = phi.rename(vertex="i") @ phi.rename(vertex="j")
    >>> graph = pgbn.Pairs(of=rate, first="i", second="j", relation="upper")
    """

    tag: ClassVar[str] = "pairs"
    of: Slot
    first: Dim
    second: Dim
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
    """An expression at the pairs first < second, each pair once; it is 0 elsewhere.

    Parameters
    ----------
    expression : node or expression
        Usually a product of a node with itself, after a rename.
    first : str
        The first dim.
    second : str
        The second dim.
    ordered : bool
        Whether it is at all pairs first ≠ second, in both orders.

    Examples
    --------
    >>> phi = pgbn.Gamma("phi", 1.0, 1.0, dims=("vertex", "community"))
    >>> rate = pgbn.distinct(phi.rename(vertex="i") @ phi.rename(vertex="j"), "i", "j")
    >>> print(rate)
    [i < j] (phi @ phi)
    """
    relation = "distinct" if check_flag("ordered", ordered) else "upper"
    return Pairs(of=to_expression(expression), first=first, second=second, relation=relation)


def same(expression: Any, first: str, second: str) -> Pairs:
    """An expression on the diagonal, first = second; it is 0 elsewhere.

    Parameters
    ----------
    expression : node or expression
        An expression with both dims.
    first : str
        The first dim.
    second : str
        The second dim.

    Examples
    --------
    >>> nu = pgbn.Gamma("nu", 1.0, 1.0, dims="k")
    >>> print(pgbn.same(nu * nu.rename(k="l"), "k", "l"))
    [k = l] (nu * nu)
    """
    return Pairs(of=to_expression(expression), first=first, second=second, relation="same")
