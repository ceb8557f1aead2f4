"""Observed types of a user: a waiting time, a choice, a count whose rule computes it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlogy

import pgbn as pg
from pgbn import extend
from pgbn.samplers import vectorised

__all__ = ["Chosen", "Computed", "NeverZero", "Unread", "Waiting", "Weighed"]


class Waiting(extend.Observed):
    """y ~ Exp(rate): the rate receives (1, y), with a count that the code fills in."""

    tag: ClassVar[str] = "tests.waiting"
    rate: extend.Slot

    def generate(self, stream: Any, **slots: Any) -> Any:
        return vectorised.gamma(stream, 1.0, slots["rate"])

    def log_density(self, value: Any, **slots: Any) -> Any:
        return np.log(slots["rate"]) - slots["rate"] * value


@extend.evidence_rule(Waiting, "rate", relation="given", exposure="value", equation=r"(1,\ y)")
def _one(value: Any) -> Any:
    return np.ones_like(value)


class Weighed(Waiting):
    """The same with a rule that cannot be read as a formula, and a slot of fewer dims."""

    tag: ClassVar[str] = "tests.weighed"

    def slot_axes(self, slot: str) -> tuple[str, ...]:
        return self.dims[:1]


@extend.evidence_rule(Weighed, "rate", relation="given", exposure="value", equation=r"(1,\ y)")
def _weighed(value: Any) -> Any:
    return np.ones(np.shape(value)) if np.ndim(value) else 1.0


class Unread(Waiting):
    """A waiting time with a rule that cannot be read as a formula."""

    tag: ClassVar[str] = "tests.unread"


@extend.evidence_rule(Unread, "rate", relation="given", exposure="value", equation=r"(1,\ y)")
def _unread(value: Any) -> Any:
    return np.array([1.0])[0] + 0.0 * np.sort(value)


class Chosen(extend.Observed):
    """x ~ Mult(4, probability) without a density of single cells."""

    tag: ClassVar[str] = "tests.chosen"
    probability: extend.Slot
    over: str

    @property
    def axes(self) -> tuple[str, ...]:
        return (*self.dims, self.over)

    @property
    def simplex(self) -> str:
        return self.over

    def generate(self, stream: Any, **slots: Any) -> Any:
        return vectorised.multinomial(stream, 4.0, slots["probability"], stream.simplex)

    def log_density(self, value: Any, **slots: Any) -> Any:
        axis = slots["axis"]
        whole = gammaln(value.sum(axis=axis, keepdims=True) + 1.0)
        each = xlogy(value, slots["probability"]) - gammaln(value + 1.0)
        return each + whole / value.shape[axis]


extend.evidence_rule(
    Chosen,
    "probability",
    relation="given",
    count="value",
    exposure=0.0,
    normalised=True,
    equation="(x, 0)",
)


class NeverZero(pg.Poisson):
    """Counts of which none may be 0."""

    tag: ClassVar[str] = "tests.never_zero"

    def check(self, values: Any) -> str | None:
        return "zeros" if (np.asarray(values) == 0).any() else None


extend.counts_are_data(NeverZero, "rate")
extend.evidence_rule(
    NeverZero, "rate", relation="given", count="count", exposure=1.0, equation="(x, 1)"
)


class Computed(Waiting):
    """Poisson counts whose rule computes the count, a whole number."""

    tag: ClassVar[str] = "tests.computed"

    def generate(self, stream: Any, **slots: Any) -> Any:
        return vectorised.poisson(stream, slots["rate"])

    def log_density(self, value: Any, **slots: Any) -> Any:
        return xlogy(value, slots["rate"]) - slots["rate"] - gammaln(value + 1.0)


@extend.evidence_rule(
    Computed, "rate", relation="given", exposure=1.0, integer=True, equation="(x, 1)"
)
def _computed(value: Any) -> Any:
    return value + 0
