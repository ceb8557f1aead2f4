"""The pattern of a first layer: counts

    x_jv ~ Pois(s_j Σ_k φ_vk θ_jk + Σ_e b_je d_ve)

(or multinomial), with φ ~ Dir(η) and θ a gamma or Dirichlet layer. The factor s_j of a row and the
further terms may be missing; counts may stand behind data of another kind. Several observed nodes
of a network may have the pattern, and share θ. The counts of those that have it may be drawn by a
sampler of their own.

Rows may also read scores that they share, θ_{g(j)k} with known g, if data are counts and there are
no further terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pgbn.engine.steps.gamma_layers import draws_as
from pgbn.network.steps import Step
from pgbn.network.terms import Factor, Lagged, Term, ViaEdge
from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.expression import Constant
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.rules.registry import find_link


@dataclass(frozen=True)
class Pattern:
    """counts of ``observed`` ~ Pois(s · ``loadings`` · ``scores`` + …): the names of the three
    nodes, the ``slot`` that holds the prior of the scores, the dim ``topic`` that is summed over,
    the ``number`` of the term of the rate that has the scores, and the categories through which
    rows read them, if they do (``index``)."""

    observed: str
    loadings: str
    scores: str
    slot: str
    topic: str
    number: int = 0
    index: str = ""

    def terms(self, wiring: Wiring) -> tuple[Term, ...]:
        """All terms of the rate."""
        link = find_link(wiring.nodes[self.observed])
        assert link is not None
        return wiring.polynomials[self.observed, link.slot].terms

    def further(self, wiring: Wiring) -> tuple[Term, ...]:
        """The terms beside that with the scores."""
        terms = self.terms(wiring)
        return (*terms[: self.number], *terms[self.number + 1 :])

    def factor(self, wiring: Wiring) -> Factor:
        """The scores, as the rate reads them."""
        factors = self.terms(wiring)[self.number].factors
        return next(factor for factor in factors if factor.name == self.scores)

    def scale(self, wiring: Wiring) -> Term:
        """s_j: the term with the scores, without φ and θ."""
        term = self.terms(wiring)[self.number]
        factors = tuple(f for f in term.factors if f.name not in (self.loadings, self.scores))
        summed = tuple(dim for dim in term.contracted if dim != self.topic)
        return Term(term.coefficient, factors, summed)


def find_patterns(wiring: Wiring) -> tuple[Pattern, ...] | str:
    """The first layers of a network, or the reason why it has none with a kernel of its own."""
    observed = [node for node in wiring.nodes.values() if isinstance(node, Observed)]
    found = [_pattern_of(wiring, node) for node in observed]
    return tuple(each for each in found if isinstance(each, Pattern)) or str(found[0])


def _pattern_of(wiring: Wiring, node: Node) -> Pattern | str:
    link = find_link(node)
    if link is None:
        return f"the data of {type(node).__name__} are not counts"
    if link.all_cells:
        return f"the link of {type(node).__name__} looks at every cell"
    rule = wiring.rules.get((node.name, link.slot))
    terms = wiring.polynomials[node.name, link.slot].terms
    looked = next(
        (f for term in terms for f in term.factors if not _is_read_by_rows(f, node)), None
    )
    if looked is not None:
        return f"{looked.name} is read through {looked.lookups[0].name}"
    found = [_match(wiring, node, link.slot, term, number) for number, term in enumerate(terms)]
    pattern = next((each for each in found if isinstance(each, Pattern)), None)
    if pattern is None or rule is None:
        return str(found[0])
    if rule.count != "count":
        return f"the rule of {type(node).__name__} for {link.slot} does not pass the counts on"
    if pattern.loadings not in wiring.held and len(wiring.sources[pattern.loadings]) > 1:
        return f"{pattern.loadings} has other children"
    # Topics are drawn in single precision, which cuts off what is tiny; a density would notice.
    readers = [
        name for name, held in wiring.connections.children.items() if pattern.loadings in held
    ]
    if readers:
        return f"{readers[0]} is drawn by a kernel that reads the density of {pattern.loadings}"
    if pattern.index and (link.counts is not None or len(terms) > 1):
        what = "further terms" if len(terms) > 1 else "counts that are drawn"
        return f"{pattern.scores} is read through {pattern.index}, beside {what}"
    further = [factor for term in pattern.further(wiring) for factor in term.factors]
    if any(factor.name == pattern.scores for factor in further):
        return f"{pattern.scores} stands in several terms of the {link.slot} of {node.name}"
    if any(_is_by_cell(factor, node) for factor in further):
        return f"a further term of the {link.slot} of {node.name} varies from cell to cell"
    return pattern


def _is_read_by_rows(factor: Factor, node: Node) -> bool:
    """Whether a factor is read as it is or, entry by entry, through known categories of rows."""
    if any(isinstance(lookup, (Lagged, ViaEdge)) for lookup in factor.lookups):
        return False
    return all(node.axes[-1] not in lookup.dims for lookup in factor.lookups)


def _is_by_cell(factor: Factor, node: Node) -> bool:
    """Whether a factor varies along the last dim of the data and along another one."""
    *rows, terms = node.axes
    return terms in factor.dims and any(dim in factor.dims for dim in rows)


def _rows_read(factor: Factor, rows: Sequence[str]) -> Sequence[str]:
    """The dims that the scores of rows have beside the topic: those of the rows, or the one dim
    that all rows read through their categories."""
    if len(factor.lookups) == 1 and factor.lookups[0].dims == tuple(rows):
        return (factor.lookups[0].dim,)
    return rows


def _match(wiring: Wiring, node: Node, slot: str, term: Term, number: int) -> Pattern | str:
    """The pattern, if a term of the rate is s_j Σ_k φ_vk θ_jk."""
    if len(node.axes) > 3:
        return f"{node.name} has more than three dims"
    if len(term.factors) < 2 or not node.axes:
        return f"the {slot} of {node.name} is not a product of two nodes"
    *rows, terms = node.axes
    nodes = [wiring.nodes.get(factor.name) for factor in term.factors]
    loadings = next((n for n in nodes if isinstance(n, Dirichlet) and n.over == terms), None)
    others = [n for n in nodes if isinstance(n, (Gamma, Dirichlet)) and n is not loadings]
    if loadings is None or not others:
        return f"the {slot} of {node.name} is not a Dirichlet times a Gamma or Dirichlet"
    read = {f.name: (*_rows_read(f, rows), *f.dims[-1:]) for f in term.factors}
    fits = [n for n in others if n.axes == read[n.name] and {*n.axes[-1:]} & {*term.contracted}]
    scores = fits[0] if fits else others[0]
    if len(scores.sums_over) > 1:
        return f"{scores.name} sums to one over several dims"
    if scores.name in wiring.held:
        return f"{scores.name} is given"
    for part, built_in in ((loadings, Dirichlet), (scores, Gamma), (scores, Dirichlet)):
        given = part.name in wiring.held  # then it is not drawn
        if not given and isinstance(part, built_in) and not draws_as(wiring, part, built_in):
            return f"{part.name} ({type(part).__name__}) has rules or a generate of its own"
    own = [f for f in term.factors if f.name in (loadings.name, scores.name)]
    looked = next((f for f in own if f.lookups and f.name not in [n.name for n in fits]), None)
    if looked is not None:
        return f"{looked.name} is read through {looked.lookups[0].name}"
    if not term.contracted or any(f.dims != f.own_dims for f in own):
        return f"the {slot} of {node.name} is not summed over one dim"
    topic = scores.axes[-1] if fits else ""
    if loadings.axes != (topic, terms):
        return f"{loadings.name} or {scores.name} has other dims"
    for factor in term.factors:
        if factor not in own and (topic in factor.dims or terms in factor.dims):
            return f"{factor.name or 'a constant'} varies over {topic} or {terms}"
    prior = "shape" if isinstance(scores, Gamma) else "concentration"
    index = "".join(lookup.name for f in own for lookup in f.lookups)
    return Pattern(node.name, loadings.name, scores.name, prior, topic, number, index)


# ---- marginal -----------------------------------------------------------------------------------
#
# Samplers that integrate θ out: which patterns allow it, and what their steps read.
#
# Given the counts, θ_j is a gamma vector of one rate c_j + q_j, so that it leaves
#
#     P(z = k) ∝ φ_vk (m_jk + a_jk) s_j / (c_j + q_j)
#
# and the last factor matters only beside further terms of the rate.


def cannot_marginalise(wiring: Wiring, pattern: Pattern, patterns: Sequence[Pattern]) -> str:
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
    varies = wiring.exposures.slot_dims(scores, "rate") | wiring.exposures.received_dims(
        scores.name
    )
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
    return cannot_marginalise(wiring, pattern, patterns) or pattern


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
