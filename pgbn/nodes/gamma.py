"""Gamma: a positive value with a shape and a RATE."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator
from scipy.special import gammaln, xlogy

from pgbn.nodes import log_pmf
from pgbn.nodes.base import Array, Latent, check_positive
from pgbn.nodes.expression import Slot
from pgbn.nodes.rules import draw_rule, evidence_rule
from pgbn.samplers import vectorised
from pgbn.samplers.elementary import log1p_ratio
from pgbn.samplers.random import Stream

_TINY = float(np.finfo(np.float64).tiny)  # kernels draw it if a shape underflowed to 0


class Gamma(Latent):
    """θ ~ Gam(shape a, rate c), density c^a θ^{a−1} e^{−cθ} / Γ(a).

    A gamma of shape 0 is exactly 0: a gate in the shape switches it off.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    shape : number, array, node or expression
        The shape a > 0. A larger shape, at the same mean, means less variation.
    rate : number, array, node or expression
        The rate c > 0, which is one over the scale. The mean is a/c.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> r = pgbn.Gamma("r", 1.0, 2.0, dims="topic")
    >>> theta = pgbn.Gamma("theta", shape=r, rate=1.0, dims=("doc", "topic"))
    >>> theta
    Gamma('theta', shape=r, rate=1, dims=('doc', 'topic'))
    """

    tag: ClassVar[str] = "gamma"
    positive_slots: ClassVar[tuple[str, ...]] = ("rate",)
    zero_with: ClassVar[tuple[str, ...]] = ("shape",)

    shape: Slot
    rate: Slot

    _positive = field_validator("shape", "rate")(check_positive)

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.gamma(stream, slots["shape"], slots["rate"])

    def begin(self, value: Array) -> Array:
        """Larger values in place of tiny draws such as 1e-200 of a vague prior, from which a chain
        takes long to return.

        An exact 0 is a gamma that is switched off, and stays 0."""
        return np.where(value > 0, np.clip(value, 0.01, 100.0), value)

    def expectation(self, **slots: Any) -> Array:
        return np.asarray(slots["shape"]) / np.asarray(slots["rate"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        shape, rate = np.broadcast_arrays(slots["shape"], slots["rate"])
        positive = shape > 0  # a gamma of shape 0 is a point mass at 0
        safe = np.where(positive, shape, 1.0)
        # Γ(a) = Γ(1+a)/a stays finite in logs if a is as small as a double can be
        log_gamma = gammaln(1.0 + safe) - np.log(safe)
        density = xlogy(safe, rate) - log_gamma + xlogy(safe - 1, value) - rate * value
        return np.where(positive, density, np.where(value <= _TINY, 0.0, -np.inf))

    def expected_log_density(self, mean: Array, geometric: Array, /, **slots: Any) -> Array:
        """a ln c − ln Γ(a) + (a − 1) E ln θ − c E θ."""
        shape, rate = slots["shape"], slots["rate"]
        logs = (shape - 1) * np.log(geometric) + xlogy(shape, rate)
        return np.asarray(logs - gammaln(shape) - rate * mean)

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Gam}}({slots['shape']},\ {slots['rate']})"


@evidence_rule(
    Gamma,
    "shape",
    relation="collapsed",
    exposure=lambda exposure, rate: log1p_ratio(exposure, rate),
    additive=True,
    log_probability=lambda drawn, count, shape: log_pmf.crt(drawn, count, shape),
    equation=r"\ell \sim \mathrm{CRT}(m, a),\quad q' = \ln(1 + q/c)",
    reference="Zhou & Carin 2015, Lemma: a negative binomial count and its tables",
)
def tables_of_gamma(stream: Stream, count: Array, shape: Array) -> Array:
    """m ~ NB(a, q/(c+q)) with θ integrated out; its tables are ℓ ~ Pois(a·ln(1+q/c))."""
    return vectorised.crt(stream, count, shape)


evidence_rule(
    Gamma,
    "rate",
    relation="given",
    count="shape",
    exposure="value",
    equation=r"(a,\ \theta)",
    reference="gamma–gamma conjugacy in the rate",
)

evidence_rule(
    Gamma,
    "rate",
    relation="collapsed",
    kind="odds",
    count="count",
    exposure="shape",
    unit_exposure=True,
    equation=r"p^{m}(1-p)^{a}",
    reference="beta–negative binomial conjugacy; needs exposure 1",
)


@draw_rule(
    Gamma,
    equation=r"\mathrm{Gam}(a + m,\ c + q)",
    reference="gamma–Poisson conjugacy",
)
def posterior_of_gamma(
    count: Array, exposure: Array, shape: Array, rate: Array
) -> dict[str, Array]:
    return {"shape": shape + count, "rate": rate + exposure}
