"""Hidden counts in the shape of a gamma, drawn from their conditional at once.

    h ~ Pois(λ), θ ~ Gam(a + h, c):   P(h | θ) ∝ (λcθ)^h / (h! Γ(a + h)),

the Bessel law of order a − 1 at 2√(λcθ). Elsewhere a hidden count moves by slice sampling.
"""

from __future__ import annotations

import numpy as np

from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, Run, maker
from pgbn.network.terms import Polynomial
from pgbn.nodes.base import Node
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.hidden_poisson import HiddenPoisson
from pgbn.samplers import vectorised

__all__ = ["hidden_draw"]


@maker("fused", Draw, by_rows=True)
def hidden_draw(program: Program, task: Draw) -> Run | None:
    """Draw the hidden counts that each stand alone in the shape of one gamma."""
    node, name = task.node, task.node.name
    if type(node) is not HiddenPoisson or node.update:
        return None
    children = list(program.wiring.connections.children[name].values())
    if len(children) != 1 or not _fits(program, node, children[0]):
        return None
    gamma = children[0].name
    offset, rate = program.slot(gamma, "shape").get, program.slot(gamma, "rate").get
    own = program.slot(name, "rate").get

    def run(key: int) -> None:
        before = program.values[name]
        program.values[name] = np.zeros_like(before)
        rest = offset()  # the shape without the count
        program.values[name] = before
        theta = program.values[gamma].reshape(program.shape4[gamma])
        drawn = vectorised.hidden_count(program.stream(name, key), own() * rate() * theta, rest)
        program.values[name] = drawn.astype(np.float64).reshape(program.shape[name])

    return run


def _fits(program: Program, node: Node, gamma: Node) -> bool:
    """Whether every count stands in the shape of one gamma of its own, and nowhere else."""
    polynomials = program.wiring.polynomials
    return (
        type(gamma) is Gamma
        and not program.is_in_time(gamma.name)
        and node.name not in polynomials[gamma.name, "rate"].names
        and program.storage[gamma.name] == program.storage[node.name]
        and _stands_alone(node, polynomials[gamma.name, "shape"])
    )


def _stands_alone(node: Node, shape: Polynomial) -> bool:
    """Whether the node is one of the terms of a sum, as it is."""
    terms = [term for term in shape.terms if node.name in (f.name for f in term.factors)]
    if len(terms) != 1 or len(terms[0].factors) != 1 or terms[0].coefficient != 1.0:
        return False
    factor = terms[0].factors[0]
    return factor.dims == factor.own_dims and not factor.lookups and not terms[0].contracted
