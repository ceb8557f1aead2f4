"""PoissonGamma and RandomisedGamma: a gamma whose shape has a hidden Poisson count."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator
from scipy.special import gammaln, ive, xlogy

from pgbn.nodes import log_pmf
from pgbn.nodes.base import Array, Latent, Observed, check_positive
from pgbn.nodes.expression import Constant, Expression, Slot
from pgbn.nodes.rules import evidence_rule, kernel_rule, link_rule
from pgbn.samplers import vectorised
from pgbn.samplers.elementary import LN_2, exp_of, log1p_of, log_of
from pgbn.samplers.random import Stream


class PoissonGamma(Observed):
    """y ~ Gam(n, noise), n ~ Pois(rate); y = 0 if n = 0.

    Data are real numbers of at least 0, many of them exactly 0.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    rate : number, array, node or expression
        The rate, at least 0, of the hidden counts n.
    noise : number, array, node or expression
        The rate > 0 of the gamma: one over the size of one event.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.

    Examples
    --------
    >>> theta = pgbn.Gamma("theta", 1.0, 1.0, dims="doc")
    >>> y = pgbn.PoissonGamma("y", theta, noise=pgbn.Gamma("noise", 1.0, 1.0), dims=("doc", "term"))
    """

    tag: ClassVar[str] = "poisson_gamma"
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
    """ln[I₁(α) e^{−α}]: ln[α/2 · e^{−α}] for tiny α, ln[(1 − 3/8α)/√(2πα)] for huge α."""
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
    log_probability=lambda drawn, value, rate, noise: log_pmf.bessel(
        drawn, 2 * np.sqrt(noise * value * rate)
    ),
)
def _counts(stream: Stream, value: Array, rate: Array, noise: Array) -> Array:
    log_alpha = LN_2 + 0.5 * (log_of(noise) + log_of(value) + log_of(rate))
    return vectorised.bessel(stream, log_alpha)


evidence_rule(
    PoissonGamma,
    "rate",
    relation="given",
    count="count",
    exposure=1.0,
    equation=r"(n,\ 1)",
    reference="the Poisson likelihood of the latent counts",
)
evidence_rule(
    PoissonGamma,
    "noise",
    relation="given",
    count="count",
    exposure="value",
    equation=r"(n,\ y)",
    reference="gamma–gamma conjugacy in the rate",
)


class RandomisedGamma(Latent):
    """θ ~ Gam(offset + h, noise), h ~ Pois(rate). With offset 0, θ = 0 if h = 0.

    The count h is drawn when it is needed and never kept. θ is drawn with h integrated out, so that
    a θ of 0 does not stay 0 for ever; h given θ is drawn for the nodes in the rate. With a `Shift`
    in its rate, θ is a Markov chain whose rows are drawn one after another.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    rate : number, array, node or expression
        The rate, at least 0, of the hidden count h.
    noise : number, array, node or expression
        The rate > 0 of the gamma.
    offset : number
        What is added to h, a number of at least 0.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> theta = pgbn.RandomisedGamma("theta", rate=2.0, noise=1.0, offset=0.5, dims="doc")
    >>> theta
    RandomisedGamma('theta', rate=2, noise=1, offset=0.5, dims=('doc',))
    """

    tag: ClassVar[str] = "randomised_gamma"
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
        """A value without zeros, which could make the data impossible."""
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
    relation="given",
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
    reference="the hidden count and the gamma together; the count is discarded",
)
def _draw(
    stream: Stream, count: Array, exposure: Array, rate: Array, noise: Array, offset: Array
) -> Array:
    total = noise + exposure
    h = vectorised.hidden_count(stream.child("count"), rate * noise / total, offset, count)
    return vectorised.gamma(stream, offset + h + count, total)
