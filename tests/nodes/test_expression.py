"""The operators build what they say: numbers against numpy, dims by name, and what has no update is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import (
    Categories,
    Constant,
    Dirichlet,
    Gamma,
    Network,
    Poisson,
    Self,
    Shift,
    distinct,
    same,
)
from pgbn.engine.compile.program import Program
from pgbn.extend import Latent, Mix, Product, Sum
from pgbn.nodes.base import node_types
from pgbn.nodes.expression import Expression

SIZES = {"doc": 3, "term": 4, "topic": 2, "other": 2, "level": 2}


def gamma(name: str, *dims: str) -> Gamma:
    return Gamma(name, 1, 1, dims=dims)


A, B = gamma("a", "doc", "topic"), gamma("b", "topic", "term")


def slot_of(net: Network, name: str, slot: str, sizes: dict[str, int]) -> tuple[Any, Any]:
    """The value of a slot in the order of the node's dims, and the values that it is made from."""
    every = {**net.sizes, **sizes}
    values = net.generate(seed=5, sizes=sizes)
    program = Program(net, {}, every)
    for latent in net.latent:
        order = [net[latent].axes.index(dim) for dim in program.storage[latent]]
        program.values[latent] = np.array(values[latent].transpose(order), order="C")[None]
    stored = program.storage[name]
    full = tuple(every[dim] for dim in stored)
    found = np.asarray(program.slot(name, slot).get())
    array = np.broadcast_to(found, (1, *(1,) * (3 - len(full)), *full)).reshape(full)
    return array.transpose([stored.index(dim) for dim in net[name].axes]), values


def value_of(expression: Expression) -> tuple[Any, Any]:
    net = Network(Poisson("x", expression, dims=("doc", "term")))
    return slot_of(net, "x", "rate", {dim: SIZES[dim] for dim in net.dims})


