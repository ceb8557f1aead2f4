"""RandomisedGamma: a gamma whose shape has a hidden Poisson count."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator
from scipy.special import gammaln, ive, xlogy

from pgbn.nodes.base import Array, Latent, check_positive
from pgbn.nodes.expression import Constant, Expression, Slot
from pgbn.nodes.rules.registry import evidence_rule, kernel_rule
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream


class RandomisedGamma(Latent):
    """θ ~ Gam(offset + h, noise), h ~ Pois(rate). With offset 0, θ = 0 where h = 0.

    The count h is drawn where it is needed and never kept: θ with h integrated out, so that a θ of
    0 does not stay 0 for ever, and h given θ for the nodes in the rate. With a `Shift` in its rate
    it is a Markov chain whose rows are drawn one after another.
    """

    tag: ClassVar[str] = "randomised_gamma"
    positional: ClassVar[tuple[str, ...]] = ("rate", "noise")
    positive_slots: ClassVar[tuple[str, ...]] = ("noise",)
    has_zeros: ClassVar[bool] = True

    rate: Slot
    noise: Slot
    offset: Slot = Constant(value=0.0)

    _positive = field_validator("noise")(check_positive)

    @field_validator("offset")
    @classmethod
    def _check_offset(cls, offset: Expression) -> Expression:
        if not isinstance(offset, Constant) or offset.value.min() < 0:
            raise ValueError("must be a number of at least 0")
        return offset

    def generate(self, stream: Stream, **slots: Any) -> Array:
        count = vectorised.poisson(stream.child("count"), slots["rate"])
        return vectorised.gamma(stream, slots["offset"] + count, slots["noise"])

    def begin(self, value: Array) -> Array:
        """Zeros may make data impossible, so that a chain begins without them."""
        return np.where(value > 0, np.clip(value, 0.01, 100.0), 0.1)

    def log_density(self, value: Array, **slots: Any) -> Array:
        """e^{−λ−cθ} c^a θ^{a−1} w^{(1−a)/2} I_{a−1}(2√w), w = λcθ; at θ = 0, e^{−λ}."""
        rate, noise, a = slots["rate"], slots["noise"], slots["offset"]
        positive = value > 0
        y = np.where(positive, value, 1.0)
        w = rate * noise * y
        bessel = np.log(ive(a - 1.0, 2 * np.sqrt(w))) + 2 * np.sqrt(w) + 0.5 * (1 - a) * np.log(w)
        each = -rate - noise * y + xlogy(a, noise) + xlogy(a - 1, y) + bessel
        return np.where(positive, each, np.where(np.asarray(a) == 0, -rate, -np.inf))

    def formula(self, **slots: str) -> str:
        silent = isinstance(self.offset, Constant) and not self.offset.value.any()
        shape = "h" if silent else f"{slots['offset']} + h"
        return (
            rf"\mathrm{{Gam}}({shape},\ {slots['noise']}),\ h \sim \mathrm{{Pois}}({slots['rate']})"
        )


def _log_probability(drawn: Array, value: Array, rate: Array, noise: Array, offset: Array) -> Array:
    """The Bessel law of order a − 1; a θ of 0 has the count 0."""
    w = np.where(value > 0, rate * noise * value, 1.0)
    root = 2 * np.sqrt(w)
    norm = np.log(ive(offset - 1.0, root)) + root + 0.5 * (1 - offset) * np.log(w)
    each = xlogy(drawn, w) - gammaln(drawn + 1.0) - gammaln(offset + drawn) - norm
    return np.where(value > 0, each, np.where(drawn == 0, 0.0, -np.inf))


@evidence_rule(
    RandomisedGamma,
    "rate",
    relation="held",
    exposure=1.0,
    log_probability=_log_probability,
    equation=r"h \sim \mathrm{Bessel}_{\mathrm{offset} - 1}\bigl(2\sqrt{\mathrm{rate} \cdot "
    r"\mathrm{noise} \cdot \mathrm{value}}\bigr)",
    reference="Schein et al. 2019, Poisson-randomized gamma dynamical systems",
)
def _hidden_count(stream: Stream, value: Array, rate: Array, noise: Array, offset: Array) -> Array:
    return vectorised.hidden_count(stream, rate * noise * value, offset)


@kernel_rule(
    RandomisedGamma,
    equation=r"\mathrm{Gam}(\mathrm{offset} + h + \mathrm{count},\ \mathrm{noise} + "
    r"\mathrm{exposure}),\ p(h) \propto \frac{\Gamma(\mathrm{offset} + h + \mathrm{count})}"
    r"{h!\,\Gamma(\mathrm{offset} + h)}\left(\frac{\mathrm{rate} \cdot \mathrm{noise}}"
    r"{\mathrm{noise} + \mathrm{exposure}}\right)^{h}",
    reference="the hidden count and the gamma together, the count forgotten",
)
def _draw(
    stream: Stream, count: Array, exposure: Array, rate: Array, noise: Array, offset: Array
) -> Array:
    total = noise + exposure
    h = vectorised.hidden_count(stream.child("count"), rate * noise / total, offset, count)
    return vectorised.gamma(stream, offset + h + count, total)
