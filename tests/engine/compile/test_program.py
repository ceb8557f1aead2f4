"""The program: slots, counts and exposures of a network, as functions on its arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pgbn import BetaOdds, Dirichlet, Gamma, Network, Poisson, PoissonGamma, zoo
from pgbn.engine.compile.program import Program
from pgbn.network.sumproduct import NodeValue, reduce_product

X = np.array([[3, 0, 1], [2, 4, 0]])
PHI = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
THETA = np.array([[1.0, 2.0], [0.5, 4.0]])
R = np.array([1.5, 2.5])
C = np.array([0.5, 2.0])
M = np.array([[2, 2], [1, 5]])  # counts that θ hears


@pytest.fixture
def program() -> Program:
    """x ~ Pois(φ·θ), θ ~ Gam(r, c), c = (1 − p)/p, at known values."""
    phi = Dirichlet("phi", 0.5, over="term", dims="topic")
    theta = Gamma(
        "theta",
        Gamma("r", 1, 1, dims="topic"),
        BetaOdds("c", 1, 1, dims="doc"),
        dims=("doc", "topic"),
    )
    network = Network(Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 2})
    init = {"phi": PHI, "theta": THETA, "r": R, "c": C}
    program = network.chain({"x": X}, init=init, layer1="composed").program
    program.counts["x", "theta"] = M[None]
    return program


def whole(program: Program, node: str, found: Any) -> NDArray[Any]:
    """A quantity beside a node, spread over the whole of it."""
    return np.broadcast_to(found.get(), program.shape4[node]).reshape(program.shape[node][1:])


def test_shapes(program: Program) -> None:
    assert program.storage["phi"] == ("term", "topic")
    assert program.shape["phi"] == (1, 3, 2)
    assert program.shape4["phi"] == (1, 1, 3, 2)
    assert program.shape4["r"] == (1, 1, 1, 2)
    assert program.storage["x"] == ("doc", "term")


def test_slots(program: Program) -> None:
    np.testing.assert_allclose(whole(program, "x", program.slot("x", "rate")), THETA @ PHI)
    assert whole(program, "theta", program.slot("theta", "shape")).tolist() == [[1.5, 2.5]] * 2
    assert program.slot("theta", "rate").dims == {"doc"}
    assert program.slot("r", "rate").is_number


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("theta", np.ones((2, 2))),  # Σ_v φ_vk
        ("phi", np.broadcast_to(THETA.sum(axis=0), (3, 2))),
        ("r", np.broadcast_to(np.log1p(1 / C).sum(), 2)),  # Σ_j ln(1 + q_j/c_j)
        ("c", np.full(2, R.sum())),
    ],
)
def test_exposures(program: Program, name: str, expected: NDArray[Any]) -> None:
    found = program.exposure(name)
    np.testing.assert_allclose(whole(program, name, found), expected)
    assert program.exposure(name) is found  # compiled once


def test_counts(program: Program) -> None:
    assert whole(program, "theta", program.received_count("theta")).tolist() == M.tolist()
    # p^m of a negative binomial: all counts of a document, handed on
    assert whole(program, "c", program.received_count("c")).tolist() == M.sum(axis=1).tolist()
    with pytest.raises(AssertionError, match="sparse"):
        program.received_count("x")


def test_what_a_rule_may_name(program: Program) -> None:
    theta, x = program.network["theta"], program.network["x"]
    program.latent_counts["x"] = program.cells["x"].values * 10
    expected = {"value": THETA, "count": M, "exposure": np.ones((2, 2)), "rate": C[:, None]}
    for name, value in expected.items():
        found = whole(program, "theta", program.quantity(theta, name))
        np.testing.assert_allclose(found, np.broadcast_to(value, (2, 2)))
    assert whole(program, "x", program.quantity(x, "value")).tolist() == X.tolist()
    assert whole(program, "x", program.quantity(x, "count")).tolist() == (10 * X).tolist()


def test_a_slot_at_the_cells_of_the_data(program: Program) -> None:
    found = program.at_cells(program.network["x"], "rate", program.cells["x"])
    assert found.shape == (1, 1, 4, 1)
    np.testing.assert_allclose(found.reshape(-1), (THETA @ PHI)[X > 0])


def test_from_beside_a_node_back_to_its_dims(program: Program) -> None:
    theta = program.network["theta"]
    rate = program.labelled(theta, program.slot("theta", "rate"))
    assert (rate.dims, rate.get().tolist()) == (("doc",), [C.tolist()])
    number = program.labelled(program.network["r"], program.slot("r", "rate"))
    assert number.value == 1.0


def test_sums_of_a_value_are_kept_until_it_is_drawn_again(program: Program) -> None:
    own = NodeValue(name="theta", dims=("doc", "topic"), own_dims=("doc", "topic"))
    total = program.product(reduce_product(2.0, [own], ("topic",)))
    np.testing.assert_allclose(total.get(), [2 * THETA.sum(axis=1)])
    program.keep_total("theta", "topic", np.array([[10.0, 20.0]]))
    assert total.get().tolist() == [[20.0, 40.0]]  # told on the way
    program.values["theta"] = program.values["theta"] * 3
    np.testing.assert_allclose(total.get(), [6 * THETA.sum(axis=1)])


def test_sums_of_data(program: Program) -> None:
    own = NodeValue(name="x", dims=("doc", "term"), own_dims=("doc", "term"))
    total = program.product(reduce_product(0.5, [own], ("doc",)))
    assert total.get().tolist() == [(X.sum(axis=0) / 2).tolist()]


def test_the_simplex_of_a_stream(program: Program) -> None:
    """φ lies as (term, topic) in memory, and sums to one over the terms."""
    assert program.stream("phi", 1).simplex == 2
    assert program.stream("theta", 1).simplex == 3
    assert program.stream("phi", 1).shape == (1, 1, 3, 2)


def test_who_tells_a_node(program: Program) -> None:
    assert program.received_from("theta") == ("Poisson.rate of x",)
    assert not program.is_in_time("theta")
    chain = zoo.gamma_markov_chain(2).generate(sizes={"time": 3, "term": 2})
    assert zoo.gamma_markov_chain(2).chain({"x": chain["x"]}).program.is_in_time("theta")


def test_unknown_cells_speak_to_their_own_slot_only() -> None:
    network = Network(PoissonGamma("y", Gamma("a", 1, 1), Gamma("noise", 1, 1), dims="i"))
    data = np.ma.masked_array([1.5, 9.0, 0.5], [False, True, False])
    program = network.chain({"y": data}).program
    told = np.ones((1, 1, 1, 3))
    assert program.known_only(network["y"], "rate", told) is told
    assert program.known_only(network["y"], "noise", told).reshape(-1).tolist() == [1, 0, 1]
