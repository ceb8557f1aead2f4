"""Edges that bring their own evaluation, on the arrays of a program.

An edge sees arrays (R or 1, *dims), the dims in the order in which its operands have them and its
value has them by `Edge.dims_of`. What it returns is checked: a wrong shape, a number that is none
or negative, and counts that got lost are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled
from pgbn.errors import DataError, NetworkError
from pgbn.network.sumproduct import operand_of
from pgbn.network.terms import Factor, Operation
from pgbn.samplers.executor import in_memory
from pgbn.samplers.stream import Stream

if TYPE_CHECKING:
    from pgbn.engine.compile.program import Program

__all__ = ["OperationArrays", "Operations"]

Array = NDArray[Any]


class Operations:
    """The operations of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[Operation, OperationArrays] = {}

    def of(self, operation: Operation) -> OperationArrays:
        """An operation on the arrays of the program."""
        if operation not in self._known:
            self._known[operation] = OperationArrays(self._program, operation)
        return self._known[operation]

    def wants(self, factor: Factor) -> bool:
        """Whether a factor is to be told its counts; those of an operation go to its value."""
        hearing = self._program.wiring.sources
        if factor.through is None:
            return factor.name in hearing
        operation = factor.through.operation
        names = {each.name for each in operation.operands.values()}
        return factor.through.slot == operation.leads and not names.isdisjoint(hearing)


class OperationArrays:
    """One operation: its ``value``, what its operands hear of exposure, and their counts."""

    def __init__(self, program: Program, operation: Operation) -> None:
        self.program, self.operation, self.edge = program, operation, operation.edge
        self._operands: dict[str, Callable[[], Array]] = {}
        self._raw: list[Callable[[], Array]] = []
        self._shapes: dict[str, tuple[int, ...]] = {}
        copies = 1
        for slot, factor in operation.operands.items():
            labelled = program.read(operand_of(factor))
            order = (0, *(labelled.dims.index(dim) + 1 for dim in factor.dims))
            self._raw.append(labelled.get)
            self._operands[slot] = _ordered(labelled.get, order)
            self._shapes[slot] = tuple(program.sizes[dim] for dim in factor.dims)
            copies = max(copies, labelled.replicates)
        self._last: list[Any] = [None, None]
        self.shape = (copies, *(program.sizes[dim] for dim in operation.dims))
        self.value = Labelled(self._evaluate, operation.dims, copies)

    def _evaluate(self) -> Array:
        # values are replaced, never changed in place: the same arrays give the same value
        read, last = [get() for get in self._raw], self._last[0]
        if last is None or any(new is not old for new, old in zip(read, last, strict=True)):
            arrays = {slot: get() for slot, get in self._operands.items()}
            found = self._checked("evaluate", self.edge.evaluate(**arrays), self.shape)
            self._last[:] = read, found
        return np.asarray(self._last[1])

    def _checked(self, method: str, found: Any, shape: tuple[int, ...]) -> Array:
        what = f"{self.edge}: {method}()"
        try:
            array = np.ascontiguousarray(found, np.float64)
        except (TypeError, ValueError):
            raise NetworkError(f"{what} returned {found!r:.60}; return an array") from None
        if array.shape != shape:
            raise NetworkError(
                f"{what} returned an array of shape {array.shape}; it must have {shape}: "
                f"replicates, then {', '.join(self.operation.dims)}"
                if method == "evaluate"
                else f"{what} returned an array of shape {array.shape}; it must have {shape}"
            )
        least = array.min(initial=0.0)
        if not np.isfinite(array).all() or least < 0:
            raise NetworkError(
                f"{what} returned {'a number that is not finite' if not least < 0 else least}; "
                "return numbers of at least 0"
            )
        return array

    def heard(self, slot: str, exposure: Labelled) -> Labelled:
        """The exposure that a node hears in its slot; its dims have the node's own names."""
        factor = self.operation.operands[slot]
        others = {other: get for other, get in self._operands.items() if other != slot}
        copies = max(exposure.replicates, self.shape[0])
        shape = (copies, *self._shapes[slot])
        whole = (exposure.replicates, *self.shape[1:])
        present = [dim for dim in self.operation.dims if dim in exposure.dims]
        order = (0, *(exposure.dims.index(dim) + 1 for dim in present))
        wide = [self.program.sizes[dim] if dim in present else 1 for dim in self.operation.dims]

        def get() -> Array:
            heard = exposure.get().transpose(order).reshape(exposure.replicates, *wide)
            q = np.ascontiguousarray(np.broadcast_to(heard, (copies, *whole[1:])))
            arrays = {other: read() for other, read in others.items()}
            return self._checked("expose", self.edge.expose(slot, q, shape, **arrays), shape)

        return Labelled(get, factor.own_dims, copies)

    def split(self, child: str, slot: str, key: int, counts: Array) -> list[tuple[Factor, Array]]:
        """The counts of the value, as a child shared them out, as counts of the nodes in it, each
        in the order in which the node is stored."""
        value = self._evaluate()
        if ((counts > 0) & (value <= 0)).any():
            raise DataError(
                f"{child}: has counts where its {slot}, {self.edge}, is 0; correct the data, or "
                "add a term that is positive there"
            )
        arrays = {name: get() for name, get in self._operands.items()}
        stream = Stream(key, _at_least_4d(counts.shape), in_memory(self.program.executor))
        found = self.edge.split(stream, counts, **arrays)
        nodes = {name: f for name, f in self.operation.operands.items() if f.own_dims}
        if not isinstance(found, dict) or not set(nodes) <= set(found):
            raise NetworkError(
                f"{self.edge}: split() returned {found!r:.60}; return a dict from the slots "
                f"({', '.join(nodes)}) to the counts of their entries"
            )
        totals = counts.sum(axis=tuple(range(1, counts.ndim)))
        out = []
        for name, factor in nodes.items():
            if factor.name in self.program.wiring.sources:
                own = self._checked_counts(name, found[name], len(counts), totals)
                stored = self.program.storage[factor.name]
                order = (0, *(factor.own_dims.index(dim) + 1 for dim in stored))
                out.append((factor, np.ascontiguousarray(own.transpose(order))))
        return out

    def _checked_counts(self, slot: str, found: Any, copies: int, totals: Array) -> Array:
        shape = (copies, *self._shapes[slot])
        array = np.asarray(found)
        if array.dtype.kind not in "iu" or array.shape != shape or array.min(initial=0) < 0:
            raise NetworkError(
                f"{self.edge}: split() returned for {slot!r} {array.dtype} of shape {array.shape}; "
                f"return counts, integers of at least 0, of shape {shape}"
            )
        if (array.sum(axis=tuple(range(1, array.ndim))) != totals).any():
            raise NetworkError(
                f"{self.edge}: split() returned {int(array.sum())} counts for {slot!r} of "
                f"{int(totals.sum())}; every count goes to one entry of each operand"
            )
        return array.astype(np.int64)


def _ordered(get: Callable[[], Array], order: tuple[int, ...]) -> Callable[[], Array]:
    return get if order == tuple(range(len(order))) else lambda: get().transpose(order)


def _at_least_4d(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], *(1,) * (4 - len(shape)), *shape[1:])
