"""A link from outside the package: n ~ Pois(λ) things are seen as y = ⌈n/2⌉ boxes of two.

    n | y ∈ {2y − 1, 2y},   P(n = 2y) / P(n = 2y − 1) = λ / 2y

The node type with its two rules, and the row of the table of links.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

import pgbn
from pgbn.nodes.poisson import check_counts
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream, uniform
from pgbn.zoo.links import Link, register_link

__all__ = ["BOXES", "Boxes"]

Array = NDArray[Any]


class Boxes(pgbn.extend.Observed):
    """y = ⌈n/2⌉, n ~ Pois(rate)."""

    tag: ClassVar[str] = "tests.boxes"
    positive_needs_counts: ClassVar[bool] = True

    rate: pgbn.extend.Slot

    def check(self, values: Array) -> str | None:
        return check_counts(values)

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return (vectorised.poisson(stream, slots["rate"]) + 1) // 2

    def log_density(self, value: Array, **slots: Any) -> Array:
        rate, most = slots["rate"], 2.0 * np.maximum(value, 1)
        odd = xlogy(most - 1, rate) - rate - gammaln(most)
        return np.where(value > 0, odd + np.log1p(rate / most), -rate)


def _log_probability(drawn: Array, value: Array, rate: Array) -> Array:
    return np.log(np.where(drawn == 2 * value, rate, 2 * value) / (rate + 2 * value))


@pgbn.extend.link_rule(
    Boxes, "rate", equation=r"n \in \{2y-1, 2y\}", log_probability=_log_probability
)
def _things(stream: Stream, value: Array, rate: Array) -> Array:
    full = vectorised.bernoulli(stream, rate / (rate + 2 * value)).astype(np.int64)
    return 2 * value.astype(np.int64) - 1 + full


pgbn.extend.evidence_rule(
    Boxes, "rate", relation="given", count="count", exposure=1.0, equation=r"(n,\ 1)",
    reference="the Poisson likelihood of the things",
)  # fmt: skip


def latent(rng: Any, value: float, rate: float, noise: float) -> int:
    """One draw of n for a new row, compiled by numba."""
    most = 2 * int(value)
    return most - 1 + int(uniform(rng) * (rate + most) < rate)


BOXES = register_link(Link("boxes", "boxes of two", Boxes, latent=latent, whole=True))
