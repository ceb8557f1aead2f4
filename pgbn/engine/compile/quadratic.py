"""Draws of nodes in linear predictors, from the quadratic forms that they receive.

Every cell of a child sends the evidence exp(κψ − ½ωψ²) about its predictor ψ = Σ_d g_d x_d + rest.
D are the dims along which a node x is drawn jointly, B its other dims. The cells of a child that
belong to one entry of B are C:

    A[b] = Σ_c ω_bc g_bc g_bcᵀ,    b[b] = Σ_c (κ_bc − ω_bc rest_bc) g_bc,

which the rule of the node gets as ``exposure`` (R, B, D, D) and ``count`` (R, B, D), with its
slots and its value as (R, B, D).
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.products import Labelled, spread
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, Run, SlotCounts, maker
from pgbn.network.connections import Source, joint_dims
from pgbn.network.sumproduct import operand_of, reduce_product
from pgbn.nodes.base import Node
from pgbn.nodes.rules import Evidence
from pgbn.samplers.linear_regression import quadratic_form
from pgbn.samplers.random import Stream

Get = Callable[[], NDArray[np.float64]]


@maker("linear", SlotCounts)
def predictor_step(program: Program, task: SlotCounts) -> Run:
    """The function that draws the evidence of a node about its predictor: nothing is shared out."""
    node, slot = task.node, task.slot
    rule = program.wiring.rules[node.name, slot]
    count, shape = rule.count, program.shape4[node.name]
    assert callable(count)
    arguments = {name: program.quantity(node, name).get for name in rule.count_reads}

    def run(key: int) -> None:
        stream = program.stream(node.name, key)
        sent = count(stream=stream, **{name: get() for name, get in arguments.items()})
        assert isinstance(sent, Evidence)
        both = [np.broadcast_to(each, shape) for each in (sent.count, sent.exposure)]
        program.drawn[node.name, slot] = np.stack(both)

    return run


@maker("linear", Draw)
def joint_draw(program: Program, task: Draw) -> Run:
    """The function that draws a node from the quadratic form that it receives, given a key."""
    node, name = task.node, task.node.name
    layout = _Layout(program, node)
    children: dict[tuple[str, str], list[Source]] = {}
    for source in program.wiring.sources[name]:
        children.setdefault((source.child.name, source.slot), []).append(source)
    forms = [_Predictor(program, layout, sources) for sources in children.values()]
    function = program.wiring.draws[name].posterior
    needed = [each for each in signature(function).parameters if each != "stream"]
    slots = {each: program.quantity(node, each).get for each in needed
             if each not in ("count", "exposure")}  # fmt: skip

    def run(key: int) -> None:
        parts = [form.read() for form in forms]
        received = {
            "exposure": sum(part[0] for part in parts),
            "count": sum(part[1] for part in parts),
        }
        known = {each: layout.into(get()) for each, get in slots.items()} | received
        stream = Stream(key, (layout.replicates, 1, layout.batch, layout.size), program.executor)
        drawn = function(stream=stream, **{each: known[each] for each in needed})
        program.values[name] = layout.back(np.asarray(drawn, np.float64))

    return run


class _Layout:
    """The entries of a node as (R, B, D): the dims ``own`` apart, and ``joint``, each flattened."""

    def __init__(self, program: Program, node: Node) -> None:
        self.shape, self.shape4 = program.shape[node.name], program.shape4[node.name]
        stored = program.storage[node.name]
        self.joint = joint_dims(node, program.wiring.sources[node.name])
        self.own = tuple(dim for dim in stored if dim not in self.joint)
        self.order = (0, *(1 + stored.index(dim) for dim in (*self.own, *self.joint)))
        self.sizes = program.sizes
        self.replicates = self.shape[0]
        self.batch = prod(self.sizes[dim] for dim in self.own)
        self.size = prod(self.sizes[dim] for dim in self.joint)

    def into(self, aligned: Any) -> NDArray[np.float64]:
        """An array that is aligned with the node, as (R, B, D)."""
        whole = np.broadcast_to(np.asarray(aligned, np.float64), self.shape4).reshape(self.shape)
        turned = whole.transpose(self.order)
        return np.ascontiguousarray(turned).reshape(self.replicates, self.batch, self.size)

    def back(self, lines: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same the other way, as the values of a node are stored."""
        turned = lines.reshape([self.shape[axis] for axis in self.order])
        return np.ascontiguousarray(turned.transpose(np.argsort(self.order)))


