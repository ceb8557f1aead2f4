"""Samplers that integrate θ out: which patterns allow it, and what their steps read.

Given the counts, θ_j is a gamma vector of one rate c_j + q_j, so that it leaves

    P(z = k) ∝ φ_vk (m_jk + a_jk) s_j / (c_j + q_j)

and the last factor matters only beside further terms of the rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pgbn.engine.first_layer.pattern import Pattern, find_patterns
from pgbn.network.steps import Step
from pgbn.network.wiring import Wiring
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.expression import Constant
from pgbn.nodes.rules.registry import find_link

__all__ = ["plain_pattern", "why_scores_stay", "without_scores"]


def why_scores_stay(wiring: Wiring, pattern: Pattern, patterns: Sequence[Pattern]) -> str:
    """Why θ cannot be integrated out of the counts; "" if it can."""
    node, scores = wiring.nodes[pattern.observed], wiring.nodes[pattern.scores]
    link, topic = find_link(node), pattern.topic
    if link is None or link.counts is not None:
        return f"the data of {type(node).__name__} are not counts"
    alike = {each.observed for each in patterns if each.scores == scores.name}
    if any(source.child.name not in alike for source in wiring.sources[scores.name]):
        return f"{scores.name} has other children"
    if wiring.connections.time_dim(scores.name) is not None:
        return f"{scores.name} is a chain"
    if isinstance(scores, Dirichlet):
        return "the rate has further terms" if pattern.further(wiring) else ""
    varies = wiring.exposures.slot_dims(scores, "rate") | wiring.exposures.heard_dims(scores.name)
    return f"the rate of {scores.name} varies over {topic}" if topic in varies else ""


def plain_pattern(wiring: Wiring) -> Pattern | str:
    """The first layer of a network that has one alone, of the plain form x ~ Pois(φ·θ) with η a
    number or φ given; or the reason why not."""
    patterns = find_patterns(wiring)
    if isinstance(patterns, str):
        return patterns
    pattern = patterns[0]
    scale, loadings = pattern.scale(wiring), wiring.nodes[pattern.loadings]
    assert isinstance(loadings, Dirichlet)
    if len(patterns) > 1:
        return "there are several observed nodes"
    if pattern.index:
        return f"{pattern.scores} is read through {pattern.index}"
    if pattern.further(wiring) or scale.factors or scale.coefficient != 1.0:
        return f"the rate of {pattern.observed} is not a product of two nodes"
    eta, free = loadings.concentration, loadings.name not in wiring.held
    if free and (not isinstance(eta, Constant) or eta.value.ndim):
        return f"the concentration of {loadings.name} is not a number"
    return why_scores_stay(wiring, pattern, patterns) or pattern


def without_scores(
    wiring: Wiring, pattern: Pattern, step: Step, method: str, equation: str, loadings: bool
) -> Step:
    """The step of the counts with θ integrated out, and φ too unless ``loadings`` are held.

    Labels of other data that share θ are given, too. They are kept from sweep to sweep, and no step
    integrates them out: they are always current, and no step reads them by name.
    """
    scores, own = wiring.nodes[pattern.scores], (pattern.loadings, pattern.scores)
    reads = wiring.reads.of_slot(scores, pattern.slot)
    reads |= {read for read in step.reads if read.name not in own}  # what stands beside φ·θ
    out = {scores.name: frozenset[str]()}
    if loadings:
        reads |= {read for read in step.reads if read.name == pattern.loadings}
    else:
        out[pattern.loadings] = frozenset()
        if pattern.loadings not in wiring.held:  # else the schedule refuses the step
            reads |= wiring.reads.of_slot(wiring.nodes[pattern.loadings], "concentration")
    if pattern.further(wiring):
        reads |= wiring.reads.of_names(scores, ("rate", "exposure"))
        equation += r",\quad P(z=b) \propto b_{vj}(c_j + q_j)/s_j"
    marginalises = {**step.marginalises, **out}
    return replace(
        step, reads=frozenset(reads), marginalises=marginalises, equation=equation, method=method
    )
