"""Exposures of a node in time, from the last row back to the first."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import Constant, Gamma, Network, Poisson, Self, Shift
from pgbn.engine.compile.operands import read_operand
from pgbn.engine.compile.program import Program
from pgbn.engine.steps.time import Rows, time_exposure, time_exposures
from pgbn.network.sumproduct import FirstRow, PreviousRow, TimeExposure
from pgbn.network.terms import FIRST, LATER

RATE = np.array([2.0, 3.0, 4.0])
THETA = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def program() -> Program:
    """θ_t ~ Gam(5 θ_{t−1}, c_t), θ_0 = ν; x_t ~ Pois(θ_t)."""
    before = Shift(5.0 * Self(), along="t", initial=Gamma("nu", 1, 1))
    theta = Gamma("theta", before, Gamma("c", 1, 1, dims="t"), dims="t")
    network = Network(Poisson("x", theta, dims="t"))
    init = {"c": RATE, "theta": THETA, "nu": 1.0}
    return network.chain({"x": [1, 2, 3]}, init=init).program


def by_hand() -> list[float]:
    """ζ_t = ln(1 + q_t / c_t) with q_t = 1 + 5 ζ_{t+1}."""
    zeta = [0.0] * 4
    for t in (2, 1, 0):
        zeta[t] = float(np.log1p((1.0 + 5.0 * zeta[t + 1]) / RATE[t]))
    return zeta[:3]


def test_rows_pass_their_exposure_back(program: Program) -> None:
    found = time_exposures(Rows(program, program.network["theta"]))
    np.testing.assert_allclose([np.asarray(each).item() for each in found], by_hand())


@pytest.mark.parametrize(
    ("phase", "rows"), [("", [1, 1, 1]), (FIRST, [1, 0, 0]), (LATER, [0, 1, 1])]
)
def test_a_phase_counts_in_its_rows(program: Program, phase: str, rows: list[int]) -> None:
    found = time_exposure(program, program.network["theta"], "shape", phase)
    assert found.dims == ("t",)
    np.testing.assert_allclose(found.get(), [np.array(by_hand()) * rows])


def test_the_beginning_hears_the_first_row(program: Program) -> None:
    np.testing.assert_allclose(np.ravel(program.exposure("nu").get()), [by_hand()[0]])


def test_a_mixture_of_the_row_before() -> None:
    """Σ_k π_lk ζ_k: every state hears of those that it leads to."""
    pi, rate = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([2.0, 8.0])
    before = Shift(Constant(pi, dims=("l", "k")) @ Self(k="l"), along="t", initial=1.0)
    theta = Gamma("theta", before, Gamma("c", 1, 1, dims="k"), dims=("t", "k"))
    network = Network(Poisson("x", theta, dims=("t", "k")), sizes={"k": 2})
    program = network.chain({"x": np.ones((2, 2), int)}, init={"c": rate}).program
    first, last = time_exposures(Rows(program, theta))
    zeta = np.log1p(1.0 / rate)
    np.testing.assert_allclose(np.ravel(last), zeta)
    np.testing.assert_allclose(np.ravel(first), np.log1p((1.0 + pi @ zeta) / rate))


def test_operands_of_nodes_in_time(program: Program) -> None:
    first = read_operand(FirstRow(name="theta", dims=("t",)), program)
    assert first.get().tolist() == [[1.0, 0.0, 0.0]]
    before = read_operand(PreviousRow(name="theta", dims=("t",), own_dims=("t",)), program)
    assert before.get().tolist() == [[0.0, 1.0, 2.0]]
    assert program.values["theta"].tolist() == [THETA.tolist()]  # left as it is
    passed = read_operand(TimeExposure(name="theta", dims=("t",), slot="shape"), program)
    np.testing.assert_allclose(passed.get(), [by_hand()])