W, TABLE = np.array([0.25, 4.0]), np.arange(1.0, 13.0).reshape(4, 3)
DOC, TERM, CELL = gamma("a", "doc"), gamma("b", "term"), gamma("c", "doc", "term")
CORE, OUT = gamma("core", "topic", "other"), gamma("b", "other", "term")
VALUES: dict[str, tuple[Expression, Callable[[dict[str, Any]], Any]]] = {
    "mix": (A @ B, lambda v: v["a"] @ v["b"]),
    "mix, other order": (B @ A, lambda v: v["a"] @ v["b"]),
    "mix, turned": (
        gamma("a", "term", "topic") @ gamma("b", "topic", "doc"), lambda v: (v["a"] @ v["b"]).T,
    ),
    "a shared dim of the node is not summed": (
        gamma("a", "doc", "topic", "term") @ gamma("b", "doc", "topic"),
        lambda v: np.einsum("dkt,dk->dt", v["a"], v["b"]),
    ),
    "mix of a Dirichlet": (
        Dirichlet("phi", 0.5, over="term", dims="topic") @ A, lambda v: v["a"] @ v["phi"],
    ),
    "mix of three": (Mix(factors=(A, CORE, OUT)), lambda v: v["a"] @ v["core"] @ v["b"]),
    "mix of a mix": (A @ CORE @ OUT, lambda v: v["a"] @ v["core"] @ v["b"]),
    "mix of one, over a dim": (Mix(factors=(A,), over="topic"), lambda v: v["a"].sum(1)[:, None]),
    "mix over a dim of one": (
        Mix(factors=(A, TERM), over="topic"), lambda v: v["a"].sum(1)[:, None] * v["b"],
    ),
    "mix over two dims": (
        Mix(factors=(CORE, gamma("b", "topic")), over=("topic", "other")),
        lambda v: (v["core"].sum(1) * v["b"]).sum(),
    ),
    "mix with constants": (Constant(W, dims="topic") @ A, lambda v: (v["a"] @ W)[:, None]),
    "mix of a sum": (
        (gamma("phi", "topic", "term") + gamma("psi", "topic", "term")) @ A / 2,
        lambda v: v["a"] @ (v["phi"] + v["psi"]) / 2,
    ),
    "mix times factors": (
        B @ A * gamma("c", "doc") * 3, lambda v: 3 * (v["a"] @ v["b"]) * v["c"][:, None],
    ),
    "product": (DOC * TERM * gamma("z"), lambda v: v["a"][:, None] * v["b"] * v["z"]),
    "numbers": (
        np.float32(0.5) * DOC / np.int8(2) * 3, lambda v: 0.75 * v["a"][:, None],
    ),
    "sum": (1 + DOC + TERM + 0.5, lambda v: v["a"][:, None] + v["b"] + 1.5),
    "sum of a list": (sum([DOC, TERM], start=0.25), lambda v: v["a"][:, None] + v["b"] + 0.25),
    "a node in two terms": (DOC + DOC * TERM, lambda v: v["a"][:, None] * (1 + v["b"])),
    "products of sums": (
        (DOC + 2) * (TERM + CELL * 3), lambda v: (v["a"][:, None] + 2) * (v["b"] + 3 * v["c"]),
    ),
    "rename": (A.rename(topic="other") @ OUT, lambda v: v["a"] @ v["b"]),
    "rename swaps dims": (
        Mix(factors=(A, CORE.rename(topic="other", other="topic"), OUT)),
        lambda v: v["a"] @ v["core"].T @ v["b"],
    ),
    "rename of an expression": (
        (2 * A @ CORE).rename(other="level") @ gamma("c", "level", "term"),
        lambda v: 2 * v["a"] @ v["core"] @ v["c"],
    ),
    "constants follow their names": (
        Constant(TABLE, dims=("term", "doc")) * DOC, lambda v: TABLE.T * v["a"][:, None],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_numpy(name: str) -> None:
    expression, expected = VALUES[name]
    rate, values = value_of(expression)
    np.testing.assert_allclose(rate, np.broadcast_to(expected(values), (3, 4)), rtol=1e-12)


def test_a_vector_of_concentrations_needs_no_name() -> None:
    phi = Dirichlet("phi", [0.5, 1, 2, 4], over="term", dims="topic")
    net = Network(Poisson("x", phi @ gamma("b", "doc", "topic"), dims=("doc", "term")))
    draws = net.generate(seed=1, sizes={"doc": 2, "topic": 40_000})["phi"]
    np.testing.assert_allclose(draws.mean(axis=0), np.array([0.5, 1, 2, 4]) / 7.5, atol=0.01)


# ---- chains -------------------------------------------------------------------------------


def chain_slot(shape: Expression, **sizes: int) -> tuple[Any, Any]:
    dims = tuple(dim for dim in ("time", "topic") if dim in sizes)
    net = Network(Poisson("x", Gamma("theta", shape, 1, dims=dims), dims=dims))
    return slot_of(net, "theta", "shape", sizes)


def test_shift_beside_other_terms() -> None:
    step = Shift(Self(), along="time", initial=gamma("nu", "topic")) * 3.0 + 0.5
    shape, v = chain_slot(step, time=4, topic=2)
    before = np.concatenate([v["nu"][None], v["theta"][:-1]])
    np.testing.assert_allclose(shape, before * 3.0 + 0.5)


def test_shift_of_a_mix() -> None:
    """PGDS: θ_t ~ Gam(Π θ_{t−1}); the columns of Π are named by the topic one step before."""
    pi = Dirichlet("pi", 0.5, over="topic", dims="previous")
    step = Shift(pi @ Self(topic="previous"), along="time", initial=gamma("nu", "topic"))
    shape, v = chain_slot(step, time=4, topic=3, previous=3)
    before = np.concatenate([v["nu"][None], v["theta"][:-1] @ v["pi"]])
    np.testing.assert_allclose(shape, before)


# ---- how they look ------------------------------------------------------------------------


def test_types_and_text() -> None:
    a, b = gamma("a", "doc"), gamma("b", "doc")
    assert isinstance(a @ b, Mix)
    assert isinstance(a * b, Product)
    assert isinstance(a / 2, Product)
    assert isinstance(a + b, Sum)
    assert str(a @ b) == "a @ b"
    assert str((a + b) * 2) == "(a + b) * 2"
    assert str(a / 4) == "a * 0.25"
    assert str(a + 1) == "a + 1"
    assert str(a * (a @ b)) == "a * (a @ b)"  # without brackets it would mean (a * a) @ b
    assert str(a @ (a * b)) == "a @ (a * b)"
    assert str((a @ b)[Categories("g", dims="doc", of="w")]) == "(a @ b)[g]"
    assert str(Mix(factors=(a,), over="doc")) == "Σ[doc] a"
    assert str(Shift(Self(), along="time")) == "shift(self, along time)"
    assert repr(a) == "Gamma('a', shape=1, rate=1, dims=('doc',))"
    both = a.rename(doc="i") * a.rename(doc="j")
    assert str(distinct(both, "i", "j")) == "[i < j] (a * a)"
    assert str(distinct(both, "i", "j", ordered=True)) == "[i ≠ j] (a * a)"
    assert str(same(a, "doc", "j")) == "[doc = j] (a)"
    author = Categories("author", dims="x", of="doc", values=[0.0, 2.0])
    assert str((a + b)[author]) == "(a + b)[author]"
    assert author.values.tolist() == [0, 2]


def test_expressions_are_frozen_and_compared_by_identity() -> None:
    a, twin = gamma("a"), gamma("a")
    assert a == a
    assert a != twin
    assert len({a, twin}) == 2
    with pytest.raises(ValueError, match="never change"):
        (a * 2).factors = ()
    array = np.array([1.0, 2.0])
    constant = Constant(array)
    array[0] = 100.0
    assert constant.value.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        constant.value[0] = 5.0


def test_arrays_on_the_left() -> None:
    a, array = gamma("a"), np.ones(2)
    assert isinstance(array * a, Product)
    assert isinstance(array + a, Sum)
    assert isinstance(array @ gamma("b", "topic"), Mix)
    assert str(np.float64(2) * a) == "a * 2"
    assert array != a


@pytest.mark.parametrize("name", ["a", "theta1", "1", "50_größe", "φ", "中", "_"])
def test_names(name: str) -> None:
    assert Gamma(name, 1, 1).name == name


def test_a_tag_stands_for_one_type() -> None:
    assert node_types()["gamma"] is Gamma
    with pytest.raises(
        pgbn.NetworkError,
        match=r"the tag 'gamma' of the node type .* is that of pgbn\.nodes\.gamma\.Gamma",
    ):
        type("Other", (Latent,), {"tag": "gamma"})
    assert node_types()["gamma"] is Gamma
