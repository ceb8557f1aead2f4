"""A node type of your own: copy this file, rename, and answer three questions.

The example is the exponential layer θ ~ Exp(c): what a node needs, and nothing more. How it is
generated, what it sends to each parent, and how it is drawn given what it receives. At the end
the type is composed with others and tested. See docs/new-node.md.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator
from scipy.stats import gamma

import pgbn
from pgbn import extend
from pgbn.extend import Array, Stream, check_positive, vectorised


class Exponential(extend.Latent):
    """θ ~ Exp(rate c), density c e^{−cθ}; ``gain`` adds Gam(gain, c) once counts are received."""

    tag: ClassVar[str] = "example.exponential"  # the "type" in JSON: unique, with your prefix

    rate: extend.Slot
    # The posterior of an exponential is a gamma of shape 1 + m. A draw rule stays in the family of
    # its node, so the family is widened by a slot that users leave at its default.
    gain: extend.Slot = pgbn.Constant(0.0)

    _positive = field_validator("rate")(check_positive)

    # 1. How is it generated? Every slot arrives as a number or a 4-d array.
    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.gamma(stream, 1.0 + slots["gain"], slots["rate"])

    def log_density(self, value: Array, **slots: Any) -> Array:  # of the widened family
        return np.asarray(gamma.logpdf(value, 1.0 + slots["gain"], scale=1 / slots["rate"]))

    def formula(self, **slots: str) -> str:
        return rf"\mathrm{{Exp}}({slots['rate']})"


# 2. Which evidence does it send to its rate? c^1 e^{−θc}: the count 1 and, as exposure, its own
#    value. The value is read, so the relation is "given". Without `stream` nothing is drawn.
@extend.evidence_rule(
    Exponential,
    "rate",
    relation="given",
    exposure="value",
    equation=r"(1,\ \theta)",
    reference="gamma–exponential conjugacy",
)
def _to_rate(value: Array) -> Array:
    return np.ones_like(value)


# 3. How is it drawn, given that it receives θ^m e^{−qθ}? The new values of the slots, as a dict.
@extend.draw_rule(
    Exponential,
    equation=r"\mathrm{Gam}(1 + m,\ c + q)",
    reference="gamma–Poisson conjugacy",
)
def _posterior(count: Array, exposure: Array, rate: Array) -> dict[str, Array]:
    return {"gain": count, "rate": rate + exposure}


def network() -> pgbn.Network:
    """The new layer between nodes of pgbn: a gamma above it, a mix and counts below."""
    speed = pgbn.Gamma("speed", 3, 2, dims="topic")
    theta = Exponential("theta", speed, dims=("doc", "topic"))
    phi = pgbn.Dirichlet("phi", 0.5, over="term", dims="topic")
    return pgbn.Network(pgbn.Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 2})


if __name__ == "__main__":
    from pgbn.testing import check_conjugacy, geweke

    net = network()
    print(net, net.schedule, sep="\n\n", end="\n\n")
    algebra = check_conjugacy(net, sizes={"doc": 2, "term": 3})
    result = geweke(net, sizes={"doc": 2, "term": 3}, replicates=20_000, sweeps=8)
    print(algebra, result, sep="\n\n")
    if algebra.failures or result.worst > 4:
        raise SystemExit("a rule is wrong: see docs/new-node.md")
