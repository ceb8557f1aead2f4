"""ObservedNormal: real data around a mean."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator

from pgbn.nodes.base import Array, Observed, check_positive
from pgbn.nodes.expression import Slot
from pgbn.nodes.normal import inverse, normal_log_density, tell_mean_and_precision
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream


class ObservedNormal(Observed):
    """y ~ N(mean μ, 1/precision), data of any sign: a response, a measurement."""

    tag: ClassVar[str] = "observed_normal"
    positional: ClassVar[tuple[str, ...]] = ("mean", "precision")
    positive_slots: ClassVar[tuple[str, ...]] = ("precision",)
    real_slots: ClassVar[tuple[str, ...]] = ("mean",)
    real: ClassVar[bool] = True

    mean: Slot
    precision: Slot

    _positive = field_validator("precision")(check_positive)

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.normal(stream, slots["mean"], 1.0 / np.sqrt(slots["precision"]))

    def log_density(self, value: Array, **slots: Any) -> Array:
        return normal_log_density(value, slots["mean"], slots["precision"])

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{N}}({slots['mean']},\ {inverse(slots['precision'])})"


tell_mean_and_precision(ObservedNormal)
