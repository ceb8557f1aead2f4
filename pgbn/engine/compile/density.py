"""The log density of the nodes of a program at its current values."""

from __future__ import annotations

from inspect import signature
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pgbn.engine.compile.products import splitter_of, spread
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, Run, maker
from pgbn.errors import DataError
from pgbn.network.wiring import coupled_dims, factors_of, names_in
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.rules import DENSITY, find_link, is_own


def log_density(program: Program, name: str, plate: str | None = None) -> NDArray[np.float64]:
    """The log density of a node given its slots: (R,) for every replicate or, along a ``plate``
    that the node has, (R, rows) for every row of each."""
    return density_over(program, name, () if plate is None else (plate,))


def density_over(program: Program, name: str, kept: tuple[str, ...]) -> NDArray[np.float64]:
    """The log density of a node given its slots, summed over all its dims but those ``kept``:
    (R, *kept)."""
    node = program.network.nodes[name]
    link = find_link(node)
    whole = isinstance(node, Observed) and node.simplex is not None and not has_cell_density(node)
    if isinstance(node, Observed) and link is not None and not whole:
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


def has_cell_density(node: Observed) -> bool:
    """Whether a type defines the density of its cells without the factorial of their total, as
    `Multinomial` does."""
    return type(node).log_density_cells is not Observed.log_density_cells


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
            own = spread(part.get(), part.dims, kept, program.sizes)
            total = total - exposure * np.broadcast_to(own, total.shape)
    if node.simplex is not None:
        sums = cells.total(value, node.dims)
        over = tuple(i for i, dim in enumerate(node.dims, 1) if dim not in kept)
        total = total + gammaln(sums + 1.0).sum(axis=over)
    return np.asarray(total)


# ---- kernel rules: new values that leave the conditional of a node invariant --------------------


@maker("composed", Draw)
def kernel_step(program: Program, task: Draw) -> Run | None:
    """The function that draws a latent node by its kernel rule, given a key."""
    node, name = task.node, task.node.name
    rule = program.wiring.draws[name]
    if not rule.kernel:
        return None
    function, needed = rule.posterior, signature(rule.posterior).parameters
    arguments = {each: program.quantity(node, each).get for each in rule.reads}
    known: dict[str, Any] = {} if rule.receives else {DENSITY: ConditionalDensity(program, node)}
    own = is_own(function)

    def run(key: int) -> None:
        given = {each: get() for each, get in arguments.items()} | known
        if "stream" in needed:
            given["stream"] = program.stream(name, key)
        drawn = function(**given)
        if own:
            _check_drawn(program, node, drawn)
        value = np.ascontiguousarray(drawn, np.float64)
        program.values[name] = value.reshape(program.shape[name])

    return run


def _check_drawn(program: Program, node: Node, drawn: Any) -> None:
    """Reject an array that is no value of a node."""
    rule, shape = (
        f"{node.name}: the kernel rule of {type(node).__name__}",
        program.shape4[node.name],
    )
    array = np.asarray(drawn)
    if array.dtype.kind not in "iufb" or array.size != prod(shape):
        what = f"an array of the shape {array.shape} and the type {array.dtype}"
        raise DataError(
            f"{rule} returned {what}; it must return the new value, numbers of the shape {shape}"
        )
    if np.isnan(array).any():
        raise DataError(f"{rule} returned NaN; are the numbers that it reads finite?")
    if program.replicates == 1 and isinstance(node, Latent):
        stored = array.reshape(program.shape[node.name])[0]
        order = [program.storage[node.name].index(dim) for dim in node.axes]
        complaint = node.refuses(stored.transpose(order))
        if complaint is not None:
            raise DataError(f"{rule} returned an impossible value of {node.name}: it {complaint}")


class ConditionalDensity:
    """ln p(value | slots) + Σ_children ln p(child | value, …), aligned with a node, up to a
    constant.

    One number for every entry. It is summed over the simplex of the node and over the axes
    ``coupled``, along which the array then has size 1: entries along these are not independent
    given the rest.
    """

    def __init__(self, program: Program, node: Node) -> None:
        assert isinstance(node, Latent)
        self.program, self.node, self.support = program, node, node.support
        connections, stored = program.wiring.connections, program.storage[node.name]
        coupled = coupled_dims(connections, node)
        first = len(program.shape4[node.name]) - len(stored)
        self.coupled = tuple(first + stored.index(dim) for dim in coupled)
        self.kept = tuple(dim for dim in stored if dim not in (*coupled, *node.sums_over))
        self._children = {
            child.name: tuple(names_in(factors_of(connections, node.name, child)[0])[dim]
                              for dim in self.kept)
            for child in connections.children[node.name].values()
        }  # fmt: skip

    def __call__(self, value: NDArray[Any]) -> NDArray[np.float64]:
        """The log conditional at a value, a 4-d array."""
        return self._at(value, True)

    def likelihood(self, value: NDArray[Any]) -> NDArray[np.float64]:
        """The same without ln p(value | slots)."""
        return self._at(value, False)

    def _at(self, value: NDArray[Any], prior: bool) -> NDArray[np.float64]:
        program, name = self.program, self.node.name
        before = program.values[name]
        program.values[name] = np.ascontiguousarray(value, np.float64).reshape(program.shape[name])
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                parts = [density_over(program, name, self.kept)] if prior else []
                parts += [density_over(program, *child) for child in self._children.items()]
                total = sum(parts[1:], parts[0])
        finally:
            program.values[name] = before
        stored = program.storage[name]
        sizes = (program.sizes[dim] if dim in self.kept else 1 for dim in stored)
        return np.asarray(total.reshape(-1, *(1,) * (3 - len(stored)), *sizes))
