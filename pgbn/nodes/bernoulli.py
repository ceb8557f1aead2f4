"""Bernoulli: a gate, 0 or 1, that multiplies a shape; LogitBernoulli: one with log odds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator
from scipy.special import xlog1py, xlogy

from pgbn.nodes.base import Array, Latent, check_probability
from pgbn.nodes.expression import Slot
from pgbn.nodes.rules import QUADRATIC, Evidence, draw_rule, evidence_rule, kernel_rule
from pgbn.samplers import vectorised
from pgbn.samplers.elementary import exp_of, log1p_of, log_of
from pgbn.samplers.linear_regression import binary_field
from pgbn.samplers.random import Stream


class _Gate(Latent):
    """The base of both types: a value of 0 or 1."""

    support: ClassVar[str] = ""
    has_zeros: ClassVar[bool] = True

    def refuses(self, value: Array) -> str | None:
        bad = value[(value != 0) & (value != 1)]
        return f"has the value {bad.flat[0]:g}; a gate is 0 or 1" if bad.size else None

    refuses_mean = Latent.refuses


class Bernoulli(_Gate):
    """h ~ Bern(π), used as a factor: a gamma of shape h·r is switched off if h = 0.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    probability : number, array, node or expression
        The probability π of a 1, from 0 to 1.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> h = pgbn.Bernoulli("h", 0.3, dims=("doc", "topic"))
    >>> theta = pgbn.Gamma("theta", shape=2.0 * h, rate=1.0, dims=("doc", "topic"))
    >>> theta
    Gamma('theta', shape=h * 2, rate=1, dims=('doc', 'topic'))
    """

    tag: ClassVar[str] = "bernoulli"

    probability: Slot

    _range = field_validator("probability")(check_probability)

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.bernoulli(stream, slots["probability"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        probability = slots["probability"]
        return xlogy(value, probability) + xlog1py(1 - value, -probability)

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Bern}}({slots['probability']})"


class LogitBernoulli(_Gate):
    """h ~ Bern(σ(ψ)), σ(ψ) = 1/(1 + e^{−ψ}), a gate with the log odds ψ = ``logit``.

    As a factor it switches off, as `pgbn.Bernoulli` does. In the logit of another one it is a unit
    of a sigmoid belief network. The normal nodes in its logit are drawn given Pólya-gamma
    variables ω ~ PG(1, ψ). Its likelihood given ω is e^{(h − ½)ψ − ½ωψ²}.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    logit : number, array, node or expression
        The log odds ψ, any real number: an expression of normal nodes.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> w = pgbn.Normal("w", 0.0, 1.0, dims="feature")
    >>> F = pgbn.Constant(np.ones((3, 2)), dims=("doc", "feature"))
    >>> h = pgbn.LogitBernoulli("h", F @ w, dims="doc")
    """

    tag: ClassVar[str] = "logit_bernoulli"
    real_slots: ClassVar[tuple[str, ...]] = ("logit",)

    logit: Slot

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.bernoulli(stream, 1.0 / (1.0 + exp_of(-np.asarray(slots["logit"]))))

    def log_density(self, value: Array, **slots: Any) -> Array:
        logit = np.asarray(slots["logit"])
        return -np.logaddexp(0.0, np.where(value > 0, -logit, logit))

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Bern}}\bigl(\sigma({slots['logit']})\bigr)"


evidence_rule(
    Bernoulli,
    "probability",
    relation="given",
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
    # Log odds do not underflow as e^{−q} does: a gate of probability 1 stays at 1.
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


def _log_probability(drawn: Evidence, logit: Array) -> Array:
    """ln p(ω | ψ) = ln cosh(ψ/2) − ½ωψ² + a function of ω alone."""
    return np.logaddexp(0.5 * logit, -0.5 * logit) - 0.5 * drawn.exposure * logit**2


@evidence_rule(
    LogitBernoulli,
    "logit",
    relation="given",
    kind=QUADRATIC,
    drawn=lambda node: node.axes,
    log_probability=_log_probability,
    equation=r"\omega \sim \mathrm{PG}(1, \psi),\quad \kappa = h - \tfrac{1}{2}",
    reference="Polson, Scott & Windle 2013, Pólya-gamma variables",
)
def _logistic(stream: Stream, value: Array, logit: Array) -> Evidence:
    return Evidence(value - 0.5, vectorised.polya_gamma(stream, logit))


@draw_rule(
    LogitBernoulli,
    equation=r"\mathrm{Bern}\bigl(\sigma(\psi - q)\bigr),\ 1\text{ if } m > 0",
    reference="Gan et al. 2015",
)
def _posterior_of_logit(count: Array, exposure: Array, logit: Array) -> dict[str, Array]:
    return {"logit": np.where(count > 0, np.inf, logit - exposure)}


@kernel_rule(
    LogitBernoulli,
    kind=QUADRATIC,
    equation=r"\mathrm{Bern}\Bigl(\sigma\bigl(\mathrm{logit}_d + \hat{b}_d - \tfrac{1}{2} "
    r"\hat{A}_{d d} - \sum_{d' \ne d} \hat{A}_{d d'} h_{d'}\bigr)\Bigr)"
    r"\text{ for one } d \text{ after another}",
    reference="Gan et al. 2015, bits of a sigmoid belief network given Pólya-gamma variables",
)
def _bits_of_logit(
    stream: Stream, value: Array, count: Array, exposure: Array, logit: Array
) -> Array:
    return binary_field(stream, exposure, count, logit, value)
