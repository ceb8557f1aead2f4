"""The operators build what they say: numbers against numpy, dims by name, and what has no update is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import (
    Constant,
    Dirichlet,
    Gamma,
    Mix,
    Network,
    NetworkError,
    PgbnError,
    Poisson,
    Product,
    Rename,
    Self,
    Shift,
    Sum,
)
from pgbn.engine.compile.program import Program
from pgbn.nodes.expression import Expression
from tests.helpers.refusals import Case, check_refused

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


def check(expression: Expression, formula: str, names: list[str], factor: float = 1.0) -> None:
    rate, values = value_of(expression)
    expected = np.einsum(formula, *(values[name] for name in names), np.ones((3, 4))) * factor
    np.testing.assert_allclose(rate, expected, rtol=1e-12)


# d: doc, t: term, k: topic, o: other; the last operand spreads the value over doc × term
def test_mix() -> None:
    check(gamma("a", "topic", "term") @ gamma("b", "doc", "topic"), "kt,dk,dt->dt", ["a", "b"])


def test_mix_does_not_depend_on_the_order_of_dims_or_factors() -> None:
    check(gamma("a", "term", "topic") @ gamma("b", "topic", "doc"), "tk,kd,dt->dt", ["a", "b"])
    check(gamma("b", "doc", "topic") @ gamma("a", "topic", "term"), "dk,kt,dt->dt", ["b", "a"])


def test_a_shared_dim_of_the_node_is_not_summed() -> None:
    check(
        gamma("a", "doc", "topic", "term") @ gamma("b", "doc", "topic"),
        "dkt,dk,dt->dt",
        ["a", "b"],
    )


def test_mix_of_a_dirichlet() -> None:
    phi = Dirichlet("phi", 0.5, over="term", dims="topic")
    check(phi @ gamma("b", "doc", "topic"), "kt,dk,dt->dt", ["phi", "b"])


def test_mix_of_three() -> None:
    core = gamma("core", "topic", "other")
    chain = gamma("a", "doc", "topic") @ core @ gamma("b", "other", "term")
    assert isinstance(chain, Mix)
    with pytest.raises(pgbn.NetworkError, match="no dim to sum"):
        value_of(gamma("a", "doc", "topic") @ gamma("b", "doc") @ gamma("c", "term"))
    whole = Mix(factors=(gamma("a", "doc", "topic"), core, gamma("b", "other", "term")))
    check(whole, "dk,ko,ot,dt->dt", ["a", "core", "b"])
    check(chain, "dk,ko,ot,dt->dt", ["a", "core", "b"])


def test_mix_over_a_named_dim() -> None:
    alone = Mix(factors=(gamma("a", "doc", "topic"),), over="topic")
    check(alone, "dk,dt->dt", ["a"])
    one = Mix(factors=(gamma("a", "doc", "topic"), gamma("b", "term")), over="topic")
    check(one, "dk,t,dt->dt", ["a", "b"])
    two = Mix(factors=(gamma("a", "topic", "other"), gamma("b", "topic")), over=("topic", "other"))
    check(two, "ko,k,dt->dt", ["a", "b"])


def test_mix_with_constants() -> None:
    weights = np.array([0.25, 4.0])
    rate, values = value_of(Constant(weights, dims="topic") @ gamma("a", "doc", "topic"))
    np.testing.assert_allclose(rate, np.repeat(values["a"] @ weights, 4).reshape(3, 4))


def test_product() -> None:
    check(gamma("a", "doc") * gamma("b", "term"), "d,t,dt->dt", ["a", "b"])
    check(gamma("a", "term") * gamma("b", "doc", "term") * gamma("c"), "t,dt,,dt->dt", list("abc"))


def test_numbers() -> None:
    check(gamma("a", "doc") * 2.5, "d,dt->dt", ["a"], 2.5)
    check(2 * gamma("a", "doc"), "d,dt->dt", ["a"], 2)
    check(gamma("a", "doc") / 4, "d,dt->dt", ["a"], 0.25)
    check(np.float32(0.5) * gamma("a", "doc") / np.int8(2), "d,dt->dt", ["a"], 0.25)


def test_sum() -> None:
    rate, values = value_of(gamma("a", "doc") + gamma("b", "term") + 0.5)
    np.testing.assert_allclose(rate, values["a"][:, None] + values["b"] + 0.5)
    rate, values = value_of(1 + gamma("a"))
    np.testing.assert_allclose(rate, np.full((3, 4), 1 + values["a"]))
    rate, values = value_of(sum([gamma("a", "doc"), gamma("b", "doc")], start=0.25))
    np.testing.assert_allclose(rate, np.repeat(values["a"] + values["b"] + 0.25, 4).reshape(3, 4))


def test_a_node_in_two_terms() -> None:
    a = gamma("a", "doc")
    rate, values = value_of(a + a * gamma("b", "term"))
    np.testing.assert_allclose(rate, values["a"][:, None] * (1 + values["b"]))


def test_products_of_sums_are_multiplied_out() -> None:
    a, b, c = gamma("a", "doc"), gamma("b", "term"), gamma("c", "doc", "term")
    rate, v = value_of((a + 2) * (b + c * 3))
    np.testing.assert_allclose(rate, (v["a"][:, None] + 2) * (v["b"] + 3 * v["c"]))


def test_mix_of_a_sum() -> None:
    phi, psi = gamma("phi", "topic", "term"), gamma("psi", "topic", "term")
    rate, v = value_of((phi + psi) @ gamma("b", "doc", "topic") / 2)
    np.testing.assert_allclose(rate, v["b"] @ (v["phi"] + v["psi"]) / 2)


def test_mix_times_factors() -> None:
    mix = gamma("a", "topic", "term") @ gamma("b", "doc", "topic")
    check(mix * gamma("c", "doc") * 3, "kt,dk,d,dt->dt", ["a", "b", "c"], 3)


def test_rename() -> None:
    a, b = gamma("a", "doc", "topic"), gamma("b", "other", "term")
    assert isinstance(a.rename(topic="other"), Rename)
    check(a.rename(topic="other") @ b, "dk,kt,dt->dt", ["a", "b"])


def test_rename_swaps_dims() -> None:
    """A square matrix against its own transpose: dims follow names, not positions."""
    square = gamma("s", "topic", "other")
    swapped = square.rename(topic="other", other="topic")
    left = gamma("a", "doc", "topic")
    right = gamma("b", "other", "term")
    plain, v = value_of(Mix(factors=(left, square, right)))
    np.testing.assert_allclose(plain, v["a"] @ v["s"] @ v["b"])
    turned, v = value_of(Mix(factors=(left, swapped, right)))
    np.testing.assert_allclose(turned, v["a"] @ v["s"].T @ v["b"])


def test_rename_of_an_expression() -> None:
    a, b, c = gamma("a", "doc", "topic"), gamma("b", "topic", "other"), gamma("c", "level", "term")
    rate, v = value_of((2 * a @ b).rename(other="level") @ c)
    np.testing.assert_allclose(rate, 2 * v["a"] @ v["b"] @ v["c"])


def test_constants_follow_their_names() -> None:
    table = np.arange(1.0, 13.0).reshape(4, 3)
    rate, values = value_of(Constant(table, dims=("term", "doc")) * gamma("a", "doc"))
    np.testing.assert_allclose(rate, table.T * values["a"][:, None])


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


def test_shift() -> None:
    shape, v = chain_slot(2 * Shift(Self(), along="time", initial=3.0), time=5)
    np.testing.assert_allclose(shape, 2 * np.concatenate([[3.0], v["theta"][:-1]]))


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


# ---- and their samplers are right ---------------------------------------------------------


def two(name: str, *dims: str) -> Gamma:
    return Gamma(name, 2, 2, dims=dims)


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
    assert str(Shift(Self(), along="time")) == "shift(self, along time)"
    assert repr(a) == "Gamma('a', shape=1, rate=1, dims=('doc',))"


def test_expressions_are_frozen_and_compared_by_identity() -> None:
    a, twin = gamma("a"), gamma("a")
    assert a == a
    assert a != twin
    assert len({a, twin}) == 2
    with pytest.raises(ValueError, match="frozen"):
        (a * 2).factors = ()
    with pytest.raises(ValueError, match="read-only"):
        Constant([1.0, 2.0]).value[0] = 5.0


def test_constants_are_copied() -> None:
    array = np.array([1.0, 2.0, 3.0])
    constant = Constant(array, dims="doc")
    array[0] = 100.0
    assert constant.value.tolist() == [1.0, 2.0, 3.0]
    assert array.flags.writeable


def test_numpy_numbers_on_the_left() -> None:
    assert str(np.float64(2) * A) == "a * 2"
    assert str(np.int64(2) + A) == "a + 2"
    assert str(np.array(2.0) * A) == "a * 2"


# ---- and what they refuse -----------------------------------------------------------------

REFUSED: dict[str, Case] = {
    "a dim twice in a constant": (
        lambda: Constant(np.ones((2, 2)), dims=("doc", "doc")),
        NetworkError,
        ["Constant: dims", "twice"],
    ),
    "/ node": (
        lambda: gamma("g") / gamma("h"),
        NetworkError,
        ["g /", "'h'", "division by a number"],
    ),
    "/ 0": (lambda: gamma("g") / 0, NetworkError, ["g / 0", "positive"]),
    "/ nan": (lambda: gamma("g") / float("nan"), NetworkError, ["g / nan", "positive"]),
    "/ inf": (lambda: gamma("g") / float("inf"), NetworkError, ["g / inf", "finite"]),
    "/ str": (lambda: gamma("g") / "a", NetworkError, ["g / 'a'"]),
    "number /": (lambda: 1 / gamma("g"), NetworkError, ["g", "division by a node"]),
    "-": (lambda: gamma("g") - 1, NetworkError, ["g", "no conjugate update", "@, +, *"]),
    "negation": (lambda: -gamma("g"), NetworkError, ["g", "no conjugate update"]),
    "**": (lambda: gamma("g") ** 2, NetworkError, ["g", "no conjugate update"]),
    "* str": (lambda: gamma("g") * "a", NetworkError, ["'a'", "give a number, a node"]),
    "+ None": (lambda: gamma("g") + None, NetworkError, ["None", "give a number, a node"]),
    "@ str": (lambda: gamma("g") @ "a", NetworkError, ["'a'", "give a number, a node"]),
    "* nan": (lambda: gamma("g") * float("nan"), NetworkError, ["nan", "finite"]),
    "array * node": (
        lambda: value_of(np.ones(3) * A @ B),
        PgbnError,
        ["rate", "needs as many names"],
    ),
    "array @ node": (lambda: value_of(np.ones(3) @ A), PgbnError, ["rate", "needs as many names"]),
    "array + node": (lambda: value_of(np.ones(3) + A), PgbnError, ["rate", "needs as many names"]),
    "array / node": (lambda: np.ones(3) / A, PgbnError, ["a:", "division by a node"]),
    "array - node": (lambda: np.ones(3) - A, PgbnError, ["a:", "made with @"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    check_refused(*REFUSED[name])
