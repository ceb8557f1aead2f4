"""The array behind each kind of operand of a sum of products.

One function a kind; what is special of nodes in time registers itself in `pgbn.engine.time`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, singledispatch
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled, labelled_number
from pgbn.engine.compile.products import mask_of
from pgbn.network.reads import Read
from pgbn.network.sumproduct import (
    ConstantArray,
    HeardCount,
    LookedUp,
    NodeValue,
    Operand,
    OperationPart,
    OperationValue,
    PairMask,
    RuleCount,
    RuleExposure,
)

if TYPE_CHECKING:
    from pgbn.engine.compile.program import Program


@singledispatch
def read_operand(operand: Operand, program: Program) -> Labelled:
    """The array behind an operand."""
    raise AssertionError(operand)


def dims_here(operand: NodeValue, program: Program) -> tuple[str, ...]:
    """The dims of a node's array, by the names that they have where it is read."""
    names = dict(zip(operand.own_dims, operand.dims, strict=True))
    return tuple(names[dim] for dim in program.storage[operand.name])


@read_operand.register(ConstantArray)
def _constant(operand: ConstantArray, program: Program) -> Labelled:
    array = np.array(operand.value, order="C")[None]  # ascontiguousarray gives a number a dim
    return Labelled(lambda: array, operand.dims, 1)


@read_operand.register(PairMask)
def _mask(operand: PairMask, program: Program) -> Labelled:
    # made when it is read: where pairs are many, nobody reads it
    made = cache(lambda: mask_of(operand, program.sizes))
    return Labelled(made, operand.dims, 1)


@read_operand.register(NodeValue)
def _value(operand: NodeValue, program: Program) -> Labelled:
    name, dims = operand.name, dims_here(operand, program)
    if name in program.cells:  # integers too, perhaps, but products are made of reals
        return Labelled(lambda: program.cells[name].dense().astype(np.float64), dims,
                        program.replicates)  # fmt: skip
    values = program.values
    return Labelled(lambda: values[name], dims, program.shape[name][0])


@read_operand.register(LookedUp)
def _looked_up(operand: LookedUp, program: Program) -> Labelled:
    whole = program.read(operand.whole)
    view = program.view(operand.lookups, whole.dims)
    names = dict(zip(operand.own_dims, operand.dims, strict=True))
    dims, get = tuple(names[dim] for dim in view.dims), whole.get
    last: list[Any] = [None, None]

    def seen() -> NDArray[Any]:
        # values are replaced, never changed in place: the same array looks the same
        array = get()
        if array is not last[0]:
            last[:] = array, view.take(array)
        return np.asarray(last[1])

    return Labelled(seen, dims, max(whole.replicates, len(view.place)))


@read_operand.register(OperationPart)
def _part(operand: OperationPart, program: Program) -> Labelled:
    return labelled_number(1.0)


@read_operand.register(OperationValue)
def _operation(operand: OperationValue, program: Program) -> Labelled:
    return replace(program.operations.of(operand.operation).value, dims=operand.dims)


@read_operand.register(HeardCount)
def _received(operand: HeardCount, program: Program) -> Labelled:
    return program.labelled(
        program.network.nodes[operand.name], program.received_count(operand.name)
    )


@read_operand.register(RuleCount)
def _count(operand: RuleCount, program: Program) -> Labelled:
    rule = program.wiring.rules[operand.name, operand.slot]
    assert callable(rule.count)
    child = program.network.nodes[operand.name]
    return program.computed(child, operand.slot, rule.count, rule.count_reads)


@read_operand.register(RuleExposure)
def _exposure(operand: RuleExposure, program: Program) -> Labelled:
    """What is passed on is kept until one of the nodes that it is made of is drawn again: that of
    a layer is asked for by all layers above it."""
    child, values = program.network.nodes[operand.name], program.values
    found = program.rule_exposure(child, operand.slot)
    reads = program.wiring.reads.of_exposure(child, operand.slot)
    plain = all(type(each) is Read and each.name in program.network.latent for each in reads)
    if found.value is not None or not plain or child.name in program.cells:
        return found
    names, get = sorted({each.name for each in reads}), found.get
    last: list[Any] = [(), None]

    def kept() -> NDArray[Any]:
        # values are replaced, never changed in place
        now = [values[name] for name in names]
        if not last[0] or any(r() is not value for r, value in zip(last[0], now, strict=True)):
            last[:] = [ref(value) for value in now], get()
        return np.asarray(last[1])

    return replace(found, get=kept)
