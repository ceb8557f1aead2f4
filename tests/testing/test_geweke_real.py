"""The joint-distribution test of values that may be negative, and of values that are none."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import pgbn
from pgbn import DataError, Network, NetworkError
from pgbn.nodes.base import Array
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import check_conjugacy, geweke


def _normal(stream: Stream, mean: Array, variance: Array) -> Array:
    """Box & Muller."""
    half = vectorised.gamma(stream.child("radius"), 1.0, 1.0)
    angle = 2 * np.pi * vectorised.beta(stream.child("angle"), 1.0, 1.0)
    return mean + np.sqrt(2 * variance * half) * np.cos(angle)


def _log_density(value: Array, mean: Array, variance: Array) -> Array:
    return -0.5 * np.log(2 * np.pi * variance) - 0.5 * (value - mean) ** 2 / variance


class _Law:
    """N(mean, variance), of what is observed and of what is not."""

    real_slots: ClassVar[tuple[str, ...]] = ("mean",)

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return _normal(stream, **slots)

    def log_density(self, value: Array, **slots: Any) -> Array:
        return _log_density(value, **slots)


class Reading(_Law, pgbn.Observed):
    """y ~ N(mean, variance)."""

    mean: pgbn.Slot
    variance: pgbn.Slot


class Normal(_Law, pgbn.Latent):
    """μ ~ N(mean, variance)."""

    positional: ClassVar[tuple[str, ...]] = ("mean", "variance")
    mean: pgbn.Slot
    variance: pgbn.Slot


class Wide(Normal):
    """With a posterior that is four times too wide."""


pgbn.evidence_rule(
    Reading, "mean", relation="held", kind="normal", exposure=lambda variance: 1 / variance
)(lambda value, variance: value / variance)


@pgbn.draw_rule(Normal, kind="normal")
def _posterior(count: Array, exposure: Array, mean: Array, variance: Array) -> dict[str, Array]:
    narrow = 1 / (1 / variance + exposure)
    return {"mean": narrow * (mean / variance + count), "variance": narrow}


@pgbn.draw_rule(Wide, kind="normal")
def _too_wide(count: Array, exposure: Array, mean: Array, variance: Array) -> dict[str, Array]:
    updated = _posterior(count, exposure, mean, variance)
    return {**updated, "variance": 4 * updated["variance"]}


def network(kind: type[Normal], mean: float) -> Network:
    return Network(Reading("y", mean=kind("mu", mean, 1, dims="g"), variance=1, dims=("i", "g")))


SIZES = {"i": 3, "g": 2}


@pytest.mark.parametrize("mean", [-1.5, 0.0, 0.5])
def test_normal_and_normal(mean: float) -> None:
    assert check_conjugacy(network(Normal, mean), SIZES).worst < 1e-12
    right = geweke(network(Normal, mean), SIZES, replicates=5_000, sweeps=4)
    assert right.worst < 4, right
    assert len(right.z) == 9  # four of each node, and one of both
    wrong = geweke(network(Wide, mean), SIZES, replicates=5_000, sweeps=4)
    assert wrong.worst > 10, wrong


def test_a_slot_is_negative_only_if_its_type_says_so() -> None:
    class Positive(Normal):
        real_slots: ClassVar[tuple[str, ...]] = ()

    for value, words in ((-2.0, "holds the negative number -2"), (0.0, "is zero")):
        with pytest.raises(NetworkError, match=f"mu: mean: {words}.*Positive.*real_slots"):
            network(Positive, value)
    with pytest.raises(NetworkError, match=r"g: shape: holds the negative number -2; .* not$"):
        Network(pgbn.Poisson("x", pgbn.Gamma("g", pgbn.Gamma("h", 1, 1) * -2.0, 1)))
    chain = network(Positive, 0.5).chain({"y": np.full((3, 2), -4.0)})
    with pytest.raises(NetworkError, match=r"mu: the draw rule of Positive .*'mean'.*real_slots"):
        _ = chain.sweep().values["mu"]


class Torn(pgbn.Gamma):
    """Large values are no numbers."""

    above: float = np.inf

    def generate(self, stream: Stream, **slots: Any) -> Array:
        value = vectorised.gamma(stream, slots["shape"], slots["rate"])
        return np.where(value > 5, self.above, value)


class TornLater(pgbn.Gamma):
    """Values of a large posterior shape are no numbers."""

    def generate(self, stream: Stream, **slots: Any) -> Array:
        value = vectorised.gamma(stream, slots["shape"], slots["rate"])
        return np.where(np.broadcast_to(slots["shape"], value.shape) > 4, np.nan, value)


@pytest.mark.filterwarnings("ignore:x. a rate of inf was drawn")
@pytest.mark.parametrize("above", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_refused(above: float) -> None:
    net = Network(pgbn.Poisson("x", Torn("g", 2, 1, above=above, dims="i"), dims="i"))
    with pytest.raises(DataError, match=rf"geweke: g has the value {above:g} in .* of 1500 draws"):
        geweke(net, {"i": 3}, replicates=500, sweeps=1)


def test_a_value_that_a_sweep_makes_no_number_fails() -> None:
    net = Network(pgbn.Poisson("x", TornLater("g", 2, 1, dims="i"), dims="i"))
    result = geweke(net, {"i": 3}, replicates=500, sweeps=1)
    assert result.worst == np.inf
