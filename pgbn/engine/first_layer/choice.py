"""The samplers of the first layer: one posterior, with more or less of it integrated out.

Where data are counts x ~ Pois(φ·θ) (or multinomial), with φ ~ Dir(η) and θ a gamma or
Dirichlet layer, the counts may be drawn

- "blocked":   given φ and θ, cell by cell;
- "partial":   given φ, with θ integrated out, token by token, documents independent;
- "collapsed": with φ and θ integrated out, token by token.

All are exact. "composed" is "blocked" made of the general rules: the readable reference that
the kernels are tested against, and the only one for networks of another form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pgbn.engine.compile.program import Program
from pgbn.engine.first_layer.cost import blocked_is_cheaper
from pgbn.engine.fused.gamma_layers import draws_as
from pgbn.errors import NetworkError, StaleReadError
from pgbn.network.schedule import Schedule
from pgbn.network.steps import Step
from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.expression import Constant
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.rules.registry import find_link

__all__ = ["Pattern", "choose", "find_pattern", "variant_step"]

# By default the first that is possible: it mixes best. `choose` makes one exception, by cost.
_PREFERRED = ("collapsed", "partial", "blocked")
VARIANTS = ("auto", "collapsed", "partial", "blocked", "composed")


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
    for part, built_in in ((loadings, Dirichlet), (scores, Gamma), (scores, Dirichlet)):
        if isinstance(part, built_in) and not draws_as(wiring, part, built_in):
            return f"{part.name} ({type(part).__name__}) has rules or a generate of its own"
    if wiring.rules[node.name, link.slot].count != "count":
        return f"the rule of {type(node).__name__} for {link.slot} does not pass the counts on"
    if len(term.contracted) != 1 or any(f.dims != f.own_dims for f in term.factors):
        return f"the {link.slot} of {node.name} is not summed over one dim"
    return _check(wiring, node, loadings, scores, term.contracted[0])


def _check(
    wiring: Wiring, node: Node, loadings: Dirichlet, scores: Node, topic: str
) -> Pattern | str:
    if len(wiring.sources[loadings.name]) > 1 or len(wiring.sources[scores.name]) > 1:
        return f"{loadings.name} or {scores.name} has other children"
    if not isinstance(loadings.concentration, Constant) or loadings.concentration.value.ndim:
        return f"the concentration of {loadings.name} is not a number"
    if loadings.axes != (topic, node.axes[-1]) or scores.axes != (*node.axes[:-1], topic):
        return f"{loadings.name} or {scores.name} has other dims"
    if isinstance(scores, Dirichlet):
        if scores.over != topic:
            return f"{scores.name} does not sum to one over {topic}"
        return Pattern(node.name, loadings.name, scores.name, "concentration")
    if wiring.polynomials[scores.name, "shape"].along is not None:
        return f"{scores.name} is a chain"
    exposure = wiring.exposure(scores.name)
    if topic in wiring.slot_dims(scores, "rate") or any(topic in p.dims for p in exposure):
        return f"the rate of {scores.name} varies over {topic}"
    return Pattern(node.name, loadings.name, scores.name, "shape")


def variant_step(wiring: Wiring, step: Step, layer1: str) -> Step:
    """The counts of the data as ``layer1`` draws them; other steps are unchanged."""
    pattern = find_pattern(wiring)
    if isinstance(pattern, str) or step.name != f"counts({pattern.observed})":
        return step
    scores = wiring.nodes[pattern.scores]
    reads = wiring.slot_reads(scores, pattern.slot)
    out = {pattern.scores: frozenset[str]()}
    equation = r"P(z=k) \propto \phi_{vk}(m^{-}_{jk} + a_{jk})"
    if layer1 == "partial":
        reads |= {read for read in step.reads if read.name == pattern.loadings}
    else:
        out[pattern.loadings] = frozenset()
        equation = (
            r"P(z=k) \propto \frac{\eta + n^{-}_{vk}}{V\eta + n^{-}_{k}}(m^{-}_{jk} + a_{jk})"
        )
    return replace(
        step,
        reads=frozenset(reads),
        marginalises={**step.marginalises, **out},
        equation=equation,
        method=layer1,
    )


def choose(program: Program, layer1: str) -> tuple[str, Schedule]:
    """The sampler of the first layer and the schedule that goes with it."""
    if layer1 not in VARIANTS:
        raise NetworkError(f"layer1={layer1!r}: must be one of {', '.join(VARIANTS)}")
    if layer1 == "composed":
        return layer1, program.network.schedule
    pattern = find_pattern(program.wiring)
    reason = pattern if isinstance(pattern, str) else ""
    if not reason and isinstance(pattern, Pattern):
        if program.cells[pattern.observed].missing is not None:
            reason = "some cells are missing"
        elif program.cells[pattern.observed].values.sum() >= 2**31:
            reason = "there are 2^31 tokens or more"
        elif program.shape[pattern.loadings][-1] >= 2**16:
            reason = "there are more than 65,535 topics"
    if reason:
        if layer1 in ("auto", "blocked"):
            return "composed", program.network.schedule
        raise NetworkError(
            f"layer1={layer1!r} is not available: {reason}; use layer1='auto' or 'blocked'"
        )
    if layer1 == "auto" and isinstance(pattern, Pattern):
        cells, topics = program.cells[pattern.observed], program.shape[pattern.loadings][-1]
        large = blocked_is_cheaper(cells.values, cells.rows, cells.columns, topics)
        for variant in ("blocked",) if large else _PREFERRED:
            try:
                return variant, program.network.schedule_for(variant)
            except StaleReadError:  # the user's order needs more values than this one keeps
                continue
    return layer1, program.network.schedule_for(layer1)
