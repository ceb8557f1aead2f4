"""The log density of the nodes of a program at its current values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pgbn.engine.compile.composed import splitter_of
from pgbn.engine.compile.layout import Labelled
from pgbn.engine.compile.program import Program
from pgbn.nodes.base import Observed
from pgbn.nodes.rules.registry import find_link

__all__ = ["density_over", "log_density"]


def log_density(program: Program, name: str, plate: str | None = None) -> NDArray[np.float64]:
    """The log density of a node given its slots: (R,) for every replicate or, along a ``plate``
    that the node has, (R, rows) for every row of each."""
    return density_over(program, name, () if plate is None else (plate,))


def density_over(program: Program, name: str, kept: tuple[str, ...]) -> NDArray[np.float64]:
    """The log density of a node given its slots, summed over all its dims but those ``kept``:
    (R, *kept)."""
    node = program.network.nodes[name]
    link = find_link(node)
    if isinstance(node, Observed) and link is not None:
        rule = program.wiring.rules.get((name, link.slot))
        if rule is not None and isinstance(rule.exposure, (int, float)):
            return _data_density(program, node, link.slot, float(rule.exposure), kept)
    slots = {slot: program.slot(name, slot).get() for slot in node.slots()}
    if node.sums_over:
        slots["axis"] = program.stream(name, 0).simplex
    density = node.log_density(program.quantity(node, "value").get(), **slots)
    density = np.broadcast_to(density, program.shape4[name])
    cells = program.cells.get(name)
    if cells is not None and cells.missing is not None:
        known = ~cells.dense(cells.missing).reshape(program.shape4[name])
        density = np.where(known, density, 0.0)
    stored = program.storage[name]
    axes = [density.ndim - len(stored) + stored.index(dim) for dim in kept]
    sums = density.sum(axis=tuple(axis for axis in range(1, density.ndim) if axis not in axes))
    return np.asarray(sums.transpose(0, *(1 + sorted(axes).index(axis) for axis in axes)))


def _data_density(
    program: Program, node: Observed, main: str, exposure: float, kept: tuple[str, ...]
) -> NDArray[np.float64]:
    """Σ_cells of log p(x) without the zero cells, each of which has log p(0) = −q·rate."""
    cells = program.cells[node.name]
    splitter = splitter_of(program, node, main)
    known = np.ones(cells.values.size, bool) if cells.missing is None else ~cells.missing
    value = cells.values.astype(np.float64)
    rate = splitter.rates(cells).reshape(-1)
    slots = {slot: program.at_cells(node, slot, cells).reshape(-1)
             for slot in node.slots() if slot != main}  # fmt: skip
    slots[main] = rate
    each = node.log_density_cells(value, **slots) + exposure * rate
    each = np.where(known, each, exposure * rate)
    total = cells.total(each, kept)
    if exposure:
        summed = tuple(dim for dim in node.axes if dim not in kept)
        for product in program.wiring.exposures.named_sum(main, node, summed):
            part = program.product(product)
            beside = _in_order(part, kept, total.shape[1:])
            total = total - exposure * np.broadcast_to(beside, total.shape)
    if node.simplex is not None:
        sums = cells.total(value, node.dims)
        over = tuple(i for i, dim in enumerate(node.dims, 1) if dim not in kept)
        total = total + gammaln(sums + 1.0).sum(axis=over)
    return np.asarray(total)


def _in_order(part: Labelled, dims: tuple[str, ...], sizes: tuple[int, ...]) -> NDArray[Any]:
    """A quantity as an array of (R or 1, *dims), with size 1 along the dims that it lacks."""
    present = [dim for dim in dims if dim in part.dims]
    array = part.get().transpose(0, *(1 + part.dims.index(dim) for dim in present))
    shape = [size if dim in present else 1 for dim, size in zip(dims, sizes, strict=True)]
    return np.asarray(array.reshape(len(array), *shape))
