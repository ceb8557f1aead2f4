"""Beta: a probability, and BetaOdds: the rate (1−p)/p of a probability p."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator
from scipy.special import betaln, xlogy

from pgbn.nodes.base import Array, Latent, check_positive
from pgbn.nodes.expression import Slot
from pgbn.nodes.rules import draw_rule
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream

# a p that was rounded to 0 or 1 is still possible
_LEAST, _LEFT = float(np.finfo(np.float64).tiny), 0.5 * float(np.finfo(np.float64).epsneg)


class _BetaParameters(Latent):
    """The base of both types: the parameters of p ~ Beta(a, b)."""

    a: Slot
    b: Slot

    _positive = field_validator("a", "b")(check_positive)


class Beta(_BetaParameters):
    """p ~ Beta(a, b), a probability, such as that of a gate.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    a : number, array, node or expression
        The a > 0. The mean is a / (a + b).
    b : number, array, node or expression
        The b > 0.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> pi = pgbn.Beta("pi", 1.0, 1.0, dims="topic")
    >>> gate = pgbn.Bernoulli("h", pi, dims=("doc", "topic"))
    """

    tag: ClassVar[str] = "beta"
    support: ClassVar[str] = "unit"

    def refuses(self, value: Array) -> str | None:
        bad = value[~((value >= 0) & (value <= 1))]
        return f"has the value {bad.flat[0]:g}; a probability is 0 to 1" if bad.size else None

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.beta(stream, slots["a"], slots["b"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        a, b = slots["a"], slots["b"]
        p, rest = np.maximum(value, _LEAST), np.maximum(1 - value, _LEFT)
        return xlogy(a - 1, p) + xlogy(b - 1, rest) - betaln(a, b)

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Beta}}({slots['a']},\ {slots['b']})"


class BetaOdds(_BetaParameters):
    """c = (1−p)/p with p ~ Beta(a, b): the rate of a gamma that makes its counts NB(·, p).

    The value is c, drawn as a ratio of gammas in log space, so p near 0 or 1 keeps its precision.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    a : number, array, node or expression
        The a > 0 of p.
    b : number, array, node or expression
        The b > 0 of p.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> c = pgbn.BetaOdds("c", 1.0, 1.0, dims="doc")
    >>> theta = pgbn.Gamma("theta", shape=0.5, rate=c, dims=("doc", "topic"))
    """

    tag: ClassVar[str] = "beta_odds"
    largest: ClassVar[float] = np.inf  # p may be as small as any float

    def begin(self, value: Array) -> Array:
        return np.clip(value, 0.01, 100.0)

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.beta_odds(stream, slots["a"], slots["b"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        # p = 1/(1+c), |dp/dc| = p²: beta-prime density of c
        a, b = slots["a"], slots["b"]
        return xlogy(b - 1, value) - (a + b) * np.log1p(value) - betaln(a, b)

    def formula(self, **slots: str) -> str:
        return rf"(1-p)/p,\ p \sim \mathrm{{Beta}}({slots['a']},\ {slots['b']})"


# both receive p^m (1−p)^n, but as "odds" only if the child means the rate (1−p)/p
@draw_rule(
    BetaOdds,
    kind="odds",
    equation=r"\mathrm{Beta}(a + m,\ b + n)",
    reference="beta–negative binomial conjugacy",
)
@draw_rule(
    Beta,
    kind="probability",
    equation=r"\mathrm{Beta}(a + m,\ b + n)",
    reference="beta–binomial conjugacy",
)
def _posterior(count: Array, exposure: Array, a: Array, b: Array) -> dict[str, Array]:
    return {"a": a + count, "b": b + exposure}
