"""Masked cells of observed types of a user's own: imputed by the type's own rule, or refused.

With a cell unknown, the posterior is the one of the other cells."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

import pgbn
from pgbn import DataError, Gamma, Network
from pgbn.nodes.base import Array
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream

MASKED = np.ma.masked_array([10, 12, 0, 9], [False, False, True, False])


class Exposed(pgbn.Observed):
    """x ~ Pois(offset · rate)."""

    positional: ClassVar[tuple[str, ...]] = ("rate", "offset")
    rate: pgbn.Slot
    offset: pgbn.Slot

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.poisson(stream, slots["rate"] * slots["offset"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        return stats.poisson.logpmf(value, slots["rate"] * slots["offset"])


class ByFunction(Exposed):
    """The same, with the exposure as a function."""


class ByNumber(Exposed):
    """The same with an offset of 4, as a number."""


pgbn.counts_are_data(Exposed, "rate")
held: dict[str, Any] = {"relation": "held", "count": "count"}
pgbn.evidence_rule(Exposed, "rate", exposure="offset", **held)
pgbn.evidence_rule(Exposed, "offset", exposure="rate", **held)
pgbn.evidence_rule(ByFunction, "rate", exposure=lambda offset: 1.0 * offset, **held)
pgbn.evidence_rule(ByNumber, "rate", exposure=4.0, **held)


def z_score(draws: Array, mean: float) -> float:
    """Of a mean, with the standard error of batch means."""
    batches = draws.reshape(60, -1).mean(axis=1)
    return float((batches.mean() - mean) / (batches.std(ddof=1) / np.sqrt(60)))


def draws_of(net: Network, data: Any, seed: int = 1) -> dict[str, Array]:
    draws = net.sample({"x": data}, burn_in=50, draws=6000, seed=seed, progress=False, threads=1)
    return {name: draws[name][0] for name in net.latent}


@pytest.mark.parametrize("kind", [Exposed, ByFunction, ByNumber])
@pytest.mark.parametrize("varies", [False, True])
def test_cells_are_imputed_with_their_exposure(kind: type[Exposed], varies: bool) -> None:
    """λ ~ Gam(2.5, 1.5), x_i ~ Pois(o_i λ): λ ~ Gam(2.5 + Σ known x, 1.5 + Σ known o)."""
    values = np.array([3.0, 4.0, 7.0, 5.0]) if varies and kind is not ByNumber else np.full(4, 4.0)
    offset = pgbn.Constant(values, dims="i") if varies else 4.0
    net = Network(kind("x", Gamma("rate", 2.5, 1.5), offset, dims="i"))
    draws = draws_of(net, MASKED)["rate"]
    exact = stats.gamma(2.5 + 31, scale=1 / (1.5 + values[[0, 1, 3]].sum()))
    assert abs(z_score(draws, exact.mean())) < 4
    assert abs(z_score((draws - exact.mean()) ** 2, exact.var())) < 4


class Spread(pgbn.PoissonGamma):
    """y ~ Gam(n, noise), n ~ Pois(rate), whose noise hears n by a function."""


class Drawn(pgbn.PoissonGamma):
    """The same with a function of the stream."""


pgbn.evidence_rule(Spread, "noise", relation="held", exposure=lambda value: value + 0.0)(
    lambda count: 1.0 * count
)
pgbn.evidence_rule(Drawn, "noise", relation="held", exposure="value")(lambda stream, count: count)


@pytest.mark.parametrize("kind", [Spread, pytest.param(Drawn, marks=pytest.mark.long)])
def test_imputed_counts_say_nothing_to_other_slots(kind: type[Any]) -> None:
    def net(observed: type[Any]) -> Network:
        return Network(observed("x", Gamma("rate", 6, 1), Gamma("noise", 3, 2), dims="i"))

    masked = draws_of(net(kind), np.ma.masked_array([1.5, 9.0, 0.5], [False, True, False]))
    known = draws_of(net(pgbn.PoissonGamma), np.array([1.5, 0.5]), seed=2)
    for name in ("rate", "noise"):
        first, second = (draws[name].reshape(60, -1).mean(axis=1) for draws in (masked, known))
        assert abs(stats.ttest_ind(first, second).statistic) < 4, name


class OwnExposure(Exposed):
    """An exposure made from the data: what an unknown cell would tell is unknown too."""


class OwnCount(Exposed):
    """A count made from the data."""


class Chances(Exposed):
    """Evidence about a probability: not that of a Poisson count."""


pgbn.evidence_rule(OwnExposure, "rate", exposure=lambda value: 1.0 + value, **held)
pgbn.evidence_rule(OwnCount, "rate", relation="held", exposure=1.0)(lambda count: 2.0 * count)
pgbn.evidence_rule(Chances, "rate", kind="probability", exposure="offset", **held)

RATE = Gamma("rate", 2, 1)


@pytest.mark.parametrize(
    ("node", "slot"),
    [
        (OwnExposure("x", RATE, 1, dims="i"), "rate"),
        (OwnCount("x", RATE, 1, dims="i"), "rate"),
        (Chances("x", pgbn.Beta("p", 1, 1), 1, dims="i"), "rate"),
        (Exposed("x", RATE, Gamma("offset", 2, 1), dims="i"), "offset"),
    ],
    ids=["exposure", "count", "probability", "other slot"],
)
def test_masks_are_refused_where_cells_cannot_be_imputed(node: pgbn.Observed, slot: str) -> None:
    net = Network(node)
    kind = type(node).__name__
    with pytest.raises(DataError, match=f"x: .*masked cells.* rule of {kind} for {slot}.* leave"):
        net.chain({"x": MASKED})
    net.chain({"x": MASKED.filled(1)}).sweep()
