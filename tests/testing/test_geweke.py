"""What the joint-distribution test accepts: values that never change, may be negative, or are none."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import pgbn
from pgbn import DataError, Network, NetworkError, zoo
from pgbn.nodes.base import Array
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import check_conjugacy, geweke


@pytest.mark.parametrize("link", [pgbn.Poisson, pgbn.BernoulliPoisson])
@pytest.mark.parametrize("sweeps", [1, 8])  # the last 1 to 4 sweeps are averaged
def test_a_gate_that_never_changes_passes(link: Any, sweeps: int) -> None:
    """The data pin it down: the sampler is right, and its values stay."""
    net = Network(link("x", pgbn.Bernoulli("h", 0.5, dims="i") * 1000.0, dims="i"))
    result = geweke(net, {"i": 3}, 1000, sweeps)
    assert result.z["h"] == result.z["h/(1+h)"] == 0.0
    assert result.worst < 4, result


class Reading(pgbn.extend.Observed):
    """y ~ N(mean, 1)."""

    real_slots: ClassVar[tuple[str, ...]] = ("mean",)
    mean: pgbn.extend.Slot

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.normal(stream, slots["mean"], 1.0)

    def log_density(self, value: Array, **slots: Any) -> Array:
        return np.asarray(-0.5 * np.log(2 * np.pi) - 0.5 * (value - slots["mean"]) ** 2)


class Level(pgbn.extend.Latent):
    """μ ~ N(mean, variance), with a type and rules of a user's own."""

    real_slots: ClassVar[tuple[str, ...]] = ("mean",)
    mean: pgbn.extend.Slot
    variance: pgbn.extend.Slot

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.normal(stream, slots["mean"], np.sqrt(slots["variance"]))

    def log_density(self, value: Array, mean: Array, variance: Array) -> Array:
        return -0.5 * np.log(2 * np.pi * variance) - 0.5 * (value - mean) ** 2 / variance


class Wide(Level):
    """With a posterior that is four times too wide."""


pgbn.extend.evidence_rule(
    Reading, "mean", relation="given", kind="normal", exposure=lambda value: np.ones_like(value)
)(lambda value: value)


@pgbn.extend.draw_rule(Level, kind="normal")
def _posterior(count: Array, exposure: Array, mean: Array, variance: Array) -> dict[str, Array]:
    narrow = 1 / (1 / variance + exposure)
    return {"mean": narrow * (mean / variance + count), "variance": narrow}


@pgbn.extend.draw_rule(Wide, kind="normal")
def _too_wide(count: Array, exposure: Array, mean: Array, variance: Array) -> dict[str, Array]:
    updated = _posterior(count, exposure, mean, variance)
    return {**updated, "variance": 4 * updated["variance"]}


def network(kind: type[Level], mean: float) -> Network:
    return Network(Reading("y", mean=kind("mu", mean, 1, dims="g"), dims=("i", "g")))


def test_values_that_may_be_negative() -> None:
    sizes = {"i": 3, "g": 2}
    assert check_conjugacy(network(Level, -1.5), sizes).worst < 1e-12
    right = geweke(network(Level, -1.5), sizes, replicates=5_000, sweeps=4)
    assert right.worst < 4, right
    assert len(right.z) == 9  # four of each node, and one of both
    wrong = geweke(network(Wide, -1.5), sizes, replicates=5_000, sweeps=4)
    assert wrong.worst > 10, wrong


def test_a_slot_is_negative_only_if_its_type_says_so() -> None:
    class Positive(Level):
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
    """Values above 5, or of a posterior shape above ``most``, are no numbers."""

    above: float = np.nan
    most: float = np.inf

    def generate(self, stream: Stream, **slots: Any) -> Array:
        value = vectorised.gamma(stream, slots["shape"], slots["rate"])
        if np.isfinite(self.most):
            return np.where(np.broadcast_to(slots["shape"], value.shape) > self.most, np.nan, value)
        return np.where(value > 5, self.above, value)


@pytest.mark.filterwarnings("ignore:x. a rate of inf was drawn")
@pytest.mark.parametrize("above", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_refused(above: float) -> None:
    net = Network(pgbn.Poisson("x", Torn("g", 2, 1, above=above, dims="i"), dims="i"))
    with pytest.raises(DataError, match=rf"geweke: g has the value {above:g} in .* of 1500 draws"):
        geweke(net, {"i": 3}, replicates=500, sweeps=1)


def test_a_value_that_a_sweep_makes_no_number_fails() -> None:
    net = Network(pgbn.Poisson("x", Torn("g", 2, 1, most=4.0, dims="i"), dims="i"))
    assert geweke(net, {"i": 3}, replicates=500, sweeps=1).worst == np.inf


def test_priors_whose_counts_cannot_be_counted_are_refused() -> None:
    with pytest.warns(pgbn.PgbnWarning, match="rate"), pytest.raises(DataError, match="p_prior"):
        geweke(zoo.pgbn([2, 2]), {"doc": 3, "term": 4}, replicates=500, sweeps=1)


def test_an_order_that_is_rejected_can_be_run_unchecked() -> None:
    network, sizes = zoo.pgbn([2, 2], 0.5, (2, 4), (4, 4), (4, 4), (4, 4)), {"doc": 3, "term": 3}
    paper = zoo.pgbn([2, 2], order="paper").schedule.names
    result = geweke(network, sizes, 4000, 4, 1, "blocked", 2, order=paper)
    assert result.worst < 4, result
    names = [name for name in network.schedule.names if name != "c3"]
    order = [*names[: names.index("theta2")], "c3", *names[names.index("theta2") :]]
    with pytest.raises(pgbn.StaleReadError, match="c3 conditions on theta2"):
        geweke(network, sizes, 100, 1, order=order)
    result = geweke(network, sizes, 20_000, 6, 1, "blocked", 2, order=order, unchecked=True)
    assert result.worst > 6, result
    with pytest.raises(NetworkError, match="there is no step 'c4'"):
        geweke(network, sizes, 100, 1, order=["c4"], unchecked=True)
