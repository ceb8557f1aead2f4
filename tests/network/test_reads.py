"""What a draw conditions on, and what it integrates out."""

from __future__ import annotations

import pytest

import pgbn
from pgbn import Network, PoissonGamma, zoo
from pgbn.network.reads import CountsRead, Read, Reads, counts_name
from tests.helpers.small_networks import gamma


def reads_of_pgbn() -> Reads:
    return zoo.pgbn([3, 2]).wiring.reads


def told(name: str, slot: str) -> CountsRead:
    return CountsRead(counts_name(name), slot=slot)


def total(name: str, dim: str) -> Read:
    return Read(name, frozenset({dim}))


@pytest.mark.parametrize(
    ("name", "reads", "out"),
    [
        ("phi1", {told("x", "rate")}, set()),
        ("theta1", {told("x", "rate")}, set()),
        ("phi2", {told("theta1", "shape")}, {"theta1"}),
        ("theta2", {told("theta1", "shape"), Read("p2")}, {"theta1"}),
        ("p2", {told("x", "rate"), total("theta2", "topic2")}, {"theta1"}),
        ("c3", {total("r", "topic2"), total("theta2", "topic2")}, set()),
        ("r", {told("theta2", "shape"), Read("c3"), Read("p2")}, {"theta1", "theta2"}),
        (
            "gamma0",
            {told("r", "shape"), Read("c0"), Read("c3"), Read("p2")},
            {"r", "theta1", "theta2"},
        ),
        ("c0", {Read("gamma0"), total("r", "topic2")}, set()),
    ],
)
def test_evidence_of_a_belief_network(name: str, reads: set[Read], out: set[str]) -> None:
    found = reads_of_pgbn()
    assert found.of_evidence(name) == reads
    assert found.marginalised(name) == out


def test_a_value_and_its_drawn_counts_are_told_apart() -> None:
    assert counts_name("x") == "counts(x)"
    assert Read("counts(x)", slot="rate") != CountsRead("counts(x)", slot="rate")


def test_what_slots_and_counts_read() -> None:
    network = zoo.pgbn([3, 2])
    reads = network.wiring.reads
    assert reads.of_slot(network["theta1"], "shape") == {Read("phi2"), Read("theta2")}
    assert reads.of_slot(network["gamma0"], "shape") == set()
    assert reads.of_count("x") == {told("x", "rate")}
    assert reads.of_count("theta2") == {told("theta1", "shape")}
    assert reads.of_names(network["theta1"], ("value", "rate")) == {Read("theta1"), Read("p2")}


def test_a_recursion_reads_its_own_row_before() -> None:
    network = zoo.pgds(2)
    reads = network.wiring.reads
    assert reads.of_slot(network["theta"], "shape") == {Read("pi"), Read("nu"), Read("theta")}
    assert Read("theta") not in reads.of_exposure(network["theta"], "shape")


def test_draws_of_counts() -> None:
    draws = reads_of_pgbn().count_draws
    assert draws["phi1"] == []
    (tables,) = draws["theta2"]
    assert tables.slots == {"shape"}
    assert tables.received_by == tables.given == {"r"}
    assert tables.counts == {told("theta1", "shape")}


def test_both_slots_hear_of_the_counts_behind_reals() -> None:
    node = PoissonGamma("y", gamma("a"), gamma("noise"), dims="doc")
    unknown, behind = Network(node).wiring.reads.count_draws["y"]
    assert unknown.slots == behind.slots == {"rate", "noise"}
    assert unknown.given == set()
    assert behind.given == {"a", "noise"}


def test_a_known_array_that_rows_look_up_is_no_read() -> None:
    """Its place in a step would be that of a node called constant."""
    group = pgbn.Categories("group", dims="doc", of="team", values=[1, 0, 1])
    known = pgbn.Constant([0.5, 2.0], dims="team")
    scale = pgbn.Gamma("s", 1.0, 1.0, dims="team")
    network = pgbn.Network(
        pgbn.Poisson("x", (known * scale)[group], dims=("doc", "term")), sizes={"term": 2}
    )
    assert all(read.name != "constant" for step in network.schedule for read in step.reads)
