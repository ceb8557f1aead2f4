"""Sums of products, as specifications: what is multiplied and over which dims it is summed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pgbn.network.terms import FIRST, Factor, Polynomial, Term
from pgbn.nodes.base import Node

__all__ = ["Operand", "SumProduct", "describe", "first_row", "operand_of", "reduce_product"]


@dataclass(frozen=True, eq=False)
class Operand:
    """An array inside a sum of products.

    ``kind``: "node" (a value), "previous" (a chain's value one row before), "constant",
    "first" (1 in the first row of a chain, 0 in the others),
    "count" (what the node hears), "rule count" and "exposure" (what node ``name`` passes to
    ``slot``), "rest" (the exposure of the rows of a chain in which ``phase`` counts).
    """

    kind: str
    name: str
    dims: tuple[str, ...]
    simplex: str | None = None
    constant: NDArray[np.float64] | None = None
    slot: str = ""
    phase: str = ""
    own_dims: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class SumProduct:
    """coefficient · (sizes of ``repeated``) · Σ_summed Π operands, with dims ``dims``."""

    coefficient: float
    operands: tuple[Operand, ...]
    dims: tuple[str, ...]
    summed: tuple[str, ...]
    repeated: tuple[str, ...]

    @property
    def is_one(self) -> bool:
        return not self.operands and not self.repeated and self.coefficient == 1.0


def reduce_product(
    coefficient: float, operands: Iterable[Operand], over: Iterable[str]
) -> SumProduct:
    """Sum a product over dims; a factor that sums to one over a dim of its own drops out."""
    remaining, left = list(operands), dict.fromkeys(over)
    dropped = True
    while dropped:
        dropped = False
        for operand in remaining:
            others = {dim for other in remaining if other is not operand for dim in other.dims}
            dim = operand.simplex
            if dim is not None and dim in left and dim not in others:
                remaining.remove(operand)
                del left[dim]
                dropped = True
                break
    present = dict.fromkeys(dim for operand in remaining for dim in operand.dims)
    return SumProduct(
        coefficient,
        tuple(remaining),
        tuple(dim for dim in present if dim not in left),
        tuple(dim for dim in left if dim in present),
        tuple(dim for dim in left if dim not in present),
    )


def first_row(child: Node, polynomial: Polynomial, term: Term) -> tuple[Operand, ...]:
    """What keeps the initial value of a chain to its first row."""
    if term.phase != FIRST or polynomial.along is None:
        return ()
    return (Operand("first", child.name, (polynomial.along,)),)


def operand_of(factor: Factor, owner: Node | None = None) -> Operand:
    """A factor of a term as an operand; ``owner`` is the node whose chain it may refer to."""
    if factor.constant is not None:
        return Operand("constant", "constant", factor.dims, constant=factor.constant)
    if factor.name == "self":
        assert owner is not None
        return Operand("previous", owner.name, factor.dims, factor.simplex, own_dims=owner.axes)
    return Operand("node", factor.name, factor.dims, factor.simplex, own_dims=factor.own_dims)


def describe(heard: Iterable[SumProduct]) -> str:
    """An exposure in words, for messages."""
    parts = []
    for product in heard:
        factors = [f"size of {dim}" for dim in product.repeated]
        factors += [
            f"exposure({o.name}.{o.slot})" if o.kind in ("exposure", "rest") else o.name
            for o in product.operands
        ]
        if product.coefficient != 1.0 or not factors:
            factors.insert(0, f"{product.coefficient:g}")
        text = " · ".join(factors)
        parts.append(f"Σ_{','.join(product.summed)} {text}" if product.summed else text)
    return " + ".join(parts)
