"""Sums of products: what drops out, what is repeated, what is left."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import Gamma, Network, Poisson, Self, Shift
from pgbn.network.sumproduct import (
    ConstantArray,
    FirstRow,
    NodeValue,
    Operand,
    PreviousRow,
    RuleExposure,
    SumProduct,
    first_row,
    in_words,
    operand_of,
    reduce_product,
)
from pgbn.network.terms import ALWAYS, FIRST, Factor, Polynomial, Term


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
    ("product", "one"),
    [
        (reduce_product(1.0, [PHI, PI], ("topic", "term")), True),
        (reduce_product(2.0, [], ()), False),
        (reduce_product(1.0, [], ("doc",)), False),
        (reduce_product(1.0, [DELTA], ()), False),
    ],
)
def test_is_one(product: SumProduct, one: bool) -> None:
    assert product.is_one is one


@pytest.mark.parametrize(
    ("products", "words"),
    [
        ([reduce_product(1.0, [], ())], "1"),
        ([reduce_product(2.0, [THETA], ("doc",))], "Σ_doc 2 · theta"),
        ([reduce_product(1.0, [DELTA], ("topic",))], "size of topic · delta"),
        ([reduce_product(1.0, [DELTA], ()), reduce_product(0.5, [], ())], "delta + 0.5"),
        (
            [reduce_product(1.0, [RuleExposure(name="theta", dims=("doc",), slot="shape")], ())],
            "exposure(theta.shape)",
        ),
    ],
)
def test_in_words(products: list[SumProduct], words: str) -> None:
    assert in_words(products) == words


def test_operands_of_factors() -> None:
    constant = operand_of(Factor("constant", ("doc",), constant=np.array([1.0, 2.0])))
    assert isinstance(constant, ConstantArray)
    assert constant.value.tolist() == [1.0, 2.0]
    value = operand_of(Factor("theta", ("d", "k"), ("doc", "topic"), simplex=("k",)))
    assert isinstance(value, NodeValue)
    assert (value.name, value.dims, value.own_dims) == ("theta", ("d", "k"), ("doc", "topic"))
    assert value.simplex == ("k",)
    owner = Gamma("theta", Shift(Self(), along="t", initial=1.0), 1, dims="t")
    before = operand_of(Factor("self", ("t",), ("t",), previous=True), owner)
    assert isinstance(before, PreviousRow)
    assert before.name == "theta"


def test_the_initial_value_counts_in_the_first_row() -> None:
    theta = Gamma("theta", Shift(Self(), along="t", initial=1.0) + 0.5, 1, dims="t")
    assert Network(Poisson("x", theta, dims="t"))
    polynomial = Polynomial((Term(1.0, (), phase=FIRST), Term(0.5, (), phase=ALWAYS)), "t")
    (mark,) = first_row(theta, polynomial, polynomial.terms[0])
    assert isinstance(mark, FirstRow)
    assert mark.dims == ("t",)
    assert first_row(theta, polynomial, polynomial.terms[1]) == ()


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
