"""Topics that are held while counts are drawn."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.engine.first_layer.blocked import Blocked, HeldTopics

PHI = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
N = np.array([[5, 0], [0, 3], [1, 1]])  # terms × topics


@pytest.fixture
def held() -> HeldTopics:
    x = np.array([[4, 1, 0], [1, 2, 2]])
    network = pgbn.zoo.pfa(2, eta=0.5)
    sampler = network.chain({"x": x}, init={"phi1": PHI}, layer1="blocked").sampler
    assert isinstance(sampler, Blocked)
    return sampler.topics_held


def phi_of(held: HeldTopics) -> np.ndarray:
    """Terms × topics, as shown to the program."""
    held.show()
    return held.layer.program.values["phi1"][0]


def test_they_begin_at_the_value_of_the_node(held: HeldTopics) -> None:
    np.testing.assert_allclose(phi_of(held), PHI.T)
    assert not held.n.any()


def test_they_are_drawn_given_their_counts(held: HeldTopics) -> None:
    """φ_k ~ Dir(η + n_k)."""
    held.n[0] = N
    total = np.zeros((3, 2))
    for key in range(4000):
        held.draw(key)
        phi = phi_of(held)
        np.testing.assert_allclose(phi.sum(axis=0), 1.0)
        total += phi / 4000
    np.testing.assert_allclose(total, (0.5 + N) / (1.5 + N.sum(axis=0)), atol=0.01)
    assert np.array_equal(held.layer.program.counts["x", "phi1"][0], N)


def test_a_draw_is_kept_as_its_key_until_the_counts_change(held: HeldTopics) -> None:
    held.n[0] = N
    held.draw(11)
    assert held.state()["key"] == 11
    held.counts_changed()
    assert set(held.state()) == {"value", "scale", "bound"}


@pytest.mark.parametrize("changed", [False, True])
def test_a_state_gives_the_same_topics(held: HeldTopics, changed: bool) -> None:
    held.n[0] = N
    held.draw(11)
    before = phi_of(held).copy()
    if changed:
        held.counts_changed()
    state = {name: array.copy() for name, array in held.state().items()}
    held.draw(12)
    assert not np.array_equal(phi_of(held), before)
    held.restore(state)
    assert np.array_equal(phi_of(held), before)


def test_a_state_of_another_size_is_refused(held: HeldTopics) -> None:
    with pytest.raises(pgbn.DataError, match="restore: 'value'"):
        held.restore({"value": np.ones((1, 2, 2))})
