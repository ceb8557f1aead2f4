"""Where a chain begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn import DataError, NetworkError
from pgbn.engine.run.chain import begin_values
from tests.helpers.refusals import check_refused
from tests.helpers.small_data import X, run

Cases = dict[str, tuple[Callable[[], Any], list[str]]]

REFUSED: Cases = {
    "init name": (lambda: run(X, init={"thet": 1}), ["init: 'thet'", "theta1"]),
    "init data": (lambda: run(X, init={"x": X}), ["init: 'x'", "latent"]),
    "init shape": (lambda: run(X, init={"theta1": np.ones((3, 3))}), ["theta1", "(3, 3)"]),
    "init ndim": (lambda: run(X, init={"theta1": np.ones(3)}), ["theta1", "(3,)"]),
    "init negative": (
        lambda: run(X, init={"theta1": -np.ones((3, 2))}),
        ["theta1", "-1", "at least 0"],
    ),
    "init str": (lambda: run(X, init={"theta1": "a"}), ["theta1", "<U1", "numbers"]),
    "init complex": (lambda: run(X, init={"theta1": 1j * np.ones((3, 2))}), ["complex128"]),
    "init ragged": (lambda: run(X, init={"theta1": [[1], [1, 2]]}), ["theta1", "unequal"]),
    "init simplex": (
        lambda: run(X, init={"phi1": np.ones((2, 4))}),
        ["phi1", "sums to 4", "'term'"],
    ),
    "init": (lambda: run(X, init=3), ["init=3", "dict"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    check_refused(build, (DataError, NetworkError), words)


def test_nodes_begin_independently_and_within_bounds() -> None:
    a, b = (pg.Gamma(name, 0.01, 0.01, dims="doc") for name in "ab")
    network = pg.Network(pg.Poisson("x", a, dims="doc"), pg.Poisson("y", b, dims="doc"))
    ones = np.ones(50, int)
    values = network.chain({"x": ones, "y": ones}, threads=1).values
    assert (values["a"] != values["b"]).any()
    for value in values.values():
        assert value.min() >= 0.01
        assert value.max() <= 100


def test_odds_begin_within_bounds() -> None:
    odds = pg.zoo.pfa(2).chain({"x": np.ones((50, 3), int)}, threads=1).values["p2"]
    assert odds.min() >= 0.01
    assert odds.max() <= 100


def test_a_gate_begins_at_0_or_1() -> None:
    with pytest.raises(pg.DataError, match="gate is 0 or 1"):
        pg.zoo.gated_pfa(2).chain({"x": np.ones((2, 3))}, init={"h": np.full((2, 2), 0.5)})


def test_given_values_are_taken_and_others_drawn() -> None:
    theta = np.arange(6.0).reshape(3, 2)
    program = pg.zoo.pfa(2).chain({"x": X}, layer1="composed").program
    begin_values(program, 5, {"theta1": theta})
    assert program.values["theta1"].tolist() == [theta.tolist()]
    phi = program.values["phi1"]
    begin_values(program, 5, {"theta1": theta + 1})
    assert np.array_equal(program.values["phi1"], phi)  # drawn from streams of its own
    begin_values(program, 6, {})
    assert not np.array_equal(program.values["phi1"], phi)


def test_values_come_in_the_order_of_dims() -> None:
    """φ is (topic, term) for users and (term, topic) in memory."""
    phi = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
    chain = pg.zoo.pfa(2).chain({"x": X}, init={"phi1": phi})
    assert chain.values["phi1"].tolist() == phi.tolist()
    assert chain.program.values["phi1"].tolist() == [phi.T.tolist()]
