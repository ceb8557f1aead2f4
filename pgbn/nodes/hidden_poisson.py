"""HiddenPoisson: a latent count, in the shape of a gamma or in any other slot."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlogy

from pgbn.nodes.base import Array, Latent
from pgbn.nodes.expression import Slot
from pgbn.nodes.rules import evidence_rule, kernel_rule
from pgbn.nodes.slice_sampling import LogConditional, move_counts
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream


class HiddenPoisson(Latent):
    """h ~ Pois(rate), hidden: 0, 1, 2, … It is drawn given all nodes that depend on it.

    In the shape of a Gamma, ``Gamma("theta", 0.5 + h, c)``, its conditional is the Bessel law of
    order a0 − 1 at 2√(λcθ), a0 = 0.5. A shape with a0 = 0 is rejected, since θ = 0 would keep h at
    0 for ever. `RandomisedGamma` draws the two together.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    rate : number, array, node or expression
        The rate, at least 0.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> h = pgbn.HiddenPoisson("h", 2.0, dims="doc")
    >>> theta = pgbn.Gamma("theta", shape=0.5 + h, rate=1.0, dims="doc")
    """

    tag: ClassVar[str] = "hidden_poisson"
    has_zeros: ClassVar[bool] = True
    support: ClassVar[str] = "whole"
    largest: ClassVar[float] = 2.0**53

    rate: Slot

    def refuses(self, value: Array) -> str | None:
        bad = value[value != np.floor(value)]
        if bad.size:
            return f"has the value {bad.flat[0]:g}; counts are 0, 1, 2, …"
        return super().refuses(value)

    refuses_mean = Latent.refuses

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.poisson(stream, slots["rate"]).astype(np.float64)

    def expectation(self, **slots: Any) -> Array:
        return np.asarray(slots["rate"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        return xlogy(value, slots["rate"]) - slots["rate"] - gammaln(value + 1.0)

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Pois}}({slots['rate']})"


evidence_rule(
    HiddenPoisson,
    "rate",
    relation="given",
    count="value",
    integer=True,
    exposure=1.0,
    log_probability=lambda drawn, value: np.zeros(np.shape(value)),
    equation=r"(h,\ 1)",
    reference="the Poisson likelihood",
)


@kernel_rule(
    HiddenPoisson,
    equation=r"\mathrm{Bessel}_{a-1}(2\sqrt{\lambda c \theta})"
    r"\text{ in the shape } a + h \text{ of a gamma, else by slice sampling}",
    reference="Yuan & Kalbfleisch 2000, on the Bessel distribution; Neal 2003, slice sampling",
)
def _move(stream: Stream, value: Array, rate: Array, log_conditional: LogConditional) -> Array:
    return move_counts(stream, value, log_conditional, 1.0 + np.sqrt(rate))
