"""Dirichlet: a vector of proportions along a dim, or over the cells of several."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator
from scipy.special import gammaln, xlogy

from pgbn.nodes import log_pmf
from pgbn.nodes.base import Array, Latent, check_positive
from pgbn.nodes.expression import Dim, Slot
from pgbn.nodes.rules import Evidence, draw_rule, evidence_rule
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream

_TINY = float(np.finfo(np.float64).tiny)  # an entry that underflowed is still possible


class Dirichlet(Latent):
    """φ ~ Dir(a_1, …, a_V) along the dim ``over``, one vector for each entry of ``dims``.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    concentration : number, array, node or expression
        The a_v > 0. One number is used for all entries. Below 1 the vectors are sparse.
    over : str or tuple of str
        The dim along which a vector sums to one. With several dims, all their cells together
        sum to one.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> phi = pgbn.Dirichlet("phi", 0.05, over="term", dims="topic")
    >>> phi.axes
    ('topic', 'term')
    """

    tag: ClassVar[str] = "dirichlet"
    support: ClassVar[str] = ""
    positive_slots: ClassVar[tuple[str, ...]] = ("concentration",)

    concentration: Slot
    over: Dim | tuple[Dim, ...]

    _positive = field_validator("concentration")(check_positive)

    @field_validator("over")
    @classmethod
    def _check_over(cls, over: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if not over:
            raise ValueError(f"{over!r} names no dim; give one, or a tuple of several")
        return over[0] if len(over) == 1 and not isinstance(over, str) else over

    @property
    def axes(self) -> tuple[str, ...]:
        return (*self.dims, *self.sums_over)

    @property
    def simplex(self) -> str | None:
        return self.over if isinstance(self.over, str) else None

    @property
    def sums_over(self) -> tuple[str, ...]:
        return (self.over,) if isinstance(self.over, str) else self.over

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.dirichlet(stream, slots["concentration"], stream.simplex)

    def expectation(self, **slots: Any) -> Array:
        concentration, axis = np.asarray(slots["concentration"]), slots["axis"]
        return np.asarray(concentration / concentration.sum(axis=axis, keepdims=True))

    def log_density(self, value: Array, **slots: Any) -> Array:
        axis = slots["axis"]
        concentration = np.broadcast_to(slots["concentration"], value.shape)
        total = concentration.sum(axis=axis, keepdims=True)
        each = xlogy(concentration - 1, np.maximum(value, _TINY)) - gammaln(concentration)
        return each + gammaln(total) / _entries(value.shape, axis)

    def expected_log_density(self, mean: Array, geometric: Array, /, **slots: Any) -> Array:
        """ln Γ(Σ a) − Σ ln Γ(a) + Σ (a − 1) E ln φ: the log density at geometric means."""
        return self.log_density(geometric, **slots)

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Dir}}({slots['concentration']})"


def _entries(shape: tuple[int, ...], axis: int | tuple[int, ...]) -> int:
    """The number of entries of one vector."""
    return prod(shape[each] for each in (axis if isinstance(axis, tuple) else (axis,)))


def _log_probability(drawn: Evidence, count: Array, concentration: Array, axis: Any) -> Array:
    """CRT(ℓ; n, a) · Beta(s; a_·, n_·): the two are independent given n and a."""
    every = np.broadcast_to(concentration, np.shape(count))
    sums = every.sum(axis=axis, keepdims=True), count.sum(axis=axis, keepdims=True)
    beta = log_pmf.neg_log_beta(drawn.exposure, *sums)
    return log_pmf.crt(drawn.count, count, every) + beta / _entries(np.shape(count), axis)


@evidence_rule(
    Dirichlet,
    "concentration",
    relation="collapsed",
    drawn=lambda node: node.dims,
    log_probability=_log_probability,
    equation=r"\ell \sim \mathrm{CRT}(n, a),\quad "
    r"q' = -\ln s,\ s \sim \mathrm{Beta}(a_\cdot, n_\cdot)",
    reference="Zhou 2018; Zhao et al. 2018",
)
def _tables(stream: Stream, count: Array, concentration: Array) -> Evidence:
    """n is Dirichlet–multinomial; with s and the tables it is ∏ a^ℓ e^{−q′a} in a."""
    axis = stream.simplex
    received = count.sum(axis=axis, keepdims=True)
    along = axis if isinstance(axis, tuple) else (axis,)
    shape = stream.shape
    ones = np.ones((1, *(shape[i] if i in along else 1 for i in range(1, len(shape)))))
    total = (concentration * ones).sum(axis=axis, keepdims=True)
    exposure = vectorised.neg_log_beta(stream.child("beta", without=axis), total, received)
    return Evidence(vectorised.crt(stream, count, concentration), exposure)


@draw_rule(
    Dirichlet,
    constant_over_simplex=True,
    equation=r"\mathrm{Dir}(a + n)",
    reference="Dirichlet–multinomial conjugacy",
)
def _posterior(count: Array, concentration: Array) -> dict[str, Array]:
    return {"concentration": concentration + count}
