"""The steps of a sweep: what each draws, reads and integrates out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pgbn
from pgbn.network.reads import CountsRead, Read
from pgbn.network.steps import Stale, Step, is_current, steps_of
from pgbn.network.wiring import Wiring
from tests.helpers.models import pgbn as belief_network


def test_what_the_steps_of_a_deep_network_read_and_marginalise():
    steps = {step.name: step for step in belief_network(3).schedule}
    assert set(steps["gamma0"].marginalises) == {"r", "theta1", "theta2", "theta3"}
    assert set(steps["r"].marginalises) == {"theta1", "theta2", "theta3"}
    assert set(steps["p2"].marginalises) == {"theta1"}
    assert not steps["c3"].marginalises
    assert not steps["c0"].marginalises
    # drawing Φ² leaves Σ_k θ¹ current (the rates do not vary over k), and only that
    assert steps["phi2"].marginalises == {"theta1": frozenset({"topic1"})}
    summed = {read.name for read in steps["c3"].reads if read.summed}
    assert summed == {"theta2", "theta3"}


class Noisy(pgbn.Latent):
    """A layer whose counts are drawn given its value (no real distribution: for the check)."""

    level: pgbn.Slot
    generate = log_density = lambda *_, **slots: np.ones(1)


pgbn.draw_rule(Noisy)(lambda count, level: {"level": level + count})
pgbn.evidence_rule(Noisy, "level", relation="held", exposure=1.0)(lambda stream, value: value)


def test_counts_drawn_given_a_value_are_stale_once_it_is_redrawn() -> None:
    net = pgbn.Network(pgbn.Poisson("x", Noisy("noisy", level=pgbn.Gamma("g", 1, 1))))
    steps = {step.name: step for step in net.schedule}
    assert "noisy" in {read.name for read in steps["counts(noisy)"].reads}
    assert "counts(noisy)" in steps["noisy"].marginalises
    assert net.schedule.names.index("g") < net.schedule.names.index("noisy")
    with pytest.raises(pgbn.StaleReadError, match=r"g conditions on counts\(noisy\)"):
        net.with_order(["counts(x)", "counts(noisy)", "noisy", "g"])


@pytest.mark.parametrize(
    ("read", "stale", "current"),
    [
        (Read("theta"), {}, True),
        (Read("theta"), {"theta": frozenset()}, False),
        (Read("theta", frozenset({"topic"})), {"theta": frozenset({"topic"})}, True),
        (Read("theta", frozenset({"doc"})), {"theta": frozenset({"topic"})}, False),
        (Read("theta"), {"theta": frozenset({"topic"})}, False),
        (CountsRead("counts(x)", slot="rate"), {"counts(x)": frozenset({"rate"})}, True),
        (CountsRead("counts(x)", slot="noise"), {"counts(x)": frozenset({"rate"})}, False),
    ],
)
def test_is_current(read: Read, stale: Stale, current: bool) -> None:
    assert is_current(read, stale) is current


def test_names_and_order_of_the_steps() -> None:
    """Counts from the data up, then the values in the order of the graph."""
    steps = steps_of(pgbn.zoo.pgbn([3, 2]).wiring)
    assert list(steps) == [
        "counts(x)", "counts(theta1)", "counts(theta2)", "counts(r)",
        "phi1", "phi2", "gamma0", "c0", "r", "c3", "theta2", "p2", "theta1",
    ]  # fmt: skip
    assert [step.upward for step in steps.values()] == [True] * 4 + [False] * 9
    assert {step.node for step in steps.values()} >= {"x", "phi1"}


def test_a_step_that_reads_less_leaves_others_to_be_drawn_on_demand() -> None:
    def without_theta(wiring: Wiring, step: Step) -> Step:
        if step.name != "counts(x)":
            return step
        return replace(step, reads=frozenset({Read("phi1")}), method="by hand")

    steps = steps_of(pgbn.zoo.pfa(3).wiring, without_theta)
    assert [name for name, step in steps.items() if step.on_demand] == ["theta1"]
    assert not any(step.on_demand for step in steps_of(pgbn.zoo.pfa(3).wiring).values())
    assert "counts(x) [by hand]: " in str(steps["counts(x)"])


def test_text_of_a_step() -> None:
    step = Step("c", "c", False, frozenset({Read("r", frozenset({"k"})), Read("a")}), {}, "E")
    assert str(step) == "c: E\n      reads a, sum of r; marginalises -"
    assert "c [on demand]: E" in str(replace(step, on_demand=True))
    assert "marginalises theta" in str(replace(step, marginalises={"theta": frozenset()}))
