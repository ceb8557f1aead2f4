"""Sums of products, as specifications: what is multiplied and over which dims it is summed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.network.terms import FIRST, Factor, Lookup, Operation, Polynomial, Term
from pgbn.nodes.base import Node


@dataclass(frozen=True, eq=False, kw_only=True)
class Operand:
    """An array of the node ``name`` inside a sum of products.

    ``dims`` are the names that its dims have here; it sums to one over the dims ``simplex``
    together. A ``real`` operand may be negative."""

    name: str
    dims: tuple[str, ...]
    simplex: tuple[str, ...] = ()
    real: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class ConstantArray(Operand):
    """An array that never changes."""

    name: str = "constant"
    value: NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseConstant(Operand):
    """A sparse matrix (scipy.sparse.csr_array) that never changes."""

    name: str = "constant"
    value: Any


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeValue(Operand):
    """The value of a node, whose own names of its dims are ``own_dims``."""

    own_dims: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class LookedUp(Operand):
    """A node or a constant, ``whole``, read through categories.

    ``own_dims`` are the names of the dims of the result, before they were renamed to ``dims``."""

    whole: NodeValue | ConstantArray
    own_dims: tuple[str, ...]
    lookups: tuple[Lookup, ...]

    @property
    def through(self) -> set[str]:
        """The dims, among ``own_dims``, of the categories."""
        return {dim for lookup in self.lookups for dim in lookup.dims}


@dataclass(frozen=True, eq=False, kw_only=True)
class OperationValue(Operand):
    """The value of an operation, at its leading node.

    ``own_dims`` are the names of its dims before they were renamed to ``dims``."""

    operation: Operation
    own_dims: tuple[str, ...]


class OperationPart(Operand):
    """A further node that an operation reads: a factor of 1. The leading node has the value."""


class OtherEntries(NodeValue):
    """The value of a node at other entries than the one that receives the evidence.

    The other entries are factors of the same product, and always different from that entry."""


class OtherLookedUp(LookedUp):
    """The same, read through categories that never name the entry that receives the evidence."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PairMask(Operand):
    """1 at the pairs of two dims in a relation ("upper", "distinct", "same"), otherwise 0."""

    name: str = ""
    relation: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Precomputed(Operand):
    """An array that the engine has already computed."""

    name: str = ""
    made: Any


@dataclass(frozen=True, eq=False, kw_only=True)
class PreviousRow(NodeValue):
    """The value of a node in time, ``lag`` rows before."""

    lag: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class FirstRow(Operand):
    """1 in the first ``lag`` rows of a node in time, 0 in the others."""

    lag: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class LaterRows(Operand):
    """0 in the first ``lag`` rows, 1 in the others."""

    lag: int = 1


class ReceivedCount(Operand):
    """The count that a node receives."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleCount(Operand):
    """The count that a node sends to its ``slot``, computed when it is read."""

    slot: str


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleExposure(Operand):
    """The exposure that a node sends to its ``slot``."""

    slot: str


@dataclass(frozen=True, eq=False, kw_only=True)
class TimeExposure(RuleExposure):
    """The same for a node in time, only in the rows to which this ``phase`` and ``lag`` apply."""

    phase: str = ""
    lag: int = 1


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
    """Sum a product over dims; a factor that alone has a dim and sums to one over it drops out."""
    remaining, left = list(operands), dict.fromkeys(over)
    dropped = True
    while dropped:
        dropped = False
        for operand in remaining:
            others = {dim for other in remaining if other is not operand for dim in other.dims}
            dims = _sums_to_one(operand, [dim for dim in left if dim not in others])
            if dims:
                remaining.remove(operand)
                left = {dim: None for dim in left if dim not in dims}
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


def _sums_to_one(operand: Operand, free: list[str]) -> tuple[str, ...]:
    """The dims over which ``operand`` sums to 1, if no other factor has one of them."""
    if operand.simplex:
        return operand.simplex if set(operand.simplex) <= set(free) else ()
    own = tuple(dim for dim in operand.dims if dim in free)
    if not isinstance(operand, ConstantArray | SparseConstant) or not own:
        return ()
    for dims in dict.fromkeys((own, *((dim,) for dim in own))):
        axes = tuple(operand.dims.index(dim) for dim in dims)
        if isinstance(operand, SparseConstant):
            total = operand.value.sum(axis=axes[0] if len(axes) == 1 else None)
        else:
            total = operand.value.sum(axis=axes)
        if np.allclose(total, 1.0, rtol=0.0, atol=1e-12):
            return dims
    return ()


def first_row(child: Node, polynomial: Polynomial, term: Term) -> tuple[Operand, ...]:
    """The factor that restricts the initial value of a node in time to its first rows."""
    if term.phase != FIRST or polynomial.along is None:
        return ()
    return (FirstRow(name=child.name, dims=(polynomial.along,), lag=term.lag),)


def operand_of(factor: Factor, owner: Node | None = None) -> Operand:
    """A factor of a term as an operand.

    It may refer to an earlier row of the node ``owner``."""
    if factor.through is not None:
        if factor.through.slot != factor.through.operation.leads:
            return OperationPart(name=factor.name, dims=())
        return OperationValue(
            name=factor.name, dims=factor.dims, operation=factor.through.operation,
            own_dims=factor.own_dims,
        )  # fmt: skip
    if factor.when:
        kind = FirstRow if factor.when == FIRST else LaterRows
        return kind(name="", dims=factor.dims, lag=factor.lag)
    if factor.lookups:
        own = factor.entries
        whole: NodeValue | ConstantArray = NodeValue(name=factor.name, dims=own, own_dims=own)
        if factor.constant is not None:
            whole = ConstantArray(dims=own, value=factor.constant)
        return LookedUp(
            name=factor.name, dims=factor.dims, simplex=factor.simplex, whole=whole,
            own_dims=factor.own_dims, lookups=factor.lookups, real=factor.real,
        )  # fmt: skip
    if factor.relation is not None:
        return PairMask(dims=factor.dims, relation=factor.relation)
    if factor.is_sparse:
        return SparseConstant(dims=factor.dims, value=factor.constant)
    if factor.constant is not None:
        return ConstantArray(dims=factor.dims, value=factor.constant, real=factor.real)
    if factor.previous:
        assert owner is not None
        return PreviousRow(
            name=owner.name, dims=factor.dims, simplex=factor.simplex, own_dims=owner.axes,
            lag=factor.lag,
        )  # fmt: skip
    return NodeValue(
        name=factor.name, dims=factor.dims, simplex=factor.simplex, own_dims=factor.own_dims,
        real=factor.real,
    )  # fmt: skip


def in_words(received: Iterable[SumProduct]) -> str:
    """An exposure as text, for messages."""
    parts = []
    for product in received:
        factors = [f"size of {dim}" for dim in product.repeated]
        factors += [
            f"exposure({o.name}.{o.slot})" if isinstance(o, RuleExposure) else o.name
            for o in product.operands
            if not isinstance(o, PairMask)
        ]
        if product.coefficient != 1.0 or not factors:
            factors.insert(0, f"{product.coefficient:g}")
        text = " · ".join(factors)
        parts.append(f"Σ_{','.join(product.summed)} {text}" if product.summed else text)
    return " + ".join(parts)
