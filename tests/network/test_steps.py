"""The steps of a sweep: what each draws, reads and integrates out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pgbn
from pgbn.network.evidence import Read
from pgbn.network.steps import Step, steps_of
from pgbn.network.wiring import Wiring
from tests.helpers.models import pgbn as belief_network
from tests.helpers.normal_networks import belief


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


class Noisy(pgbn.extend.Latent):
    """A layer whose counts are drawn given its value (no real distribution: for the check)."""

    level: pgbn.extend.Slot
    generate = log_density = lambda *_, **slots: np.ones(1)


pgbn.extend.draw_rule(Noisy)(lambda count, level: {"level": level + count})
pgbn.extend.evidence_rule(Noisy, "level", relation="given", exposure=1.0)(
    lambda stream, value: value
)


def test_counts_drawn_given_a_value_are_stale_once_it_is_redrawn() -> None:
    net = pgbn.Network(pgbn.Poisson("x", Noisy("noisy", level=pgbn.Gamma("g", 1, 1))))
    steps = {step.name: step for step in net.schedule}
    assert "noisy" in {read.name for read in steps["counts(noisy)"].reads}
    assert "counts(noisy)" in steps["noisy"].marginalises
    assert net.schedule.names.index("g") < net.schedule.names.index("noisy")
    with pytest.raises(pgbn.StaleReadError, match=r"g conditions on counts\(noisy\)"):
        net.with_order(["counts(x)", "counts(noisy)", "noisy", "g"])


def test_a_step_that_reads_less_leaves_others_to_be_drawn_on_demand() -> None:
    def without_theta(wiring: Wiring, step: Step) -> Step:
        if step.name != "counts(x)":
            return step
        return replace(step, reads=frozenset({Read("phi1")}), method="by hand")

    steps = steps_of(pgbn.zoo.pfa(3).wiring, without_theta)
    assert [name for name, step in steps.items() if step.on_demand] == ["theta1"]
    assert not any(step.on_demand for step in steps_of(pgbn.zoo.pfa(3).wiring).values())
    assert "counts(x) [by hand]: " in str(steps["counts(x)"])


def test_all_else_in_a_predictor_is_read() -> None:
    reads = {step.name: {read.name for read in step.reads} for step in belief().schedule}
    assert reads["w"] == {"b", "counts(h)", "g"}
    assert reads["b"] == {"w", "counts(h)", "g"}
    assert reads["g"] == {"w", "b", "counts(h)", "g", "pi"}  # bits begin from their value
    assert reads["counts(h)"] == {"w", "b", "g", "h"}


def test_joint_draws_are_local_along_their_other_dims() -> None:
    steps = {step.name: step for step in belief().schedule}
    assert steps["g"].local("doc")
    assert not steps["w"].local("doc")
    assert steps["w"].local("topic")


def test_a_recursion_reads_its_own_row_before() -> None:
    network = pgbn.zoo.pgds(2)
    reads = network.wiring.reads
    assert reads.of_slot(network["theta"], "shape") == {Read("pi"), Read("nu"), Read("theta")}
    assert Read("theta") not in reads.of_exposure(network["theta"], "shape")


def test_a_known_array_that_rows_look_up_is_no_read() -> None:
    """Its place in a step would be that of a node called constant."""
    group = pgbn.Categories("group", dims="doc", of="team", values=[1, 0, 1])
    known = pgbn.Constant([0.5, 2.0], dims="team")
    scale = pgbn.Gamma("s", 1.0, 1.0, dims="team")
    network = pgbn.Network(
        pgbn.Poisson("x", (known * scale)[group], dims=("doc", "term")), sizes={"term": 2}
    )
    assert all(read.name != "constant" for step in network.schedule for read in step.reads)
