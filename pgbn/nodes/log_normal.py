"""LogNormal: a positive value whose logarithm is a linear predictor with noise."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator

from pgbn.nodes.base import Array, Latent, check_positive
from pgbn.nodes.expression import Slot
from pgbn.nodes.normal import half_of, inverse, normal_log_density
from pgbn.nodes.rules.registry import evidence_rule, kernel_rule
from pgbn.nodes.rules.types import QUADRATIC
from pgbn.samplers import vectorised
from pgbn.samplers.elementwise import log_of
from pgbn.samplers.random import Stream


class LogNormal(Latent):
    """a = e^y, y ~ N(mean μ, 1/precision): the exponential of a linear predictor, positive, so that
    it may be a shape or a rate.

    The larger the ``precision`` τ, the closer ln a is to its mean (its standard deviation is
    1/√τ), and the more slowly the chain moves.
    """

    tag: ClassVar[str] = "log_normal"
    positional: ClassVar[tuple[str, ...]] = ("mean", "precision")
    positive_slots: ClassVar[tuple[str, ...]] = ("precision",)
    real_slots: ClassVar[tuple[str, ...]] = ("mean",)

    mean: Slot
    precision: Slot

    _positive = field_validator("precision")(check_positive)

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.log_normal(stream, slots["mean"], slots["precision"])

    def begin(self, value: Array) -> Array:
        return np.clip(value, 0.01, 100.0)

    def log_density(self, value: Array, **slots: Any) -> Array:
        logs = np.log(value)
        return normal_log_density(logs, slots["mean"], slots["precision"]) - logs

    def formula(self, **slots: str) -> str:
        return rf"\exp\, \mathrm{{N}}({slots['mean']},\ {inverse(slots['precision'])})"


evidence_rule(
    LogNormal,
    "mean",
    relation="held",
    kind=QUADRATIC,
    exposure="precision",
    equation=r"e^{\tau \psi \ln a - \tau \psi^2 / 2}",
    reference="the likelihood of a normal mean",
)(lambda value, precision: precision * log_of(value))

evidence_rule(
    LogNormal,
    "precision",
    relation="held",
    exposure=lambda value, mean: 0.5 * (log_of(value) - mean) ** 2,
    equation=r"(\tfrac{1}{2},\ \tfrac{1}{2} (\ln a - \mu)^2)",
    reference="gamma–normal conjugacy in the precision",
)(half_of)


@kernel_rule(
    LogNormal,
    equation=r"p(a) \propto e^{\mathrm{count} \cdot \ln a - \mathrm{exposure} \cdot a - "
    r"\mathrm{precision} \cdot (\ln a - \mathrm{mean})^2 / 2} / a",
    reference="a log-concave density of ln a, drawn by rejection",
)
def _draw(stream: Stream, count: Array, exposure: Array, mean: Array, precision: Array) -> Array:
    return vectorised.log_normal(stream, mean, precision, count, exposure)
