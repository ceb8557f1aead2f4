"""The exposure that every latent node hears, as a sum of products."""

from __future__ import annotations

import pytest

from pgbn import Constant, Gamma, Network, Poisson, Self, Shift, zoo
from pgbn.network.evidence import Exposures
from pgbn.network.sumproduct import RuleExposure, TimeExposure, in_words
from tests.helpers.small_networks import gamma, poisson


def exposures_of(network: Network) -> Exposures:
    return Exposures(network.wiring.connections)


@pytest.mark.parametrize(
    ("name", "words", "dims"),
    [
        ("theta1", "1", set()),  # Σ_v φ_vk
        ("phi1", "Σ_doc theta1", {"topic1"}),
        ("theta2", "exposure(theta1.shape)", {"doc"}),  # Σ_k φ_kl = 1 drops out
        ("phi2", "Σ_doc exposure(theta1.shape) · theta2", {"topic2"}),
        ("p2", "Σ_topic2 theta2", {"doc"}),
        ("c3", "Σ_topic2 theta2", {"doc"}),
        ("r", "Σ_doc exposure(theta2.shape)", set()),
        ("c0", "Σ_topic2 r", set()),
        ("gamma0", "0.5 · size of topic2 · exposure(r.shape)", set()),
    ],
)
def test_exposures_of_a_belief_network(name: str, words: str, dims: set[str]) -> None:
    exposures = exposures_of(zoo.pgbn([3, 2]))
    assert in_words(exposures.received(name)) == words
    assert exposures.received_dims(name) == dims


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (gamma("a"), "size of doc · size of term"),
        (3.0 * gamma("a"), "3 · size of doc · size of term"),
        (gamma("a", dims="doc") * gamma("b", dims="term"), "Σ_term b"),
        (gamma("a", dims="doc") + gamma("b", dims="term"), "size of term"),
        (gamma("a", dims=("doc", "k")) @ gamma("b", dims=("k", "term")), "Σ_term b"),
    ],
)
def test_exposures_of_a_poisson_rate(rate: Gamma, words: str) -> None:
    assert in_words(exposures_of(poisson(rate)).received("a")) == words


def test_dims_of_slots_and_rules() -> None:
    network = zoo.pgbn([3, 2])
    exposures = exposures_of(network)
    assert exposures.slot_dims(network["theta1"], "shape") == {"doc", "topic1"}
    assert exposures.slot_dims(network["theta2"], "shape") == {"topic2"}
    assert exposures.slot_dims(network["gamma0"], "shape") == set()
    # ln(1 + q/c): of the exposure (none) and of the rates (of documents)
    assert exposures.rule_dims(network["theta1"], "shape") == ("doc",)
    operand = exposures.rule_operand(network["theta1"], "shape")
    assert type(operand) is RuleExposure
    assert (operand.name, operand.slot, operand.dims) == ("theta1", "shape", ("doc",))


def test_rows_of_a_recursion_pass_their_exposure_back() -> None:
    """ζ_t = ln(1 + (1 + w_k ζ_{t+1}) / c): its dims are those of the recursion and of the weights."""
    weights = Constant([1.0, 2.0], dims="k")
    for step, dims in ((Self(), ("t",)), (weights * Self(), ("t", "k"))):
        theta = Gamma("theta", Shift(step, along="t", initial=1.0), 1, dims=("t", "k"))
        network = Network(Poisson("x", theta, dims=("t", "k")))
        operand = exposures_of(network).rule_operand(theta, "shape")
        assert isinstance(operand, TimeExposure)
        assert operand.dims == dims


def test_counts_that_are_computed_when_they_are_read() -> None:
    """The rate of a gamma hears its shape: of gamma0 / 2, as often as there are topics."""
    network = zoo.pgbn([3, 2])
    exposures = exposures_of(network)
    (source,) = network.wiring.sources["c0"]
    assert in_words(exposures.source_count(source)) == "0.5 · size of topic2 · gamma0"
    (source,) = network.wiring.sources["p2"]  # p^m: the counts that θ¹ hears
    assert in_words(exposures.source_count(source)) == "Σ_topic1 theta1"


def test_a_slot_times_other_operands() -> None:
    network = zoo.pgbn([3, 2])
    products = exposures_of(network).named_sum("shape", network["theta1"], ("topic1",))
    assert in_words(products) == "Σ_topic2 theta2"  # Σ_k φ_kl θ_l
    value = exposures_of(network).named_sum("value", network["theta1"], ("doc",), coefficient=2.0)
    assert in_words(value) == "Σ_doc 2 · theta1"
