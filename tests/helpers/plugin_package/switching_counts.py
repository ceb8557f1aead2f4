"""Two node types that pgbn does not have: NegativeBinomial (observed) and Switch (hidden)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator, model_validator
from scipy.special import expit, gammaln, logit, xlog1py, xlogy

import pgbn
from pgbn.extend import Array, Stream, check_counts, check_positive, check_probability, vectorised

__all__ = ["NegativeBinomial", "Switch"]


class NegativeBinomial(pgbn.extend.Observed):
    """x ~ NB(r, p), P(x) = Γ(x+r) / (x! Γ(r)) p^x (1−p)^r."""

    tag: ClassVar[str] = "switching_counts.negative_binomial"

    r: pgbn.extend.Slot
    p: pgbn.extend.Slot

    _positive = field_validator("r")(check_positive)
    _range = field_validator("p")(check_probability)

    def check(self, values: Array) -> str | None:
        return check_counts(values)

    def generate(self, stream: Stream, **slots: Any) -> Array:
        p = slots["p"]
        rate = vectorised.gamma(stream.child("rate"), slots["r"], (1 - p) / p)
        return vectorised.poisson(stream, rate)

    def log_density(self, value: Array, **slots: Any) -> Array:
        r, p = slots["r"], slots["p"]
        coefficient = gammaln(value + r) - gammaln(value + 1.0) - gammaln(r)
        return coefficient + xlogy(value, p) + xlog1py(r, -p)

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{NB}}({slots['r']},\ {slots['p']})"


@pgbn.extend.evidence_rule(
    NegativeBinomial,
    "r",
    exposure=lambda p: -np.log1p(-p),
    equation=r"\ell \sim \mathrm{CRT}(x, r),\quad q = -\ln(1 - p)",
    reference="Zhou & Carin 2015",
)
def _tables(stream: Stream, value: Array, r: Array) -> Array:
    return vectorised.crt(stream, value, r)


pgbn.extend.evidence_rule(
    NegativeBinomial,
    "p",
    relation="given",
    kind="probability",
    count="value",
    exposure="r",
    equation=r"p^{x}(1-p)^{r}",
    reference="beta–negative binomial conjugacy",
)


class Switch(pgbn.extend.Latent):
    """v = high with probability π, else low: a layer that is in one of two known regimes."""

    tag: ClassVar[str] = "switching_counts.switch"

    probability: pgbn.extend.Slot
    low: pgbn.extend.Slot
    high: pgbn.extend.Slot

    _range = field_validator("probability")(check_probability)
    _positive = field_validator("low", "high")(check_positive)

    @model_validator(mode="after")
    def _check_levels(self) -> Switch:
        low, high = self.low, self.high
        known = isinstance(low, pgbn.Constant) and isinstance(high, pgbn.Constant)
        if known and not (low.value < high.value).all():
            raise ValueError(f"low={low} must be below high={high}")
        return self

    def generate(self, stream: Stream, **slots: Any) -> Array:
        up = vectorised.bernoulli(stream, slots["probability"])
        return np.where(up > 0, slots["high"], slots["low"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        probability = slots["probability"]
        with np.errstate(divide="ignore"):
            return np.where(value == slots["high"], np.log(probability), np.log1p(-probability))

    def formula(self, **slots: str) -> str:
        return (
            rf"{slots['probability']}\,\delta_{{{slots['high']}}} + "
            rf"(1 - {slots['probability']})\,\delta_{{{slots['low']}}}"
        )


# Neither function takes the stream: nothing is drawn, both are computed when they are read.
pgbn.extend.evidence_rule(
    Switch,
    "probability",
    relation="given",
    kind="probability",
    exposure=lambda value, low: 1.0 * (value == low),
    equation=r"\pi^{1(v=h)}(1-\pi)^{1(v=l)}",
    reference="beta–Bernoulli conjugacy",
)(lambda value, high: 1.0 * (value == high))


@pgbn.extend.draw_rule(
    Switch,
    equation=r"P(v=h) \propto \pi h^{m} e^{-qh},\quad P(v=l) \propto (1-\pi) l^{m} e^{-ql}",
    reference="Bayes' rule for two values",
)
def _posterior(
    count: Array, exposure: Array, probability: Array, low: Array, high: Array
) -> dict[str, Array]:
    with np.errstate(divide="ignore"):
        evidence = count * (np.log(high) - np.log(low)) - exposure * (high - low)
        return {"probability": expit(logit(probability) + evidence)}
