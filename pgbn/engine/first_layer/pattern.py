"""The pattern of a first layer: counts x ~ Pois(φ·θ) (or multinomial), with φ ~ Dir(η) and θ a
gamma or Dirichlet layer. Networks that have it may draw its counts by a sampler of their own."""

from __future__ import annotations

from dataclasses import dataclass

from pgbn.engine.fused.gamma_layers import draws_as
from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.expression import Constant
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.rules.registry import find_link

__all__ = ["Pattern", "find_pattern"]


@dataclass(frozen=True)
class Pattern:
    """counts of ``observed`` ~ Pois(``loadings`` · ``scores``): the names of the three nodes,
    and the slot that holds the prior of the scores."""

    observed: str
    loadings: str
    scores: str
    slot: str


def find_pattern(wiring: Wiring) -> Pattern | str:
    """The first layer of a network, or the reason why it has no kernel of its own."""
    observed = [node for node in wiring.nodes.values() if isinstance(node, Observed)]
    if len(observed) != 1:
        return "there are several observed nodes"
    node = observed[0]
    link = find_link(node)
    if link is None or link.counts is not None:
        return f"the data of {type(node).__name__} are not counts"
    polynomial = wiring.polynomials[node.name, link.slot]
    if len(polynomial.terms) != 1 or len(polynomial.terms[0].factors) != 2:
        return f"the {link.slot} of {node.name} is not a product of two nodes"
    term = polynomial.terms[0]
    nodes = [wiring.nodes.get(factor.name) for factor in term.factors]
    terms = node.axes[-1] if node.axes else ""
    loadings = next((n for n in nodes if isinstance(n, Dirichlet) and n.over == terms), None)
    scores = next((n for n in nodes if n is not loadings), None)
    if loadings is None or not isinstance(scores, (Gamma, Dirichlet)):
        return f"the {link.slot} of {node.name} is not a Dirichlet times a Gamma or Dirichlet"
    if scores.name in wiring.held:
        return f"{scores.name} is given"
    for part, built_in in ((loadings, Dirichlet), (scores, Gamma), (scores, Dirichlet)):
        given = part.name in wiring.held  # then it is not drawn
        if not given and isinstance(part, built_in) and not draws_as(wiring, part, built_in):
            return f"{part.name} ({type(part).__name__}) has rules or a generate of its own"
    if wiring.rules[node.name, link.slot].count != "count":
        return f"the rule of {type(node).__name__} for {link.slot} does not pass the counts on"
    if len(term.contracted) != 1 or any(f.dims != f.own_dims for f in term.factors):
        return f"the {link.slot} of {node.name} is not summed over one dim"
    return _check(wiring, node, loadings, scores, term.contracted[0])


def _check(
    wiring: Wiring, node: Node, loadings: Dirichlet, scores: Node, topic: str
) -> Pattern | str:
    free = loadings.name not in wiring.held  # else its prior does not matter, nor who hears of it
    sources = wiring.sources
    if (free and len(sources[loadings.name]) > 1) or len(sources[scores.name]) > 1:
        return f"{loadings.name} or {scores.name} has other children"
    eta = loadings.concentration
    if free and (not isinstance(eta, Constant) or eta.value.ndim):
        return f"the concentration of {loadings.name} is not a number"
    if loadings.axes != (topic, node.axes[-1]) or scores.axes != (*node.axes[:-1], topic):
        return f"{loadings.name} or {scores.name} has other dims"
    if isinstance(scores, Dirichlet):
        return Pattern(node.name, loadings.name, scores.name, "concentration")
    if wiring.polynomials[scores.name, "shape"].along is not None:
        return f"{scores.name} is a chain"
    heard = wiring.exposures.heard(scores.name)
    if topic in wiring.exposures.slot_dims(scores, "rate") or any(topic in p.dims for p in heard):
        return f"the rate of {scores.name} varies over {topic}"
    return Pattern(node.name, loadings.name, scores.name, "shape")
