"""Normal: a real value with a mean and a PRECISION, in linear predictors; and its data."""

from __future__ import annotations

from math import log, pi
from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator

from pgbn.nodes.base import Array, Latent, Node, check_positive
from pgbn.nodes.expression import Slot
from pgbn.nodes.rules.registry import evidence_rule, kernel_rule
from pgbn.nodes.rules.types import QUADRATIC
from pgbn.samplers import vectorised
from pgbn.samplers.linear_regression import joint_normal
from pgbn.samplers.random import Stream


def normal_log_density(value: Array, mean: Array, precision: Array) -> Array:
    """ln N(value; mean, 1/precision)."""
    return np.asarray(0.5 * (np.log(precision) - log(2 * pi) - precision * (value - mean) ** 2))


def inverse(latex: str) -> str:
    """One over a formula."""
    if latex == "1":
        return latex
    return f"1 / {latex}" if not {" ", "^"} & set(latex) else f"1 / ({latex})"


class Normal(Latent):
    """w ~ N(mean μ, 1/precision): τ = ``precision`` is one over the variance.

    It is used in linear predictors: the mean of another Normal or LogNormal, the logit of a
    LogitBernoulli. What such a predictor sums over, as in ``Constant(F) @ w``, is drawn jointly.
    """

    tag: ClassVar[str] = "normal"
    positional: ClassVar[tuple[str, ...]] = ("mean", "precision")
    positive_slots: ClassVar[tuple[str, ...]] = ("precision",)
    real_slots: ClassVar[tuple[str, ...]] = ("mean",)
    real: ClassVar[bool] = True
    support: ClassVar[str] = ""

    mean: Slot
    precision: Slot

    _positive = field_validator("precision")(check_positive)

    def refuses(self, value: Array) -> str | None:
        bad = value[~(np.isfinite(value) & (np.abs(value) <= self.largest))]
        return f"has the value {bad.flat[0]:g}; give finite numbers" if bad.size else None

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.normal(stream, slots["mean"], 1.0 / np.sqrt(slots["precision"]))

    def begin(self, value: Array) -> Array:
        """Not where a vague prior draws: from numbers such as 1e5 a chain takes long to return."""
        return np.clip(value, -1.0, 1.0)

    def log_density(self, value: Array, **slots: Any) -> Array:
        return normal_log_density(value, slots["mean"], slots["precision"])

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{N}}({slots['mean']},\ {inverse(slots['precision'])})"


def half_of(value: Array) -> Array | float:
    """½ for every entry: what a normal value counts for its precision."""
    return np.full(value.shape, 0.5) if isinstance(value, np.ndarray) else 0.5


def tell_mean_and_precision(node: type[Node]) -> None:
    """The rules of a type whose value is normal: (τx, τ) for the mean, (½, ½(x − μ)²) for the
    precision."""
    evidence_rule(
        node,
        "mean",
        relation="held",
        kind=QUADRATIC,
        exposure="precision",
        equation=r"e^{\tau x \psi - \tau \psi^2 / 2}",
        reference="the likelihood of a normal mean",
    )(lambda value, precision: precision * value)
    evidence_rule(
        node,
        "precision",
        relation="held",
        exposure=lambda value, mean: 0.5 * (value - mean) ** 2,
        equation=r"(\tfrac{1}{2},\ \tfrac{1}{2} (x - \mu)^2)",
        reference="gamma–normal conjugacy in the precision",
    )(half_of)


tell_mean_and_precision(Normal)


@kernel_rule(
    Normal,
    kind=QUADRATIC,
    equation=r"\mathrm{N}\bigl(S (\mathrm{precision} \cdot \mathrm{mean} + \hat{b}),\ S\bigr),\ "
    r"S = (\mathrm{precision} \cdot I + \hat{A})^{-1}",
    reference="the conditional of a normal vector, by a Cholesky factor of its precision",
)
def _joint(stream: Stream, count: Array, exposure: Array, mean: Array, precision: Array) -> Array:
    size = count.shape[-1]
    matrix = exposure.copy()
    matrix[..., np.arange(size), np.arange(size)] += precision
    return joint_normal(stream, matrix, count + precision * mean)
