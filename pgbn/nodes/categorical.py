"""Categorical: a hidden choice among finitely many, the component of a mixture or a state."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator
from scipy.special import xlogy

from pgbn.nodes.base import Array, Latent, check_probability
from pgbn.nodes.expression import Dim, Slot
from pgbn.nodes.rules import evidence_rule, kernel_rule
from pgbn.nodes.slice_sampling import LogConditional
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream


class Categorical(Latent):
    """z ~ Cat(π) along the dim ``over``: zeros with a single 1, P(z_k = 1) = π_k.

    ``rate[z]``, or ``z @ rate``, is the rate of the chosen component. With a `Shift` in its
    probability, z is a Markov chain of hidden states. Forward filtering and backward sampling
    draw it.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    probability : number, array, node or expression
        The probabilities π, which sum to one along ``over``: usually a `pgbn.Dirichlet`.
    over : str
        The dim of the alternatives.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> pi = pgbn.Dirichlet("pi", 1.0, over="group")
    >>> z = pgbn.Categorical("z", pi, over="group", dims="doc")
    >>> rate = pgbn.Gamma("rate", 1.0, 1.0, dims="group")
    >>> pgbn.Poisson("x", rate[z], dims="doc")
    Poisson('x', rate=rate[z], dims=('doc',))
    """

    tag: ClassVar[str] = "categorical"
    has_zeros: ClassVar[bool] = True
    support: ClassVar[str] = ""
    finite: ClassVar[bool] = True

    probability: Slot
    over: Dim

    _range = field_validator("probability")(check_probability)

    @property
    def axes(self) -> tuple[str, ...]:
        return (*self.dims, self.over)

    @property
    def simplex(self) -> str | None:
        return self.over

    def refuses(self, value: Array) -> str | None:
        bad = value[(value != 0) & (value != 1)]
        if bad.size:
            return f"has the value {bad.flat[0]:g}; a choice is zeros with a single 1"
        return super().refuses(value)

    refuses_mean = Latent.refuses

    def generate(self, stream: Stream, **slots: Any) -> Array:
        axis = stream.simplex
        drawn = vectorised.multinomial(stream, 1, slots["probability"], axis)
        return drawn.astype(np.float64)

    def log_density(self, value: Array, **slots: Any) -> Array:
        return xlogy(value, slots["probability"])

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Cat}}({slots['probability']})"


evidence_rule(
    Categorical,
    "probability",
    relation="given",
    count="value",
    integer=True,
    exposure=0.0,
    normalised=True,
    log_probability=lambda drawn, value: np.zeros(np.shape(value)),
    equation=r"(z,\ 0)",
    reference="the multinomial likelihood of a single choice",
)


def choices(shape: tuple[int, ...], axis: int) -> list[Array]:
    """One array for each choice, which every line along the axis makes."""
    every = np.eye(shape[axis])
    sizes = [1] * len(shape)
    sizes[axis] = shape[axis]
    return [np.ascontiguousarray(np.broadcast_to(e.reshape(sizes), shape)) for e in every]


@kernel_rule(
    Categorical,
    equation=r"\mathrm{Cat}\bigl(\propto p(z = k \mid -)\bigr)_{k}",
    reference="the conditional of a finite choice, from the weight of every choice",
)
def _weigh(stream: Stream, log_conditional: LogConditional) -> Array:
    axis = stream.simplex
    logs = [log_conditional(choice) for choice in choices(stream.shape, axis)]
    return vectorised.categorical(stream, np.concatenate(logs, axis=axis), axis)
