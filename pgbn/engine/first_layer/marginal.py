"""Samplers that integrate θ out: which patterns allow it, and what their steps read.

Given the counts, θ_j is a gamma vector of one rate c_j + q_j, so that it leaves

    P(z = k) ∝ φ_vk (m_jk + a_jk) s_j / (c_j + q_j)

and the last factor matters only beside further terms of the rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pgbn.engine.first_layer.pattern import Pattern
from pgbn.network.steps import Step
from pgbn.network.wiring import Wiring
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.rules.registry import find_link

__all__ = ["why_scores_stay", "without_scores"]


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
        reads |= wiring.reads.of_slot(wiring.nodes[pattern.loadings], "concentration")
    if pattern.further(wiring):
        reads |= wiring.reads.of_names(scores, ("rate", "exposure"))
        equation += r",\quad P(z=b) \propto b_{vj}(c_j + q_j)/s_j"
    marginalises = {**step.marginalises, **out}
    return replace(
        step, reads=frozenset(reads), marginalises=marginalises, equation=equation, method=method
    )
