"""Poisson: observed counts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlogy

from pgbn.errors import notify
from pgbn.nodes.base import Array, Observed
from pgbn.nodes.expression import Slot
from pgbn.nodes.rules import counts_are_data, evidence_rule
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream

LARGEST_RATE = 1e15  # beyond it, counts are not exact as floats


def check_counts(values: Array) -> str | None:
    """What is wrong with data that must be counts, or None.

    Parameters
    ----------
    values : array
        The data.

    Returns
    -------
    str or None
        The fault, such as "negative values", for an error.

    Examples
    --------
    >>> pgbn.extend.check_counts(np.array([0, 2]))
    >>> "negative" in pgbn.extend.check_counts(np.array([0, -2]))
    True
    """
    if (values < 0).any():
        return f"negative values (least: {values.min():g}); counts are 0, 1, 2, …"
    if values.dtype.kind == "f" and (values != np.floor(values)).any():
        bad = float(values[values != np.floor(values)][0])
        remedy = (
            "if they are weights, such as those of tf-idf, count with scikit-learn's "
            "CountVectorizer; for real data use pgbn.PoissonGamma, of a ready-made model "
            'link="gamma" (pgbn fit --link gamma)'
        )
        return f"non-integer values (such as {bad:g}); {remedy}"
    if values.size and values.max() >= 2**31:
        return f"a count of {values.max():g}; counts must be below 2^31: rescale the data"
    return None


class Poisson(Observed):
    """x ~ Pois(rate): counts, P(x) = rate^x e^{−rate} / x!.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    rate : number, array, node or expression
        The rate, at least 0. A product such as ``phi @ theta`` is summed over the dims that x
        does not have.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.

    Examples
    --------
    >>> theta = pgbn.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    >>> phi = pgbn.Dirichlet("phi", 0.1, over="term", dims="topic")
    >>> x = pgbn.Poisson("x", rate=phi @ theta, dims=("doc", "term"))
    >>> print(pgbn.Network(x, sizes={"topic": 2}))
    Network of 3 nodes (topic=2, term=from data, doc=from data)
      phi[topic, term] ~ Dirichlet(concentration=0.1)  latent
      theta[doc, topic] ~ Gamma(shape=1, rate=1)  latent
      x[doc, term] ~ Poisson(rate=phi @ theta)  observed
    """

    tag: ClassVar[str] = "poisson"

    rate: Slot

    def check(self, values: Array) -> str | None:
        return check_counts(values)

    def generate(self, stream: Stream, **slots: Any) -> Array:
        largest = np.max(slots["rate"])
        if largest > LARGEST_RATE:
            notify(
                f"{self.name}: a rate of {largest:.3g} was drawn; its counts are limited to 1e18, "
                "so these data do not follow the model. Choose priors that give smaller rates"
            )
        return vectorised.poisson(stream, slots["rate"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        return xlogy(value, slots["rate"]) - slots["rate"] - gammaln(value + 1.0)

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Pois}}({slots['rate']})"


counts_are_data(Poisson, "rate")
evidence_rule(
    Poisson,
    "rate",
    relation="given",
    count="count",
    exposure=1.0,
    equation=r"(x,\ 1)",
    reference="the Poisson likelihood",
)
