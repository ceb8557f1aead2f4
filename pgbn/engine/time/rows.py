"""A node in time, seen row by row.

Row t of the node has the shape a_t = Σ_terms …(θ_{t−lag})…; which terms count changes from row to
row at the lags of its Shifts, so that the rows between two lags have a phase in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled, Shape4, align, shape4
from pgbn.engine.compile.products import compile_product
from pgbn.engine.compile.program import Program
from pgbn.engine.compile.splitting import Splitter
from pgbn.network.sumproduct import Operand, PreviousRow, operand_of, reduce_product
from pgbn.network.terms import LATER, Factor, Term
from pgbn.nodes.base import Node
from pgbn.nodes.rules.types import EvidenceRule
from pgbn.samplers.random import stream_key
from pgbn.samplers.stream import Stream

__all__ = ["Rows"]


class Rows:
    """The rows of one node in time: everything beside a single row, the dim ``along`` left out."""

    def __init__(self, program: Program, node: Node) -> None:
        self.program, self.node, self.name = program, node, node.name
        self.slot = next(
            slot for slot in node.slots() if program.wiring.polynomials[node.name, slot].along
        )
        polynomial = program.wiring.polynomials[node.name, self.slot]
        assert polynomial.along is not None
        self.along = polynomial.along
        self.length = program.sizes[self.along]
        self.dims = tuple(dim for dim in program.storage[node.name] if dim != self.along)
        self.axis = program.storage[node.name].index(self.along) + 1
        self.shape4: Shape4 = shape4(self.dims, program.sizes, program.replicates)
        self.now = 0
        self.lags = polynomial.lags
        self.terms = {
            begin: tuple(term for term in polynomial.terms if term.counts_at(begin))
            for begin in (0, *self.lags)
        }
        self.lagged = tuple(term for term in polynomial.terms if term.phase == LATER)
        self._values = {
            phase: [self._term_value(term) for term in terms] for phase, terms in self.terms.items()
        }

    @property
    def rule(self) -> EvidenceRule:
        """What the rows tell the slot of their recursion."""
        return self.program.wiring.rules[self.name, self.slot]

    @property
    def phase(self) -> int:
        """The first of the rows in which the same terms count as in the current one."""
        return max(begin for begin in (0, *self.lags) if begin <= self.now)

    def row(self, labelled: Labelled) -> Labelled:
        """A quantity at the current row."""
        if self.along not in labelled.dims:
            return labelled
        axis = labelled.dims.index(self.along) + 1
        dims = tuple(dim for dim in labelled.dims if dim != self.along)
        get = labelled.get
        return Labelled(
            lambda: np.ascontiguousarray(np.moveaxis(get(), axis, 0)[self.now]),
            dims,
            labelled.replicates,
        )

    def read(self, operand: Operand) -> Labelled:
        """An operand at the current row; the node itself its lag before."""
        if not isinstance(operand, PreviousRow):
            return self.row(self.program.read(operand))
        names = dict(zip(operand.own_dims, operand.dims, strict=True))
        dims = tuple(names[dim] for dim in self.dims)
        values, name, lag = self.program.values, self.name, operand.lag
        return Labelled(
            lambda: np.ascontiguousarray(np.moveaxis(values[name], self.axis, 0)[self.now - lag]),
            dims,
            self.program.replicates,
        )

    def operand(self, factor: Factor) -> Operand:
        return operand_of(factor, self.node)

    def term(self, term: Term) -> Labelled:
        """The value of a term at the current row."""
        operands = [self.operand(factor) for factor in term.factors]
        product = reduce_product(term.coefficient, operands, term.contracted)
        return compile_product(product, self.read, self.program.sizes)

    def _term_value(self, term: Term) -> Callable[[], Any]:
        return align(self.term(term), self.dims, self.program.sizes)

    def shape(self) -> Any:
        """The slot's value at the current row, 4-d."""
        total: Any = 0.0
        for value in self._values[self.phase]:
            total = total + value()
        return total

    def at_row(self, quantity: Any) -> Callable[[], Any]:
        """An aligned quantity of the whole node, evaluated now, seen row by row."""
        value = quantity.get()
        if not isinstance(value, np.ndarray):
            return lambda: value
        node_dims = self.program.storage[self.name]
        axis = value.ndim - len(node_dims) + self.axis - 1
        if value.shape[axis] == 1:
            rows = np.ascontiguousarray(np.moveaxis(value, axis, 1)).reshape(
                (value.shape[0], 1, *(s for i, s in enumerate(value.shape) if i not in (0, axis)))
            )
            return lambda: rows[:, 0].reshape(self._target(rows[:, 0]))
        moved = np.moveaxis(value, axis, 0)
        return lambda: np.ascontiguousarray(moved[self.now]).reshape(self._target(moved[self.now]))

    @staticmethod
    def _target(row: NDArray[Any]) -> Shape4:
        # one of the axes is gone: put a leading one in its place, if there were three at most
        return (row.shape[0], *(1,) * (4 - row.ndim), *row.shape[1:])

    def stream(self, key: int) -> Stream:
        simplex = self.node.simplex
        first = len(self.shape4) - len(self.dims)
        axis = len(self.shape4) - 1 if simplex is None else first + self.dims.index(simplex)
        return Stream(stream_key(key, self.now), self.shape4, self.program.executor, axis)

    def splitters(self) -> dict[int, Splitter]:
        return {
            phase: Splitter(
                terms,
                self.dims,
                self.shape4,
                self.program.sizes,
                lambda factor: self.read(self.operand(factor)),
                lambda f: f.previous or f.name in self.program.wiring.sources,
                self.term,
                self.program.executor,
            )
            for phase, terms in self.terms.items()
            if terms
        }

    def quantities(self, names: Any) -> dict[str, Callable[[], Any]]:
        """The named quantities, except the node's own slot, row by row."""
        return {
            name: self.shape
            if name == self.slot
            else self.at_row(self.program.quantity(self.node, name))
            for name in names
        }
