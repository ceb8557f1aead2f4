"""BernoulliPoisson: binary data, the indicator of a positive Poisson count."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pgbn.nodes import log_pmf
from pgbn.nodes.base import Array, Node, Observed
from pgbn.nodes.expression import Slot
from pgbn.nodes.rules import evidence_rule, find_link, link_rule
from pgbn.samplers import vectorised
from pgbn.samplers.elementary import expm1_of, log_of
from pgbn.samplers.random import Stream


class BernoulliPoisson(Observed):
    """b = 1(n ≥ 1), n ~ Pois(rate): P(b = 1) = 1 − e^{−rate}.

    Data are 0 and 1. A cell of 0 costs nothing, as with counts.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    rate : number, array, node or expression
        The rate, at least 0, of the hidden counts n.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.

    Examples
    --------
    >>> theta = pgbn.Gamma("theta", 1.0, 1.0, dims="doc")
    >>> b = pgbn.BernoulliPoisson("b", theta, dims=("doc", "term"))
    """

    tag: ClassVar[str] = "bernoulli_poisson"
    positive_needs_counts: ClassVar[bool] = True

    rate: Slot

    def check(self, values: Array) -> str | None:
        bad = values[(values != 0) & (values != 1)]
        if bad.size:
            return f"the value {bad[0]:g}; BernoulliPoisson takes 0 and 1 (try data > 0)"
        return None

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.bernoulli(stream, -expm1_of(-np.asarray(slots["rate"]))).astype(np.int64)

    def log_density(self, value: Array, **slots: Any) -> Array:
        rate = slots["rate"]
        return np.where(value > 0, log_of(-expm1_of(-rate)), -rate)

    def formula(self, **slots: str) -> str:
        return rf"1(n \ge 1),\ n \sim \mathrm{{Pois}}({slots['rate']})"


@link_rule(
    BernoulliPoisson,
    "rate",
    equation=r"n \mid b=1 \sim \mathrm{Pois}_{+}(\lambda)",
    reference="Zhou 2015, Bernoulli–Poisson link",
    log_probability=lambda drawn, rate: log_pmf.truncated_poisson(drawn, rate),
)
def _counts(stream: Stream, rate: Array) -> Array:
    return vectorised.truncated_poisson(stream, rate)


def draws_ones(node: Node) -> bool:
    """Whether a node draws its counts by this rule (above 0 given a 1), and only its rate
    receives them."""
    link = find_link(node)
    return link is not None and link.counts is _counts and node.slots() == ("rate",)


evidence_rule(
    BernoulliPoisson,
    "rate",
    relation="given",
    count="count",
    exposure=1.0,
    equation=r"(n,\ 1)",
    reference="the Poisson likelihood of the latent counts",
)
