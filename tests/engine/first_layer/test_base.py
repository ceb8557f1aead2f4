"""What the samplers of the first layer share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.engine.first_layer.base import FirstLayer, read_state
from pgbn.engine.first_layer.pattern import Pattern
from pgbn.engine.plan import SlotCounts
from pgbn.engine.steps.gamma_layers import fused_tables
from pgbn.errors import DataError
from pgbn.network.steps import steps_of
from tests.helpers.small_data import X
from tests.helpers.small_networks import topics_of_gammas


def test_labels_of_tokens_need_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 50_000)
    data = np.full((12, 9), 1000)
    with pytest.raises(DataError, match=r"x: labels of 108000 tokens would need .*'blocked'"):
        pgbn.zoo.pfa(3).chain({"x": data}, layer1="collapsed")
    assert pgbn.zoo.pfa(3).chain({"x": data}, layer1="blocked").sweep().sweeps == 1


@pytest.mark.parametrize(
    ("array", "shape", "below", "good"),
    [
        (np.array([0, 4]), (2,), 5, True),
        (np.array([0, 5]), (2,), 5, False),
        (np.array([-1, 4]), (2,), 5, False),
        (np.array([0.0, 4.0]), (2,), 5, False),
        (np.array([0, 4]), (3,), 5, False),
        (np.array([0.5, 2.0]), (2,), 0, True),
        (np.array([0.5, np.inf]), (2,), 0, False),
        (np.array([0.5, -1.0]), (2,), 0, False),
        (np.array([0.5, np.nan]), (2,), 0, False),
        (np.array([1, 2]), (2,), 0, False),
        (np.array([], np.int64), (0,), 5, True),
    ],
)
def test_arrays_of_a_state(array: Any, shape: tuple[int, ...], below: int, good: bool) -> None:
    """Integers below a bound, or finite reals from 0."""
    if good:
        assert np.array_equal(read_state({"n": array}, "n", shape, below), array)
    else:
        with pytest.raises(DataError, match="restore: 'n' of the state has the shape"):
            read_state({"n": array}, "n", shape, below)


def test_an_array_that_is_missing() -> None:
    with pytest.raises(DataError, match=r"'n' .* \(expected \(2,\)\)"):
        read_state({}, "n", (2,), 5)


def layer_of(network: pgbn.Network, **options: Any) -> FirstLayer:
    sampler = network.chain({"x": X}, layer1="blocked", **options).sampler
    assert sampler is not None
    return sampler


def test_the_sizes_of_a_first_layer() -> None:
    layer = layer_of(pgbn.zoo.pfa(2, eta=0.5))
    assert (layer.documents, layer.vocabulary, layer.topics) == (3, 4, 2)
    assert (layer.rows, layer.replicates, layer.eta) == (3, 1, 0.5)
    assert layer.m.shape == (3, 2)


def test_a_prior_that_documents_share_is_kept_once() -> None:
    layer = layer_of(pgbn.zoo.pfa(2), init={"r": [1.5, 2.5]})
    prior, share = layer.prior()
    assert prior.tolist() == [[1.5, 2.5]]
    assert share == 3


def test_a_prior_of_every_document_has_a_row_for_each() -> None:
    phi, theta = (
        np.array([[0.5, 0.5], [0.25, 0.75]]),
        np.array([[1.0, 2.0], [0.0, 4.0], [3.0, 1.0]]),
    )
    layer = layer_of(pgbn.zoo.pgbn([2, 2]), init={"phi2": phi, "theta2": theta})
    prior, share = layer.prior()
    np.testing.assert_allclose(prior, theta @ phi)
    assert share == 1


def test_scores_and_counts_have_a_row_for_each_document() -> None:
    theta = np.arange(6.0).reshape(3, 2)
    layer = layer_of(pgbn.zoo.pfa(2), init={"theta1": theta})
    assert layer.scores().tolist() == theta.tolist()
    layer.m[...] = 7
    layer.deliver()
    assert layer.program.counts["x", "theta1"].tolist() == [[[7, 7]] * 3]


def test_only_tables_with_the_rows_of_the_scores_follow() -> None:
    """φ2 is a gamma: its tables have a row a topic."""
    layer = layer_of(topics_of_gammas())
    program = layer.program
    joins = {}
    for name in ("theta1", "phi2"):
        part = fused_tables(program, SlotCounts(program.network[name], "shape"))
        assert part is not None
        joins[name] = layer.joins(part)
    assert joins == {"theta1": True, "phi2": False}


def two_views() -> pgbn.Network:
    """Two kinds of data of each document, whose layers meet in θ2."""
    r = pgbn.Gamma("r", 1.0, 1.0, dims="theme")
    top = pgbn.Gamma("theta2", shape=r, rate=1.0, dims=("doc", "theme"))

    def view(name: str) -> pgbn.Poisson:
        topic, term = f"topic_{name}", f"term_{name}"
        above = pgbn.Dirichlet(f"w_{name}", 0.5, over=topic, dims="theme")
        theta = pgbn.Gamma(f"theta_{name}", shape=above @ top, rate=1.0, dims=("doc", topic))
        phi = pgbn.Dirichlet(f"phi_{name}", 0.5, over=term, dims=topic)
        return pgbn.Poisson(name, rate=phi @ theta, dims=("doc", term))

    return pgbn.Network(view("x"), view("y"), sizes={"topic_x": 4, "topic_y": 3, "theme": 2})


@pytest.mark.parametrize("layer1", ["collapsed", "partial"])
def test_tables_that_hear_of_two_data_wait_for_both(layer1: str) -> None:
    """θ2 hears of θ_x and θ_y: its tables can follow neither row by row. In `trace` each step comes
    by itself."""
    rng = np.random.default_rng(0)
    data = {"x": rng.poisson(0.7, (60, 12)), "y": rng.poisson(0.7, (60, 9))}
    one, other = (two_views().chain(data, seed=1, layer1=layer1, threads=1) for _ in range(2))
    one.sweep(3)
    for _ in range(3):
        assert list(other.trace())
    for name, value in one.values.items():
        np.testing.assert_array_equal(value, other.values[name])


def test_what_a_sampler_need_not_say() -> None:
    step = steps_of(pgbn.zoo.pfa(2).wiring)["counts(x)"]
    assert (
        FirstLayer.revise(
            pgbn.zoo.pfa(2).wiring, Pattern("x", "phi1", "theta1", "shape", "topic1"), step
        )
        is step
    )
    assert FirstLayer.nanoseconds(np.ones(1, int), 1, 1, 1) == np.inf
