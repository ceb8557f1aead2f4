"""Topics are numbered by weight, in all parts of a result, and a training continues as if not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError
from pgbn.training.numbering import numbered_as_in_chain, numbered_by_weight
from tests.helpers.saved import same_networks
from tests.helpers.short_training import QUICK, X

SETTINGS: dict[str, Any] = QUICK | {"keep_draws": 2, "average": 2, "min_width": 1}


@pytest.fixture(scope="module")
def training() -> pgbn.LayerwiseTraining:
    return pgbn.train_layerwise(X, (8, 5, 3), 3, **SETTINGS)


def test_topics_come_by_weight(training: pgbn.LayerwiseTraining) -> None:
    assert any(network.order for network in training)
    for network in training:
        for weight in network.weights:
            assert (np.diff(weight) <= 0).all()


def test_all_parts_have_the_same_numbers(training: pgbn.LayerwiseTraining) -> None:
    """Entries are followed by their values from the numbers of the chain to those by weight."""
    new = training.deepest
    old = numbered_as_in_chain(new)
    assert not old.order
    first, second, third = new.order
    for one, other in (
        (new.phi[0], old.phi[0][first]),
        (new.phi[1], old.phi[1][second][:, first]),
        (new.r, old.r[third]),
        (new.weights[1], old.weights[1][second]),
        (new.state["theta2"], old.state["theta2"][:, second]),
        (new.state["phi3"], old.state["phi3"][third][:, second]),
        (new.draws["phi2"], old.draws["phi2"][:, second][:, :, first]),
        (new.draws["r"], old.draws["r"][:, third]),
        (new.state["p2"], old.state["p2"]),
    ):
        np.testing.assert_array_equal(one, other)
    theta = new.state["theta1"]
    np.testing.assert_allclose(theta.sum(axis=0), new.weights[0])


def test_labels_stay_with_their_topics(training: pgbn.LayerwiseTraining) -> None:
    old = numbered_as_in_chain(training.deepest)
    labels = {(1, k): f"{old.phi[0][k].argmax()}" for k in range(old.widths[0])}
    new = numbered_by_weight(old.with_labels(labels))
    assert {(1, k): f"{new.phi[0][k].argmax()}" for k in range(new.widths[0])} == new.labels


def test_a_training_continues_with_the_numbers_of_the_chain(
    training: pgbn.LayerwiseTraining, tmp_path: Path
) -> None:
    """One layer at a time, saved in between, is bit-identical to all layers at once."""
    found = None
    for depth in (1, 2, 3):
        found = pgbn.train_layerwise(X, (8, 5, 3), depth, start_from=found, **SETTINGS)
        pgbn.save(found, tmp_path / str(depth))
        found = pgbn.load(tmp_path / str(depth))
    assert found is not None
    same_networks(found, replace(training, models=(*found.models[:-1], training.deepest)))
    for one, two in zip(found, training, strict=True):
        for t, phi in enumerate(one.phi):
            np.testing.assert_array_equal(phi, two.phi[t])


def test_rows_on_disk_are_numbered_too(tmp_path: Path) -> None:
    disk = pgbn.Disk(tmp_path, memory="1 MB", threads=1)
    options = {name: value for name, value in SETTINGS.items() if name != "threads"}
    many = np.tile(X, (2 * 4096 // len(X) + 1, 1))
    options |= {"burn_in": 1, "sweeps": 2, "trace_every": 0}
    one, two = (
        pgbn.train_layerwise(many, 17, 1, executor=each, **options).deepest
        for each in (pgbn.Threads(1), disk)
    )
    assert one.order
    assert many.shape[0] * 17 * 8 > 2**20 // 64, "large enough for a file"
    np.testing.assert_array_equal(one.state["theta1"], two.state["theta1"])
    np.testing.assert_array_equal(one.weights[0], two.weights[0])
    np.testing.assert_allclose(two.state["theta1"].sum(axis=0), two.weights[0])


@pytest.mark.parametrize(
    "wrong", [([0, 1],), ([0] * 8, [1] * 5, [2] * 3), ([0.5], [1], [2]), "abc"]
)
def test_an_order_names_each_topic_once(wrong: Any, training: pgbn.LayerwiseTraining) -> None:
    with pytest.raises(DataError, match="order must have the numbers 0 to K - 1"):
        replace(training.deepest, order=wrong)
