"""An observed node cell by cell: its slots, its log density and draws of complete rows.

The data are rows × columns (`Cells`). The computation for a block of rows covers this block alone.
An array of all documents × terms exists only if the caller asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pgbn.engine.compile.density import has_cell_density
from pgbn.engine.compile.products import splitter_of
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells
from pgbn.engine.plan import posterior_of
from pgbn.network.network import Network
from pgbn.nodes.base import Latent, Observed, draw_node
from pgbn.nodes.gamma import Gamma
from pgbn.samplers.random import Stream

_BLOCK = 2**20  # cells of a block of rows


def row_blocks(rows: int, columns: int) -> list[tuple[int, int]]:
    """Ranges of rows with about a million cells each."""
    step = max(1, _BLOCK // max(columns, 1))
    return [(start, min(rows, start + step)) for start in range(0, rows, step)]


def full_rows(
    dims: tuple[str, ...], shape: tuple[int, ...], start: int, stop: int, values: Any = None
) -> Cells:
    """Every cell of the rows ``start`` to ``stop`` of an array, and none of the others."""
    columns = shape[-1] if shape else 1
    per_row = np.zeros(prod(shape[:-1]) + 1, np.int64)
    per_row[start + 1 : stop + 1] = columns
    indices = np.tile(np.arange(columns, dtype=np.int32), stop - start)
    if values is None:
        values = np.zeros(indices.size, np.int64)
    return Cells(dims, shape, 1, np.cumsum(per_row), indices, values)


class ByCell:
    """The slots of an observed node at cells; the values are those that the program has now."""

    def __init__(self, program: Program, name: str) -> None:
        node = program.network.nodes[name]
        assert isinstance(node, Observed)
        self.program, self.node = program, node
        self.shape = tuple(program.sizes[dim] for dim in node.axes)
        self.rows, self.columns = prod(self.shape[:-1]), self.shape[-1] if self.shape else 1
        polynomials = program.wiring.polynomials
        self._splitters = {
            slot: splitter_of(program, node, slot)
            for slot in node.slots()
            if any(term.contracted for term in polynomials[name, slot].terms)
        }

    def slots(self, cells: Cells) -> dict[str, NDArray[np.float64]]:
        """The value of every slot at every cell."""
        return {slot: self.slot(slot, cells) for slot in self.node.slots()}

    def slot(self, slot: str, cells: Cells) -> NDArray[np.float64]:
        """The value of one slot at every cell."""
        if slot in self._splitters:
            return np.asarray(self._splitters[slot].rates(cells)).reshape(-1)
        return np.asarray(self.program.at_cells(self.node, slot, cells)).reshape(-1)

    def block(self, start: int, stop: int, data: Cells | None = None) -> Cells:
        """Every cell of some rows, with the values of the data where these are given."""
        values = None if data is None else _dense_rows(data, data.values, start, stop).reshape(-1)
        return full_rows(self.node.axes, self.shape, start, stop, values)

    def log_density(self, cells: Cells) -> NDArray[np.float64]:
        """log p(x) of every cell. If the node sums along its last dim and the cells are complete
        rows, log p of every row."""
        value = cells.values.astype(np.float64)
        slots: dict[str, Any] = self.slots(cells)
        if self.node.simplex is not None and not has_cell_density(self.node):
            shape = (-1, self.columns)
            known = {slot: each.reshape(shape) for slot, each in slots.items()}
            with np.errstate(divide="ignore"):
                found = self.node.log_density(value.reshape(shape), axis=1, **known)
            return np.asarray(
                np.broadcast_to(found, (value.size // self.columns, self.columns)).sum(axis=1)
            )
        with np.errstate(divide="ignore"):
            each = np.asarray(self.node.log_density_cells(value, **slots))
        if self.node.simplex is None:
            return each
        table = each.reshape(-1, self.columns)
        return np.asarray(table.sum(axis=1) + gammaln(value.reshape(table.shape).sum(axis=1) + 1.0))

    def generate(self, key: int, start: int, stop: int, data: Cells | None) -> NDArray[Any]:
        """New data for some rows, (rows, columns), drawn given the program's values. ``data``
        supply what the node reads from its data, for example N of Mult(N, p)."""
        cells, shape = self.block(start, stop, data), (1, 1, stop - start, self.columns)
        slots: dict[str, Any] = {slot: v.reshape(shape) for slot, v in self.slots(cells).items()}
        for slot in slots:  # a slot with one number per row is passed as such
            if self.node.axes and self.node.axes[-1] not in self.node.slot_axes(slot):
                slots[slot] = slots[slot][..., :1]
        if data is not None:
            from_data = self.node.told_by_data(cells.values.reshape(shape), 3)
            if from_data and not cells.values.any():
                return cells.values.reshape(shape[2:])  # rows without counts have none again
            slots |= from_data
        stream = Stream(key, shape, self.program.executor)
        return draw_node(self.node, stream, (stop - start, self.columns), slots)


def _dense_rows(cells: Cells, values: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
    """Some rows of sparse cells as a dense block."""
    first, last = cells.indptr[start], cells.indptr[stop]
    out = np.zeros((stop - start, cells.columns), values.dtype)
    rows = np.repeat(np.arange(stop - start), np.diff(cells.indptr[start : stop + 1]))
    out[rows, cells.indices[first:last]] = values[first:last]
    return out


def averaged_nodes(network: Network, name: str, slot: str) -> list[str]:
    """The nodes in a slot that can be replaced by their means given the counts, all at once."""
    terms = network.wiring.polynomials[name, slot].terms
    steps = {step.node: step for step in network.schedule if not step.upward}
    chosen: list[str] = []
    for each in dict.fromkeys(f.name for term in terms for f in term.factors if f.is_node):
        node = network.nodes.get(each)
        once = all(sum(f.name == each for f in term.factors) <= 1 for term in terms)
        known = isinstance(node, Latent) and type(node).expectation is not Latent.expectation
        if not (once and known and each in steps and each in network.wiring.draws):
            continue
        if each in network.wiring.completed:  # its law given the counts is no Dirichlet
            continue
        reads = {read.name for read in steps[each].reads}
        if not reads & set(chosen) and not any(
            each in {read.name for read in steps[other].reads} for other in chosen
        ):
            chosen.append(each)
    return chosen


def mixed_gamma(network: Network, name: str, slot: str) -> str | None:
    """The gamma node, if there is one, in which a slot is linear. The slot is then μ + Σ_k w_k θ_k,
    whose law given the counts has a closed form. If there are several, the first of those in most
    terms."""
    terms = network.wiring.polynomials[name, slot].terms
    most, chosen = 0, None
    for each in averaged_nodes(network, name, slot):  # one factor of a term at most
        own = [factor for term in terms for factor in term.factors if factor.name == each]
        plain = not any(factor.lookups for factor in own)
        if type(network.nodes[each]) is Gamma and plain and len(own) > most:
            most, chosen = len(own), each
    return chosen


class ConditionalMeans:
    """The parameters and means of some nodes of a program given its counts: Rao–Blackwell.

    With the counts z given, E[φ_vk | z] = (η + n_vk) / Σ_v (η + n_vk) and E[θ_kj | z, rest] =
    (a_kj + m_kj) / (c_j + q_j). A rate may be linear in each of several nodes. Its mean is the
    product of their means if the nodes are independent given z and the rest: none of their draws
    reads another of them.
    """

    def __init__(self, program: Program, names: list[str]) -> None:
        self.program, self.names = program, names
        self._posteriors = {
            name: posterior_of(program, program.network.nodes[name]) for name in names
        }

    def slots(self, name: str) -> dict[str, Any]:
        """The slots of a node given its counts."""
        program, node = self.program, self.program.network.nodes[name]
        updated: Mapping[str, Any] = self._posteriors[name]()
        own = {slot: updated[slot] if slot in updated else program.slot(name, slot).get()
               for slot in node.slots()}  # fmt: skip
        if node.sums_over:
            own["axis"] = program.stream(name, 0).simplex
        return own

    def full(self, name: str, value: Any) -> NDArray[np.float64]:
        """An array as the values of a node are stored."""
        shape = self.program.shape4[name]
        whole = np.array(np.broadcast_to(value, shape), np.float64)
        return whole.reshape(self.program.shape[name])

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """A context in which the program has the means in place of the values of the nodes."""
        values, before = self.program.values, dict(self.program.values)
        means = {}
        for name in self.names:
            node = self.program.network.nodes[name]
            assert isinstance(node, Latent)
            slots = self.slots(name)
            if node.sums_over:
                shape = self.program.shape4[name]
                slots |= {s: np.broadcast_to(v, shape) for s, v in slots.items() if s != "axis"}
            means[name] = self.full(name, node.expectation(**slots))
        values.update(means)
        try:
            yield
        finally:
            for name in self.names:
                if name in before:
                    values[name] = before[name]
                else:
                    del values[name]
