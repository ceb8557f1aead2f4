"""The array behind each kind of operand."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.engine.compile.operands import dims_here, read_operand
from pgbn.engine.compile.program import Program
from pgbn.network.sumproduct import (
    ConstantArray,
    HeardCount,
    NodeValue,
    Operand,
    RuleCount,
    RuleExposure,
)


def test_whole_numbers_among_reals_are_multiplied_as_reals() -> None:
    noise = pg.Gamma("a", 4, 4) * pg.Gamma("b", 4, 4, dims="d")
    network = pg.Network(pg.PoissonGamma("x", pg.Gamma("th", 4, 4), noise, dims="d"))
    whole, reals = (network.chain({"x": x}).sweep() for x in ([0, 1, 2], [0.0, 1.0, 2.0]))
    assert whole.values["b"].tolist() == reals.values["b"].tolist()
    assert np.isfinite(whole.values["b"]).all()


# ---- one kind after another -----------------------------------------------------------------

X = np.array([[3, 0, 1], [2, 4, 0]])
INIT = {
    "phi": np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]),
    "theta": np.array([[1.0, 2.0], [0.5, 4.0]]),
    "r": np.array([1.5, 2.5]),
}


@pytest.fixture
def program() -> Program:
    phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
    theta = pg.Gamma("theta", pg.Gamma("r", 1, 1, dims="topic"), 2.0, dims=("doc", "topic"))
    x = pg.Poisson("x", phi @ theta, dims=("doc", "term"))
    network = pg.Network(x, sizes={"topic": 2})
    return network.chain({"x": X}, init=INIT, layer1="composed").program


def test_a_constant(program: Program) -> None:
    found = read_operand(ConstantArray(dims=("doc",), value=np.array([1.0, 2.0])), program)
    assert (found.dims, found.replicates) == (("doc",), 1)
    assert found.get().tolist() == [[1.0, 2.0]]


def test_the_value_of_a_node_in_its_order_in_memory(program: Program) -> None:
    operand = NodeValue(name="phi", dims=("k", "v"), own_dims=("topic", "term"))
    assert dims_here(operand, program) == ("v", "k")
    found = read_operand(operand, program)
    assert found.dims == ("v", "k")
    assert np.array_equal(found.get()[0], INIT["phi"].T)


def test_a_value_is_read_when_it_is_asked_for(program: Program) -> None:
    found = read_operand(NodeValue(name="r", dims=("topic",), own_dims=("topic",)), program)
    program.values["r"] = np.array([[7.0, 8.0]])
    assert found.get().tolist() == [[7.0, 8.0]]


def test_data_are_reals(program: Program) -> None:
    dims = ("doc", "term")
    found = read_operand(NodeValue(name="x", dims=dims, own_dims=dims), program).get()
    assert found.dtype == np.float64
    assert np.array_equal(found[0], X)


def test_the_count_that_a_node_hears(program: Program) -> None:
    program.counts["x", "theta"] = np.arange(4).reshape(1, 2, 2)
    found = read_operand(HeardCount(name="theta", dims=("doc", "topic")), program)
    assert found.get().tolist() == [[[0, 1], [2, 3]]]


def test_the_exposure_of_a_rule(program: Program) -> None:
    """θ tells r the exposure ln(1 + q/c), with q = Σ_v φ_vk = 1 and c = 2: a number."""
    found = read_operand(RuleExposure(name="theta", dims=(), slot="shape"), program)
    assert found.value == pytest.approx(np.log1p(1 / 2))


def test_an_exposure_is_kept_until_what_it_is_made_of_is_drawn_again() -> None:
    """ln(1 + 1/c_j): computed once for all that ask, and anew once c has another value."""
    rate = pg.Gamma("c", 1, 1, dims="doc")
    theta = pg.Gamma("theta", pg.Gamma("r", 1, 1, dims="topic"), rate, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
    network = pg.Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 2})
    program = network.chain({"x": X}, layer1="composed").program
    found = read_operand(RuleExposure(name="theta", dims=("doc",), slot="shape"), program)
    first = found.get()
    np.testing.assert_allclose(first, np.log1p(1 / program.values["c"]))
    assert found.get() is first
    for value in (3.0, 5.0):
        program.values["c"] = np.full_like(program.values["c"], value)
        np.testing.assert_allclose(found.get(), np.log1p(1 / value))


def test_the_count_of_a_rule_that_draws_nothing() -> None:
    """A normal mean hears value / variance."""

    class Reading(pg.Observed):
        mean: pg.Slot
        variance: pg.Slot
        generate = lambda self, stream, **slots: np.zeros(stream.shape)  # noqa: E731

    pg.evidence_rule(Reading, "mean", relation="held", exposure=lambda variance: 1 / variance)(
        lambda value, variance: value / variance
    )
    network = pg.Network(Reading("y", mean=pg.Gamma("g", 1, 1), variance=4.0, dims="i"))
    program = network.chain({"y": [1.0, 6.0]}).program
    found = read_operand(RuleCount(name="y", dims=("i",), slot="mean"), program)
    assert found.dims == ("i",)
    assert found.get().tolist() == [[0.25, 1.5]]


def test_other_operands_have_no_array(program: Program) -> None:
    with pytest.raises(AssertionError):
        read_operand(Operand(name="r", dims=()), program)
