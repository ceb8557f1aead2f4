"""Normal: a real value with a mean and a PRECISION; its data; and its exponential, LogNormal."""

from __future__ import annotations

from math import log, pi
from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator

from pgbn.nodes.base import Array, Latent, Node, Observed, check_positive
from pgbn.nodes.expression import Slot
from pgbn.nodes.rules import QUADRATIC, evidence_rule, kernel_rule
from pgbn.samplers import vectorised
from pgbn.samplers.elementary import log_of
from pgbn.samplers.linear_regression import joint_normal
from pgbn.samplers.random import Stream


def _inverse(latex: str) -> str:
    """One over a formula."""
    if latex == "1":
        return latex
    return f"1 / {latex}" if not {" ", "^"} & set(latex) else f"1 / ({latex})"


class _NormalParameters(Node):
    """The base of the three types: y ~ N(mean μ, 1/precision τ)."""

    positive_slots: ClassVar[tuple[str, ...]] = ("precision",)
    real_slots: ClassVar[tuple[str, ...]] = ("mean",)
    real: ClassVar[bool] = True

    mean: Slot
    precision: Slot

    _positive = field_validator("precision")(check_positive)

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.normal(stream, slots["mean"], 1.0 / np.sqrt(slots["precision"]))

    def log_density(self, value: Array, **slots: Any) -> Array:
        mean, precision = slots["mean"], slots["precision"]
        return np.asarray(0.5 * (np.log(precision) - log(2 * pi) - precision * (value - mean) ** 2))

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{N}}({slots['mean']},\ {_inverse(slots['precision'])})"


class Normal(_NormalParameters, Latent):
    """w ~ N(mean μ, 1/precision): τ = ``precision`` is one over the variance.

    Linear predictors use it: the mean of another Normal or LogNormal, the logit of a
    LogitBernoulli. The entries that a predictor sums, as in ``Constant(F) @ w``, are drawn jointly.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    mean : number, array, node or expression
        The mean μ, any real number.
    precision : number, array, node or expression
        The precision τ > 0, one over the variance.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> w = pgbn.Normal("w", 0.0, precision=4.0, dims="feature")
    >>> w
    Normal('w', mean=0, precision=4, dims=('feature',))
    """

    tag: ClassVar[str] = "normal"
    support: ClassVar[str] = ""

    def refuses(self, value: Array) -> str | None:
        bad = value[~(np.isfinite(value) & (np.abs(value) <= self.largest))]
        return f"has the value {bad.flat[0]:g}; give finite numbers" if bad.size else None

    def begin(self, value: Array) -> Array:
        """A value near 0: a chain takes long to return from draws of a vague prior such as 1e5."""
        return np.clip(value, -1.0, 1.0)


class ObservedNormal(_NormalParameters, Observed):
    """y ~ N(mean μ, 1/precision), data of any sign: a response, a measurement.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    mean : number, array, node or expression
        The mean μ, any real number.
    precision : number, array, node or expression
        The precision τ > 0, one over the variance.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.

    Examples
    --------
    >>> level = pgbn.Normal("level", 0.0, 1.0)
    >>> y = pgbn.ObservedNormal("y", level, pgbn.Gamma("tau", 1.0, 1.0), dims="doc")
    """

    tag: ClassVar[str] = "observed_normal"


class LogNormal(_NormalParameters, Latent):
    """a = e^y, y ~ N(mean μ, 1/precision): the exponential of a linear predictor.

    It is positive, so it may be a shape or a rate. A larger ``precision`` τ keeps ln a closer to
    its mean (the standard deviation is 1/√τ), and makes the chain move more slowly.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    mean : number, array, node or expression
        The mean μ of the logarithm, any real number.
    precision : number, array, node or expression
        The precision τ > 0 of the logarithm.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> w = pgbn.Normal("w", 0.0, 1.0, dims="feature")
    >>> F = pgbn.Constant(np.ones((3, 2)), dims=("doc", "feature"))
    >>> a = pgbn.LogNormal("a", F @ w, precision=2.0, dims="doc")
    """

    tag: ClassVar[str] = "log_normal"
    real: ClassVar[bool] = False

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.log_normal(stream, slots["mean"], slots["precision"])

    def begin(self, value: Array) -> Array:
        return np.clip(value, 0.01, 100.0)

    def log_density(self, value: Array, **slots: Any) -> Array:
        logs = np.log(value)
        return super().log_density(logs, **slots) - logs

    def formula(self, **slots: str) -> str:
        return rf"\exp\, {super().formula(**slots)}"


def _half_of(value: Array) -> Array | float:
    """½ for every entry: the count that a normal value sends to its precision."""
    return np.full(value.shape, 0.5) if isinstance(value, np.ndarray) else 0.5


for _node in (Normal, ObservedNormal):
    evidence_rule(
        _node,
        "mean",
        relation="given",
        kind=QUADRATIC,
        exposure="precision",
        equation=r"e^{\tau x \psi - \tau \psi^2 / 2}",
        reference="the likelihood of a normal mean",
    )(lambda value, precision: precision * value)
    evidence_rule(
        _node,
        "precision",
        relation="given",
        exposure=lambda value, mean: 0.5 * (value - mean) ** 2,
        equation=r"(\tfrac{1}{2},\ \tfrac{1}{2} (x - \mu)^2)",
        reference="gamma–normal conjugacy in the precision",
    )(_half_of)


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


evidence_rule(
    LogNormal,
    "mean",
    relation="given",
    kind=QUADRATIC,
    exposure="precision",
    equation=r"e^{\tau \psi \ln a - \tau \psi^2 / 2}",
    reference="the likelihood of a normal mean",
)(lambda value, precision: precision * log_of(value))

evidence_rule(
    LogNormal,
    "precision",
    relation="given",
    exposure=lambda value, mean: 0.5 * (log_of(value) - mean) ** 2,
    equation=r"(\tfrac{1}{2},\ \tfrac{1}{2} (\ln a - \mu)^2)",
    reference="gamma–normal conjugacy in the precision",
)(_half_of)


@kernel_rule(
    LogNormal,
    equation=r"p(a) \propto e^{\mathrm{count} \cdot \ln a - \mathrm{exposure} \cdot a - "
    r"\mathrm{precision} \cdot (\ln a - \mathrm{mean})^2 / 2} / a",
    reference="a log-concave density of ln a, drawn by rejection",
)
def _draw(stream: Stream, count: Array, exposure: Array, mean: Array, precision: Array) -> Array:
    return vectorised.log_normal(stream, mean, precision, count, exposure)
