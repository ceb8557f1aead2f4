"""A first-layer sampler in two files outside the package: a class and its kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn.engine.first_layer import FirstLayer, choice
from pgbn.testing import geweke
from tests.helpers.models import pgbn as belief_network
from tests.helpers.own_sampler.plain import Plain

X = np.random.default_rng(0).poisson(1.0, (30, 20))


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_kinds", dict(choice._kinds))
    pgbn.register_sampler(Plain)


def test_it_is_found_by_name_and_never_by_itself() -> None:
    network = pgbn.zoo.pgbn([4, 3])
    assert network.chain({"x": X}, layer1="plain").layer1 == "plain"
    assert network.chain({"x": X}).layer1 == "collapsed"
    assert set(pgbn.time_samplers(network, {"x": X}, burn_in=1, sweeps=1)) == {
        "plain", "collapsed", "partial", "blocked",
    }  # fmt: skip
    with pytest.raises(pgbn.NetworkError, match="auto, collapsed, partial, blocked, plain"):
        network.chain({"x": X}, layer1="plane")


def test_it_draws_the_posterior() -> None:
    network = belief_network(2)
    result = geweke(network, {"doc": 3, "term": 3}, 4_000, 6, 1, "plain")
    assert result.worst < 4, result


def test_a_wrong_kernel_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plain, "scores", lambda self: np.ones((self.rows, self.topics)))
    result = geweke(belief_network(2), {"doc": 3, "term": 3}, 4_000, 6, 1, "plain")
    assert result.worst > 6


def test_the_same_bits_on_any_threads_and_after_saving(tmp_path: Path) -> None:
    network = pgbn.zoo.pgbn([4, 3])
    whole = network.chain({"x": X}, layer1="plain", threads=1).sweep(6)
    half = network.chain({"x": X}, layer1="plain", threads=3).sweep(3)
    pgbn.save(half, tmp_path)
    other = pgbn.load(tmp_path).sweep(3)
    assert other.layer1 == "plain"
    for name, value in whole.values.items():
        assert np.array_equal(other.values[name], value), name


def test_a_training_takes_it() -> None:
    trained = pgbn.train_layerwise(
        X, 4, 2, burn_in=3, collect=2, layer1="plain", min_width=1, progress=False
    )
    assert len(trained.widths) == 2


@pytest.mark.parametrize("name", ["", "auto", "composed"])
def test_names_that_mean_something_else_are_refused(name: str) -> None:
    with pytest.raises(pgbn.NetworkError, match="another name"):
        pgbn.register_sampler(type("Other", (Plain,), {"name": name}))


@pytest.mark.parametrize("kind", [object, 3, FirstLayer])
def test_what_is_no_sampler_is_refused(kind: object) -> None:
    with pytest.raises(pgbn.NetworkError, match="give a class derived from"):
        pgbn.register_sampler(kind)  # type: ignore[type-var]


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(pgbn.NetworkError, match="'blocked' is Blocked; give another name"):
        pgbn.register_sampler(type("Other", (Plain,), {"name": "blocked"}))
