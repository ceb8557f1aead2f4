"""PoissonGamma: non-negative reals, a gamma whose shape is a Poisson count."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator
from scipy.special import ive

from pgbn.nodes import log_pmf
from pgbn.nodes.base import Array, Observed, check_positive
from pgbn.nodes.expression import Slot
from pgbn.registry import evidence_rule, link_rule
from pgbn.samplers import vectorised
from pgbn.samplers.stream import Stream

__all__ = ["PoissonGamma"]


class PoissonGamma(Observed):
    """y ~ Gam(n, noise), n ~ Pois(rate); y = 0 where n = 0."""

    tag: ClassVar[str] = "poisson_gamma"
    positional: ClassVar[tuple[str, ...]] = ("rate", "noise")
    positive_slots: ClassVar[tuple[str, ...]] = ("noise",)

    rate: Slot
    noise: Slot

    _positive = field_validator("noise")(check_positive)

    def check(self, values: Array) -> str | None:
        if (values < 0).any():
            return f"negative values (least: {values.min():g}); PoissonGamma takes reals ≥ 0"
        return None

    def generate(self, stream: Stream, **slots: Any) -> Array:
        count = vectorised.poisson(stream.child("count"), slots["rate"])
        return vectorised.gamma(stream, count.astype(np.float64), slots["noise"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        """At y > 0: √(aλ/y) I₁(2√(aλy)) e^{−λ−ay}; at 0: e^{−λ}."""
        rate, noise = slots["rate"], slots["noise"]
        positive = value > 0
        y = np.where(positive, value, 1.0)
        alpha = 2 * np.sqrt(noise * rate * y)
        with np.errstate(divide="ignore"):
            bessel = np.log(ive(1, alpha)) + alpha
            density = 0.5 * np.log(noise * rate / y) + bessel - rate - noise * y
        return np.where(positive, density, -rate)

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Gam}}(n,\ {slots['noise']}),\ n \sim \mathrm{{Pois}}({slots['rate']})"


@link_rule(
    PoissonGamma,
    "rate",
    equation=r"n \mid y>0 \sim \mathrm{Bessel}_{-1}(2\sqrt{a y \lambda})",
    reference="Zhou, Cong & Chen 2016, Poisson randomised gamma",
    log_probability=lambda drawn, value, rate, noise: log_pmf.bessel(
        drawn, 2 * np.sqrt(noise * value * rate)
    ),
)
def _counts(stream: Stream, value: Array, rate: Array, noise: Array) -> Array:
    with np.errstate(divide="ignore"):
        log_alpha = math.log(2.0) + 0.5 * (np.log(noise) + np.log(value) + np.log(rate))
    return vectorised.bessel(stream, log_alpha)


evidence_rule(
    PoissonGamma,
    "rate",
    relation="held",
    count="count",
    exposure=1.0,
    equation=r"(n,\ 1)",
    reference="the Poisson likelihood of the latent counts",
)
evidence_rule(
    PoissonGamma,
    "noise",
    relation="held",
    count="count",
    exposure="value",
    equation=r"(n,\ y)",
    reference="gamma–gamma conjugacy in the rate",
)
