"""First layers: which networks have one, and which sampler draws it.

    x_jv ~ Pois(s_j Σ_k φ_vk θ_jk + Σ_e b_je d_ve)

(or multinomial), with φ ~ Dir(η) and θ a gamma or Dirichlet layer. The factor s_j of a row and the
further terms may be missing. Data of another kind may have latent counts behind them. Several
observed nodes of a network may have the pattern, and share θ. Rows may also share scores, θ_{g(j)k}
with given g, if data are counts and there are no further terms.

The counts are drawn by the sampler that the user names, or by the one that "auto" chooses. All are
exact. "composed" means the general rules: the readable reference that the kernels are tested
against, and the only sampler for networks of another form. "general" uses these rules for the first
layer alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import isabstract
from typing import TypeVar

from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells, CoordinateCells
from pgbn.engine.first_layer.samplers import FirstLayer
from pgbn.engine.plan import Counts, Draw, Run, SlotCounts, maker, slot_step
from pgbn.engine.steps.gamma_layers import draws_as
from pgbn.errors import NetworkError, StaleReadError, notify
from pgbn.network.network import Network
from pgbn.network.schedule import Schedule
from pgbn.network.steps import Step
from pgbn.network.terms import Factor, Lagged, Term, ViaEdge
from pgbn.network.wiring import Wiring
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.expression import Constant
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.rules import find_link

# ---- the pattern --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pattern:
    """counts of ``observed`` ~ Pois(s · ``loadings`` · ``scores`` + …), with the names of the three
    nodes. ``slot`` has the prior of the scores, ``topic`` is the dim that is summed over,
    ``number`` that of the term of the rate with the scores. ``index`` are the categories through
    which rows read the scores, if they do."""

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
        """The terms other than that with the scores."""
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
    if pattern.loadings not in wiring.given and len(wiring.sources[pattern.loadings]) > 1:
        return f"{pattern.loadings} has other children"
    # Topics are drawn in single precision, which cuts off tiny values; a density would notice.
    readers = [
        name for name, held in wiring.connections.children.items() if pattern.loadings in held
    ]
    if readers:
        return f"{readers[0]} is drawn by a kernel that reads the density of {pattern.loadings}"
    if pattern.index and (link.counts is not None or len(terms) > 1):
        what = "further terms" if len(terms) > 1 else "counts that are drawn"
        return f"{pattern.scores} is read through {pattern.index}, together with {what}"
    further = [factor for term in pattern.further(wiring) for factor in term.factors]
    if any(factor.name == pattern.scores for factor in further):
        return f"{pattern.scores} is in several terms of the {link.slot} of {node.name}"
    if any(_is_by_cell(factor, node) for factor in further):
        return f"a further term of the {link.slot} of {node.name} varies from cell to cell"
    return pattern


def _is_read_by_rows(factor: Factor, node: Node) -> bool:
    """Whether a factor is read as it is or, entry by entry, through given categories of rows."""
    if any(isinstance(lookup, (Lagged, ViaEdge)) for lookup in factor.lookups):
        return False
    return all(node.axes[-1] not in lookup.dims for lookup in factor.lookups)


def _is_by_cell(factor: Factor, node: Node) -> bool:
    """Whether a factor varies along the last dim of the data and along another one."""
    *rows, terms = node.axes
    return terms in factor.dims and any(dim in factor.dims for dim in rows)


def _rows_read(factor: Factor, rows: Sequence[str]) -> Sequence[str]:
    """The dims of the scores other than the topic: those of the rows, or the one dim that all rows
    read through their categories."""
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
    if scores.name in wiring.given:
        return f"{scores.name} is given"
    for part, built_in in ((loadings, Dirichlet), (scores, Gamma), (scores, Dirichlet)):
        given = part.name in wiring.given  # then it is not drawn
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


def cannot_marginalise(wiring: Wiring, pattern: Pattern, patterns: Sequence[Pattern]) -> str:
    """Why θ cannot be integrated out of the counts; "" if it can.

    Given the counts, θ_j is a gamma vector of one rate c_j + q_j, so that it leaves

        P(z = k) ∝ φ_vk (m_jk + a_jk) s_j / (c_j + q_j)

    and the last factor matters only next to further terms of the rate.
    """
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
    eta, free = loadings.concentration, loadings.name not in wiring.given
    if free and (not isinstance(eta, Constant) or eta.value.ndim):
        return f"the concentration of {loadings.name} is not a number"
    return cannot_marginalise(wiring, pattern, patterns) or pattern


def _without_scores(wiring: Wiring, pattern: Pattern, kind: type[FirstLayer], step: Step) -> Step:
    """The step of the counts with θ integrated out, and φ too if the sampler does that.

    Labels of other data that share θ are given, too. They are kept from sweep to sweep, and no step
    integrates them out: they are always current, and no step reads them by name.
    """
    scores, own = wiring.nodes[pattern.scores], (pattern.loadings, pattern.scores)
    equation = kind.equation
    reads = wiring.reads.of_slot(scores, pattern.slot)
    reads |= {read for read in step.reads if read.name not in own}  # the factors next to φ·θ
    out = {scores.name: frozenset[str]()}
    if "loadings" not in kind.integrates_out:
        reads |= {read for read in step.reads if read.name == pattern.loadings}
    else:
        out[pattern.loadings] = frozenset()
        if pattern.loadings not in wiring.given:  # else the schedule rejects the step
            reads |= wiring.reads.of_slot(wiring.nodes[pattern.loadings], "concentration")
    if pattern.further(wiring):
        reads |= wiring.reads.of_names(scores, ("rate", "exposure"))
        equation += r",\quad P(z=b) \propto b_{vj}(c_j + q_j)/s_j"
    marginalises = {**step.marginalises, **out}
    return replace(
        step, reads=frozenset(reads), marginalises=marginalises, equation=equation, method=kind.name
    )


# ---- the samplers by name ------------------------------------------------------------------------

Kind = TypeVar("Kind", bound=type[FirstLayer])

_kinds: dict[str, type[FirstLayer]] = {}


def register_sampler(kind: Kind) -> Kind:
    """Register a sampler of the first layer under its ``name``, for ``sampler=`` of chains.

    Parameters
    ----------
    kind : type
        A class derived from `FirstLayer` that has all its methods.

    Returns
    -------
    type
        The class, so that this is a decorator.

    Raises
    ------
    NetworkError
        If the class is not complete, or another sampler has its name.

    Examples
    --------
    A class that lacks methods is rejected:

    >>> from pgbn import extend
    >>> @extend.register_sampler
    ... class Mine(extend.FirstLayer):
    ...     name = "mine"
    Traceback (most recent call last):
        ...
    pgbn.errors.NetworkError: register_sampler(Mine): the class does not define ...
    """
    if not (isinstance(kind, type) and issubclass(kind, FirstLayer)):
        raise NetworkError(
            f"register_sampler({kind!r:.60}): give a class derived from pgbn.extend.FirstLayer"
        )
    if isabstract(kind):
        lacking = ", ".join(sorted(kind.__abstractmethods__))
        raise NetworkError(
            f"register_sampler({kind.__name__}): the class does not define {lacking}; define "
            "them, as pgbn.extend.FirstLayer describes"
        )
    known = _kinds.get(kind.name)
    if known is not None and known.__qualname__ != kind.__qualname__:
        raise NetworkError(
            f"register_sampler: {kind.name!r} is {known.__name__}; give another name"
        )
    if kind.name in ("", "auto", "composed"):
        raise NetworkError(f"{kind.__name__}.name={kind.name!r}: give the sampler another name")
    _kinds[kind.name] = kind
    return kind


def sampler_names() -> tuple[str, ...]:
    """The names of all samplers."""
    return tuple(_kinds)


def sampler_named(name: str) -> type[FirstLayer]:
    """The sampler of a name."""
    if name not in _kinds:
        raise NetworkError(f"sampler={name!r}: must be one of {', '.join(_kinds)}")
    return _kinds[name]


def automatic() -> list[type[FirstLayer]]:
    """Those that "auto" may take, the one that mixes best first."""
    return [kind for kind in _kinds.values() if kind.is_automatic]


# ---- the choice ---------------------------------------------------------------------------------


MOST_TOKENS = 2**31  # that are counted in four bytes
MOST_TOPICS = 2**16  # that a label can distinguish

_OF_CORPORA = "partial"  # whose rows are independent, wherever they are

# One sweep of the sampler that mixes best moves further than one of a sampler that fixes more.
_WORTH = 4.0


def schedule_for(network: Network, sampler: str) -> Schedule:
    """The schedule of a network with the sampler ``sampler``, or with the general rules if the
    sampler does not serve the network."""
    patterns = find_patterns(network.wiring)
    if sampler in ("composed", "general") or isinstance(patterns, str):
        return network.schedule
    kind = sampler_named(sampler)
    if unsupported(kind, network.wiring, patterns):
        return network.schedule
    return network._schedule_with(partial(_revised, kind, patterns))


def _revised(
    kind: type[FirstLayer], patterns: Sequence[Pattern], wiring: Wiring, step: Step
) -> Step:
    """The counts of the data as a sampler draws them; other steps are unchanged."""
    for pattern in patterns if kind.integrates_out else ():
        if step.upward and step.node == pattern.observed:
            return _without_scores(wiring, pattern, kind, step)
    return step


def unsupported(kind: type[FirstLayer], wiring: Wiring, patterns: Sequence[Pattern]) -> str:
    """Why a sampler does not serve all first layers of a network; "" if it does."""
    for pattern in patterns if kind.integrates_out else ():
        loadings = wiring.nodes[pattern.loadings]
        # given topics are not integrated out: the schedule says so
        free = "loadings" in kind.integrates_out and loadings.name not in wiring.given
        if free and pattern.topic in wiring.exposures.slot_dims(loadings, "concentration"):
            return f"the concentration of {loadings.name} varies over {pattern.topic}"
        reason = cannot_marginalise(wiring, pattern, patterns)
        if reason:
            return reason
    return ""


def candidates(
    cells: Cells, topics: int, kinds: Sequence[type[FirstLayer]] | None = None
) -> list[type[FirstLayer]]:
    """The samplers that "auto" tries for these data, in order: those that mix best come first,
    unless one is much cheaper: then it is the only one.

    The cost is a formula. It uses neither a clock nor the number of threads: the same data and
    widths give the same choice, and so the same chain, everywhere.
    """
    best, *others = kinds = list(automatic() if kinds is None else kinds)
    given = (cells.values, cells.rows, cells.columns, topics)
    limit = best.nanoseconds(*given)
    cheap = [kind for kind in others if _WORTH * kind.nanoseconds(*given) < limit]
    return cheap[:1] or kinds


def choose(program: Program, sampler: str) -> tuple[str, Schedule]:
    """The sampler of the first layer and the schedule that goes with it."""
    network = program.network
    names = ("auto", *sampler_names(), "general", "composed")
    if not isinstance(sampler, str) or sampler not in names:
        raise NetworkError(f"sampler={sampler!r}: must be one of {', '.join(names)}")
    if sampler in ("composed", "general"):
        return "composed", network.schedule
    patterns = find_patterns(program.wiring)
    if isinstance(patterns, str):
        return _without_kernel(network, sampler, patterns)
    if sampler == "auto":
        return _automatic(program, patterns)
    reason = _why_not(sampler_named(sampler), program, patterns)
    if reason:
        for pattern in patterns:
            _say_if_too_many(program.cells[pattern.observed])
        return _without_kernel(network, sampler, reason)
    return sampler, schedule_for(network, sampler)


def _without_kernel(network: Network, sampler: str, reason: str) -> tuple[str, Schedule]:
    """The general rules, if the user asked for them."""
    if sampler in ("auto", "blocked"):
        return "composed", network.schedule
    raise NetworkError(
        f"sampler={sampler!r} is not available: {reason}; use sampler='auto' or 'blocked'"
    )


def _automatic(program: Program, patterns: Sequence[Pattern]) -> tuple[str, Schedule]:
    kinds = [kind for kind in automatic() if not _why_not(kind, program, patterns)]
    corpora = any(program.cells[p.observed].is_corpus for p in patterns)
    rows_apart = [kind for kind in kinds if kind.name == _OF_CORPORA]
    if corpora and rows_apart:
        return _OF_CORPORA, schedule_for(program.network, _OF_CORPORA)
    if kinds:
        largest = max(patterns, key=lambda p: program.cells[p.observed].size)
        cells, topics = program.cells[largest.observed], program.shape[largest.loadings][-1]
        for kind in candidates(cells, topics, kinds):
            try:
                return kind.name, schedule_for(program.network, kind.name)
            except StaleReadError:  # the user's order needs more values than this one keeps
                continue
    for pattern in patterns:
        _say_if_too_many(program.cells[pattern.observed])
    return "composed", program.network.schedule


def first_choice(cells: Cells, topics: int, most_tokens: int, wirings: Sequence[Wiring]) -> str:
    """The sampler that "auto" chooses from the data alone, for a training whose widths will change.
    It is one of those that serve its networks (``wirings``). If there is none, cells are missing or
    tokens are too many, it is "blocked", by the general rules if necessary. ``most_tokens`` limits
    arrays alone: the labels of a corpus need not fit into memory."""
    kinds = [kind for kind in automatic() if all(_serves(kind, wiring) for wiring in wirings)]
    most = MOST_TOKENS if cells.is_corpus else most_tokens
    if not kinds or cells.missing is not None or _too_many(cells, topics, most):
        return "blocked"
    if cells.is_corpus and _OF_CORPORA in [kind.name for kind in kinds]:
        return _OF_CORPORA
    return candidates(cells, topics, kinds)[0].name


def _serves(kind: type[FirstLayer], wiring: Wiring) -> bool:
    patterns = find_patterns(wiring)
    return not isinstance(patterns, str) and not unsupported(kind, wiring, patterns)


def _why_not(kind: type[FirstLayer], program: Program, patterns: Sequence[Pattern]) -> str:
    """Why a sampler does not serve the first layers of a network and these data; "" if it does."""
    reasons = [unsupported(kind, program.wiring, patterns)]
    for pattern in patterns:
        cells, topics = program.cells[pattern.observed], program.shape[pattern.loadings][-1]
        if cells.missing is not None and not kind.serves_missing:
            reasons.append("some cells are missing")
        reasons.append(_too_many(cells, topics))
        reasons.append(_why_not_shared(program, pattern, cells))
    return next(filter(None, reasons), "")


def _why_not_shared(program: Program, pattern: Pattern, cells: Cells) -> str:
    """Why rows of these data that share scores are not drawn together; "" if they are."""
    if not pattern.index:
        return ""
    shared = f"rows share {pattern.scores} through {pattern.index}"
    if cells.missing is not None:
        return f"some cells are missing where {shared}"
    if cells.is_corpus:
        return f"{shared}, and are those of a corpus"
    return f"{shared}, and are coordinates" if isinstance(cells, CoordinateCells) else ""


def _say_if_too_many(cells: Cells) -> None:
    """Warn that data are too large for the samplers of the first layer."""
    if cells.sum() >= MOST_TOKENS:
        notify(
            f"{cells.sum():,} tokens: the samplers of the first layer count up to 2^31 of them, so "
            "the general rules are used, which are slower; sample a part of the rows, or use "
            "pgbn.train_minibatch"
        )


def _too_many(cells: Cells, topics: int, most_tokens: int | None = None) -> str:
    """Why no sampler serves this number of tokens or topics; "" if there is."""
    if cells.sum() >= (MOST_TOKENS if most_tokens is None else most_tokens):
        return "there are 2^31 tokens or more"
    if topics >= MOST_TOPICS:
        return "there are more than 65,535 topics"
    return ""


def samplers_of(program: Program, sampler: str) -> dict[str, FirstLayer]:
    """The sampler that `choose` named, for every observed node that has the pattern; none if the
    general rules are used."""
    patterns = find_patterns(program.wiring)
    if sampler == "composed" or isinstance(patterns, str):
        return {}
    kind = sampler_named(sampler)
    samplers = {pattern.observed: kind(program, pattern) for pattern in patterns}
    return samplers if program.shards is None else program.shards.layers(samplers)


# ---- the steps that a sampler takes over: its counts, the tables of φ, and the draw of φ --------


@maker("first layer", Counts, by_rows=True)
def first_counts(program: Program, task: Counts) -> Run | None:
    """The counts of the data."""
    return program.first_layers.get(task.node.name)


def _sampler_of(program: Program, loadings: str) -> FirstLayer | None:
    layers = program.first_layers.values()
    return next((layer for layer in layers if layer.pattern.loadings == loadings), None)


@maker("first layer", SlotCounts)
def first_tables(program: Program, task: SlotCounts) -> Run | None:
    """The tables of φ: evidence about η from the counts that the sampler keeps."""
    sampler = _sampler_of(program, task.node.name)
    if sampler is None:
        return None
    composed = slot_step(program, task)

    def run(key: int) -> None:
        sampler.show_counts()
        composed(key)

    return run


@maker("first layer", Draw)
def first_loadings(program: Program, task: Draw) -> Run | None:
    """φ, which the sampler keeps in a form of its own."""
    sampler = _sampler_of(program, task.node.name)
    return None if sampler is None else sampler.draw_loadings
