"""A node in time, seen row by row."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import Dirichlet, Gamma, Network, Poisson, Self, Shift
from pgbn.engine.compile.layout import Labelled
from pgbn.engine.steps.time import Rows

THETA = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])  # time × topic
PI = np.array([[0.25, 0.75], [0.5, 0.5]])  # previous × topic
NU = np.array([0.5, 1.5])


@pytest.fixture
def rows() -> Rows:
    """θ_t ~ Gam(Π θ_{t−1} + 0.1, 2), θ_0 = ν."""
    pi = Dirichlet("pi", 1.0, over="topic", dims="previous")
    before = Shift(
        pi @ Self(topic="previous"), along="time", initial=Gamma("nu", 1, 1, dims="topic")
    )
    theta = Gamma("theta", before + 0.1, 2.0, dims=("time", "topic"))
    x = Poisson("x", theta, dims=("time", "topic"))
    network = Network(x, sizes={"topic": 2, "previous": 2})
    init = {"theta": THETA, "pi": PI, "nu": NU}
    program = network.chain({"x": np.ones((3, 2), int)}, init=init).program
    return Rows(program, network["theta"])


def test_what_is_beside_a_row(rows: Rows) -> None:
    assert (rows.slot, rows.along, rows.length) == ("shape", "time", 3)
    assert rows.dims == ("topic",)
    assert rows.shape4 == (1, 1, 1, 2)


def test_the_terms_of_the_first_row_and_of_later_ones(rows: Rows) -> None:
    assert [[f.name for f in term.factors] for term in rows.terms[0]] == [["nu"], []]
    assert [[f.name for f in term.factors] for term in rows.terms[1]] == [["pi", "self"], []]
    assert set(rows.splitters()) == {0, 1}


def test_the_shape_of_every_row(rows: Rows) -> None:
    expected = [NU + 0.1, THETA[0] @ PI + 0.1, THETA[1] @ PI + 0.1]
    for now, shape in enumerate(expected):
        rows.now = now
        assert rows.phase == min(now, 1)
        np.testing.assert_allclose(np.ravel(rows.shape()), shape)


def test_a_quantity_at_the_current_row(rows: Rows) -> None:
    whole = Labelled(lambda: THETA[None], ("time", "topic"), 1)
    rows.now = 2
    found = rows.row(whole)
    assert (found.dims, found.get().tolist()) == (("topic",), [[5.0, 6.0]])
    other = Labelled(lambda: NU[None], ("topic",), 1)
    assert rows.row(other) is other  # it has no time


def test_quantities_of_a_rule_row_by_row(rows: Rows) -> None:
    found = rows.quantities(("value", "rate", "shape"))
    rows.now = 1
    assert found["value"]().reshape(-1).tolist() == [3.0, 4.0]
    assert found["rate"]() == 2.0
    np.testing.assert_allclose(np.ravel(found["shape"]()), THETA[0] @ PI + 0.1)


def test_every_row_has_a_stream_of_its_own(rows: Rows) -> None:
    keys = []
    for rows.now in range(3):
        stream = rows.stream(9)
        assert stream.shape == rows.shape4
        keys.append(stream.key)
    assert len(set(keys)) == 3
