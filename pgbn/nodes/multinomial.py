"""Multinomial: observed counts with a given total."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator
from scipy.sparse import issparse
from scipy.special import gammaln, xlogy

from pgbn.errors import DataError
from pgbn.nodes.base import Array, Observed
from pgbn.nodes.expression import Constant, Dim, Expression, Slot
from pgbn.nodes.poisson import check_counts
from pgbn.nodes.rules import counts_are_data, evidence_rule
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream


def _check_whole(total: Expression) -> Expression:
    """Reject a constant total that is not a whole number."""
    if isinstance(total, Constant) and issparse(total.value):
        raise ValueError("is sparse; give an array of the totals")
    if isinstance(total, Constant) and not (total.value % 1 == 0).all():
        worst = total.value[total.value % 1 != 0].flat[0]
        raise ValueError(f"must be a whole number, got {worst:g}")
    return total


class Multinomial(Observed):
    """x ~ Mult(total, probability) along the dim ``over``.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    probability : number, array, node or expression
        The probabilities, which must sum to one by construction (Dirichlet factors).
    over : str
        The dim along which the counts sum to the total.
    total : number or array
        The totals of generated data. Observed data have their own totals.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.

    Examples
    --------
    >>> theta = pgbn.Dirichlet("theta", 0.5, over="topic", dims="doc")
    >>> phi = pgbn.Dirichlet("phi", 0.1, over="term", dims="topic")
    >>> x = pgbn.Multinomial("x", phi @ theta, over="term", total=50, dims="doc")
    """

    tag: ClassVar[str] = "multinomial"

    probability: Slot
    over: Dim
    total: Annotated[Slot, AfterValidator(_check_whole)] = Constant(value=0.0)

    @property
    def axes(self) -> tuple[str, ...]:
        return (*self.dims, self.over)

    @property
    def simplex(self) -> str | None:
        return self.over

    def slot_axes(self, slot: str) -> tuple[str, ...]:
        return self.dims if slot == "total" else self.axes

    def told_by_data(self, value: Array, axis: int) -> dict[str, Array]:
        return {"total": value.sum(axis=axis, keepdims=True).astype(np.float64)}

    def check(self, values: Array) -> str | None:
        return check_counts(values)

    def generate(self, stream: Stream, **slots: Any) -> Array:
        total = np.asarray(slots["total"])
        if not (total >= 0).all() or not total.any():
            raise DataError(f"{self.name}: give total= (a positive number) to generate from it")
        if (total % 1).any():
            raise DataError(f"{self.name}: total= must be a whole number to generate from it")
        return vectorised.multinomial(stream, total, slots["probability"], stream.simplex)

    def log_density(self, value: Array, **slots: Any) -> Array:
        axis = slots["axis"]
        each = self.log_density_cells(value, **slots)
        return each + gammaln(value.sum(axis=axis, keepdims=True) + 1.0) / value.shape[axis]

    def log_density_cells(self, value: Array, **slots: Any) -> Array:
        """Log density of cells without the factorial of the total, which each vector adds once."""
        return xlogy(value, slots["probability"]) - gammaln(value + 1.0)

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Mult}}(N,\ {slots['probability']})"


counts_are_data(Multinomial, "probability")
evidence_rule(
    Multinomial,
    "probability",
    relation="given",
    count="count",
    exposure=0.0,
    normalised=True,
    equation=r"(x,\ 0)",
    reference="the multinomial likelihood",
)
