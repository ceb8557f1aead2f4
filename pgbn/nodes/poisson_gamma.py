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
from pgbn.nodes.rules.registry import evidence_rule, link_rule
from pgbn.samplers import vectorised
from pgbn.samplers.elementary import LN_2
from pgbn.samplers.elementwise import exp_of, log1p_of, log_of
from pgbn.samplers.random import Stream


class PoissonGamma(Observed):
    """y ~ Gam(n, noise), n ~ Pois(rate); y = 0 where n = 0."""

    tag: ClassVar[str] = "poisson_gamma"
    positional: ClassVar[tuple[str, ...]] = ("rate", "noise")
    positive_slots: ClassVar[tuple[str, ...]] = ("noise",)
    positive_needs_counts: ClassVar[bool] = True

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
        ratio = log_of(noise) + log_of(rate) - log_of(y)
        log_alpha = LN_2 + 0.5 * ratio + log_of(y)
        # α − λ − ay as one square: the three may be huge and their sum small.
        rest = -((np.sqrt(rate) - np.sqrt(noise) * np.sqrt(y)) ** 2)
        return np.where(positive, 0.5 * ratio + _log_bessel(log_alpha) + rest, -rate)

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Gam}}(n,\ {slots['noise']}),\ n \sim \mathrm{{Pois}}({slots['rate']})"


def _log_bessel(log_alpha: Array) -> Array:
    """ln[I₁(α) e^{−α}]: of α/2 · e^{−α} where α is tiny, of (1 − 3/8α)/√(2πα) where it is huge."""
    moderate = log_of(ive(1, exp_of(np.clip(log_alpha, -15.0, 15.0))))
    low = log_alpha - LN_2 - exp_of(np.minimum(log_alpha, 0.0))
    high = log1p_of(-0.375 * exp_of(-np.maximum(log_alpha, 0.0))) - 0.5 * (
        math.log(2 * math.pi) + log_alpha
    )
    ends = np.where(log_alpha < 0, low, high)
    return np.where(np.abs(log_alpha) > 15.0, ends, moderate)


@link_rule(
    PoissonGamma,
    "rate",
    equation=r"n \mid y>0 \sim \mathrm{Bessel}_{-1}(2\sqrt{a y \lambda})",
    reference="Zhou, Cong & Chen 2016, Poisson randomised gamma",
    log_probability=lambda drawn, value, rate, noise: log_pmf.bessel_log_pmf(
        drawn, 2 * np.sqrt(noise * value * rate)
    ),
)
def _counts(stream: Stream, value: Array, rate: Array, noise: Array) -> Array:
    log_alpha = LN_2 + 0.5 * (log_of(noise) + log_of(value) + log_of(rate))
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
