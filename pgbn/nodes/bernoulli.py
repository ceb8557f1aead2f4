"""Bernoulli: a gate, 0 or 1, that multiplies a shape."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator
from scipy.special import xlog1py, xlogy

from pgbn.nodes.base import Array, Latent, check_probability
from pgbn.nodes.expression import Slot
from pgbn.nodes.rules.registry import draw_rule, evidence_rule, kernel_rule
from pgbn.nodes.rules.types import QUADRATIC
from pgbn.samplers import vectorised
from pgbn.samplers.elementwise import exp_of, log1p_of, log_of
from pgbn.samplers.linear_regression import binary_field
from pgbn.samplers.random import Stream


class Bernoulli(Latent):
    """h ~ Bern(π), used as a factor: a gamma of shape h·r is switched off where h = 0."""

    tag: ClassVar[str] = "bernoulli"
    support: ClassVar[str] = ""
    positional: ClassVar[tuple[str, ...]] = ("probability",)
    has_zeros: ClassVar[bool] = True

    probability: Slot

    _range = field_validator("probability")(check_probability)

    def refuses(self, value: Array) -> str | None:
        bad = value[(value != 0) & (value != 1)]
        return f"has the value {bad.flat[0]:g}; a gate is 0 or 1" if bad.size else None

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.bernoulli(stream, slots["probability"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        probability = slots["probability"]
        return xlogy(value, probability) + xlog1py(1 - value, -probability)

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Bern}}({slots['probability']})"


evidence_rule(
    Bernoulli,
    "probability",
    relation="held",
    kind="probability",
    count="value",
    exposure=lambda value: 1.0 - value,
    equation=r"\pi^{h}(1-\pi)^{1-h}",
    reference="beta–Bernoulli conjugacy",
)


@draw_rule(
    Bernoulli,
    equation=r"\mathrm{Bern}\left(\frac{\pi e^{-q}}{\pi e^{-q} + 1 - \pi}\right),"
    r"\ 1\text{ if } m > 0",
    reference="Gan et al. 2015",
)
def _posterior(count: Array, exposure: Array, probability: Array) -> dict[str, Array]:
    # In log odds, where e^{−q} does not underflow: a gate of probability 1 stays at 1.
    log_odds = log_of(probability) - log1p_of(-probability) - exposure
    on = 1.0 / (1.0 + exp_of(-log_odds))
    return {"probability": np.where(count > 0, 1.0, on)}


@kernel_rule(
    Bernoulli,
    kind=QUADRATIC,
    equation=r"\mathrm{Bern}\Bigl(\sigma\bigl(\ln \tfrac{\mathrm{probability}_d}{1 - "
    r"\mathrm{probability}_d} + \hat{b}_d - \tfrac{1}{2} \hat{A}_{d d} - "
    r"\sum_{d' \ne d} \hat{A}_{d d'} h_{d'}\bigr)\Bigr)\text{ for one } d \text{ after another}",
    reference="Gan et al. 2015, bits of a sigmoid belief network given Pólya-gamma variables",
)
def _bits(stream: Stream, value: Array, count: Array, exposure: Array, probability: Array) -> Array:
    log_odds = log_of(probability) - log1p_of(-probability)
    return binary_field(stream, exposure, count, log_odds, value)