class _Predictor:
    """The evidence of one slot of a child about a node: the quadratic form of its cells."""

    def __init__(self, program: Program, layout: _Layout, sources: list[Source]) -> None:
        self.program, self.layout, self.child = program, layout, sources[0].child
        self.slot, self.rule = sources[0].slot, sources[0].rule
        here = {own: dim for dim, own in sources[0].own.items()}
        self.stored = program.storage[self.child.name]
        self.batch = tuple(here[dim] for dim in layout.own)
        self.cells = tuple(dim for dim in self.stored if dim not in self.batch)
        # A joint dim that this predictor does not sum over is one of its cells: g is 1 on their
        # diagonal. The entries of the node have names of their own there.
        self.entries = {dim: f"{here[dim]}'" for dim in layout.joint}
        self.diagonal = {here[dim]: self.entries[dim] for dim in layout.joint
                         if here[dim] in self.cells}  # fmt: skip
        self.summed = {here[dim]: self.entries[dim] for dim in layout.joint
                       if here[dim] not in self.cells}  # fmt: skip
        within = {id(source.term) for source in sources}
        others = [term for term in sources[0].polynomial.terms if id(term) not in within]
        self.rest = [program.term(term) for term in others]
        self.design = [self._design(source) for source in sources]

    def read(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A and b."""
        count, exposure = self._evidence()
        for rest in self.rest:
            count = count - exposure * self._on_cells(rest)
        design = self.design[0]()
        for more in self.design[1:]:
            design = design + more()
        return quadratic_form(count, exposure, design, self.program.executor)

    def _evidence(self) -> tuple[Any, Any]:
        """κ and ω of (R, B, C)."""
        name, rule = self.child.name, self.rule
        if rule.is_random:
            sent: Any = self.program.drawn[name, self.slot]
            return self._turned(sent[0]), self._turned(sent[1])
        return self._turned(self._message(rule.count)), self._turned(self._message(rule.exposure))

    def _message(self, source: Any) -> Any:
        """The message of a rule, aligned with the child: a function, a name or a number."""
        if isinstance(source, str):
            return self.program.quantity(self.child, source).get()
        if not callable(source):
            return source
        names = signature(source).parameters
        return source(**{name: self.program.quantity(self.child, name).get() for name in names})

    def _turned(self, aligned: Any) -> NDArray[np.float64]:
        """An array that is aligned with the child as (R, B, C); 0 at the cells whose data are
        missing."""
        name, program = self.child.name, self.program
        found = program.without_missing(self.child, self.slot, aligned)
        whole = np.broadcast_to(np.asarray(found, np.float64), program.shape4[name])
        dims = tuple(1 + self.stored.index(dim) for dim in (*self.batch, *self.cells))
        turned = whole.reshape(program.shape[name]).transpose(0, *dims)
        return np.ascontiguousarray(turned).reshape(len(turned), self.layout.batch, -1)

    def _on_cells(self, part: Labelled) -> NDArray[np.float64]:
        """A quantity now as (R, B, C), spread over all cells."""
        dims, sizes = (*self.batch, *self.cells), self.program.sizes
        wide = spread(part.get(), part.dims, dims, sizes)
        full = np.broadcast_to(wide, (len(wide), *(sizes[dim] for dim in dims)))
        return np.ascontiguousarray(full).reshape(len(wide), self.layout.batch, -1)

    def _design(self, source: Source) -> Get:
        """g as (R or 1, B or 1, C or 1, D): what the node is multiplied by in a term."""
        term, program = source.term, self.program
        others = [operand_of(factor) for factor in term.factors if factor is not source.factor]
        over = [dim for dim in term.contracted if dim not in source.factor.dims]
        part = program.product(reduce_product(term.coefficient, others, over))
        entries = tuple(self.entries[dim] for dim in self.layout.joint)
        dims = (*self.batch, *self.cells, *entries)
        named = tuple(self.summed.get(dim, dim) for dim in part.dims)
        sizes = {**program.sizes, **{self.entries[d]: program.sizes[d] for d in self.layout.joint}}
        eyes = []
        for cell, entry in self.diagonal.items():
            shape = [sizes[dim] if dim in (cell, entry) else 1 for dim in dims]
            eyes.append(np.eye(sizes[cell]).reshape(1, *shape))

        def get() -> NDArray[np.float64]:
            wide = spread(part.get(), named, dims, sizes)
            for eye in eyes:
                wide = wide * eye
            return _flattened(wide, [self.batch, self.cells, entries], sizes)

        return get


def _flattened(
    wide: NDArray[np.float64], blocks: list[tuple[str, ...]], sizes: dict[str, int]
) -> NDArray[np.float64]:
    """The axes of each block of dims as one. It has size 1 if the array has none of them, except
    for the last block."""
    full, shape, axis = [len(wide)], [len(wide)], 1
    for number, block in enumerate(blocks):
        here = wide.shape[axis : axis + len(block)]
        axis += len(block)
        if number == len(blocks) - 1 or any(size != 1 for size in here):
            here = tuple(sizes[dim] for dim in block)
        full += here
        shape.append(prod(here))
    return np.ascontiguousarray(np.broadcast_to(wide, full)).reshape(shape)
