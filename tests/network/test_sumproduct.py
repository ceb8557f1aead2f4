"""Sums of products: what drops out, what is repeated, what is left."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.network.sumproduct import ConstantArray, Operand, reduce_product


def named(name: str, *dims: str, simplex: tuple[str, ...] = ()) -> Operand:
    return Operand(name=name, dims=dims, simplex=simplex)


PHI = named("phi", "topic", "term", simplex=("term",))
THETA = named("theta", "doc", "topic")
DELTA = named("delta", "doc")
PI = named("pi", "doc", "topic", simplex=("topic",))


@pytest.mark.parametrize(
    ("operands", "over", "left", "dims", "summed", "repeated"),
    [
        ([THETA], (), ["theta"], ("doc", "topic"), (), ()),
        ([THETA], ("topic",), ["theta"], ("doc",), ("topic",), ()),
        ([DELTA], ("topic",), ["delta"], ("doc",), (), ("topic",)),
        # Σ_v φ_kv = 1
        ([PHI, THETA], ("term",), ["theta"], ("doc", "topic"), (), ()),
        # not where something else has the dim: Σ_v φ_kv w_v
        ([PHI, named("w", "term")], ("term",), ["phi", "w"], ("topic",), ("term",), ()),
        # Σ_k π_jk Σ_v φ_kv = 1: the one drops out after the other
        ([PHI, PI], ("topic", "term"), [], (), (), ()),
        ([], ("doc",), [], (), (), ("doc",)),
    ],
)
def test_reduce_product(
    operands: list[Operand], over: tuple[str, ...], left: list[str], dims: tuple[str, ...],
    summed: tuple[str, ...], repeated: tuple[str, ...],
) -> None:  # fmt: skip
    found = reduce_product(2.0, operands, over)
    assert found.coefficient == 2.0
    assert [operand.name for operand in found.operands] == left
    assert (found.dims, found.summed, found.repeated) == (dims, summed, repeated)


@pytest.mark.parametrize(
    ("array", "over", "left", "repeated"),
    [
        ([[0.3, 0.5], [0.7, 0.5]], ("term",), 0, ()),
        ([[0.3, 0.5], [0.7, 0.5]], ("term", "topic"), 0, ("topic",)),
        ([[0.1, 0.2], [0.3, 0.4]], ("term", "topic"), 0, ()),
        ([[0.3, 0.5], [0.7, 0.6]], ("term",), 1, ()),
        ([[0.3, 0.7], [0.5, 0.5]], ("term",), 1, ()),
    ],
)
def test_constants_that_sum_to_one_drop_out(
    array: list[list[float]], over: tuple[str, ...], left: int, repeated: tuple[str, ...]
) -> None:
    constant = ConstantArray(dims=("term", "topic"), value=np.array(array))
    found = reduce_product(1.0, [constant], over)
    assert (len(found.operands), found.repeated) == (left, repeated)
    kept = reduce_product(1.0, [constant, named("w", "term")], over)
    assert len(kept.operands) == 2
