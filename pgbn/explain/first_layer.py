"""The derivation of the probabilities of the labels of tokens."""

from __future__ import annotations

import re

from pgbn.engine.first_layer.choice import Pattern
from pgbn.explain.algebra import Formula, numeral
from pgbn.explain.document import Block, Equations, Heading, Paragraph, code
from pgbn.explain.lemmas import passage
from pgbn.explain.names import Symbol
from pgbn.explain.notation import DOT, Notation, over
from pgbn.explain.sampler import ExplainedSampler
from pgbn.network.steps import Step
from pgbn.network.sumproduct import SumProduct, operand_of
from pgbn.network.terms import Term
from pgbn.nodes.rules import find_link


class TokenLayer:
    """The parts of a first layer in symbols. ``old`` marks counts without the current token."""

    def __init__(self, notation: Notation, pattern: Pattern, patterns: tuple[Pattern, ...]) -> None:
        nodes, wiring = notation.network.nodes, notation.wiring
        self.notation, self.pattern, self.patterns = notation, pattern, patterns
        self.observed, self.loadings = nodes[pattern.observed], nodes[pattern.loadings]
        self.scores = nodes[pattern.scores]
        link = find_link(self.observed)
        assert link is not None
        assert self.loadings.simplex is not None
        self.slot = link.slot
        self.terms = self.loadings.simplex  # the dim over which the loadings sum to one
        self.term = pattern.terms(wiring)[pattern.number]
        self.further = pattern.further(wiring)  # the terms of the rate other than φ·θ
        dims = {factor.name: factor.dims for factor in self.term.factors}
        self.of_loadings, self.of_scores = dims[pattern.loadings], dims[pattern.scores]
        # the dims, other than that of the topics, over which the factor of a row is summed
        self.sets = tuple(dim for dim in self.term.contracted if dim != pattern.topic)
        self.split = self.count(*self.observed.axes, pattern.topic)  # x_{v j k}
        rows = [notation.index[d] for d in reversed(self.observed.axes) if d != self.terms]
        # the number i of a token, its place "j i", its term v_{j i} and its label z_{j i}
        self.number = next(c for c in "inu" if c not in notation.index.values())
        self.place = " ".join([*rows, self.number])
        self.token_term = Symbol(notation.index[self.terms]).at([*rows, self.number])
        self.label = Symbol(notation.letter("z")).at([*rows, self.number])

    def count(self, *kept: str, old: bool = False) -> str:
        """x with dots for all dims except those that are kept."""
        dims = (*self.observed.axes, *self.term.contracted)
        at = {dim: self.notation.index[dim] if dim in kept else DOT for dim in dims}
        mark = "-" if old else ""
        return self.notation.split(self.observed, self.slot, self.term, at, mark).latex

    def received(self, *, old: bool = False) -> Formula:
        """The counts that the scores receive from all their data."""
        total = self._told(self.entry, old)
        for other in self.patterns:  # other data that have the same scores
            if other.scores == self.pattern.scores and other != self.pattern:
                layer = TokenLayer(self.notation, other, self.patterns)
                total = total + layer._told(self.entry, False)
        return total

    @property
    def entry(self) -> dict[str, str]:
        """The indices of the scores of the current row, such as author(j)."""
        index = dict(self.notation.index)
        if self.pattern.index:
            (lookup,) = self.pattern.factor(self.notation.wiring).lookups
            rows = [index[dim] for dim in lookup.dims]
            index[lookup.dim] = self.notation.category(lookup.name, rows)
        return index

    def _told(self, entry: dict[str, str], old: bool) -> Formula:
        """The counts of these data at an entry of the scores: those of all rows that read it."""
        notation, readers = self.notation, ""
        dims = (*self.observed.axes, *self.term.contracted)
        at = {dim: entry[dim] if dim in self.of_scores else DOT for dim in dims}
        if self.pattern.index:
            (lookup,) = self.pattern.factor(notation.wiring).lookups
            at |= {dim: notation.free(dim, re.findall(r"\w+", entry[lookup.dim]))
                   for dim in lookup.dims}  # fmt: skip
            rows = [at[dim] for dim in lookup.dims]
            which = f"{notation.category(lookup.name, rows)} = {entry[lookup.dim]}"
            readers = f"{', '.join(rows)} : {which}"
        mark = "-" if old else ""
        return over(readers, notation.split(self.observed, self.slot, self.term, at, mark))

    @property
    def others(self) -> Formula:
        """The factors other than φ and θ.

        Without further terms, only those that vary over the topics: the others cancel."""
        own = {self.loadings.name, self.scores.name}
        rest = [f for f in self.term.factors if f.name not in own
                and (self.further or self.pattern.topic in f.dims)]  # fmt: skip
        operands = tuple(operand_of(factor, self.observed) for factor in rest)
        number = self.term.coefficient if self.further else 1.0
        product = SumProduct(number, operands, (), self.sets if rest else (), ())
        return self.notation.product(product, self.notation.index)

    @property
    def prior(self) -> Formula:
        """The shape, or the concentration, of the scores of a row."""
        return self.notation.slot(self.scores, self.pattern.slot, self.entry)

    @property
    def divisor(self) -> Formula:
        """c + q of gamma scores; 1 if it cancels.

        It cancels if it does not vary over the topics and there are no further terms."""
        wiring, topics = self.notation.wiring, set(self.term.contracted)
        if self.scores.simplex is not None:
            return numeral(1.0)
        received = wiring.exposures.received_dims(self.scores.name)
        varies = received | set(wiring.exposures.slot_dims(self.scores, "rate"))
        if not self.further and not topics & varies:
            return numeral(1.0)
        return self.notation.slot(self.scores, "rate") + self.notation.exposure(self.scores.name)


def token_lines(notation: Notation, sampler: ExplainedSampler, step: Step) -> list[str]:
    """P(z = k | −), that of the further terms, and the counts of the labels."""
    layer = token_layer(notation, sampler, step)
    topic = notation.index[layer.pattern.topic]
    others = layer.others.within(2)
    weight = "" if others == "1" else rf"{others}\, "
    if layer.loadings.name in step.marginalises:
        weight += _loadings_out(layer)
    else:
        weight += notation.value(layer.loadings.name, notation.index, layer.of_loadings).latex
    shape = layer.prior + layer.received(old=True)
    weight += rf"\, \left({shape.latex}\right)"
    if layer.divisor.latex != "1":
        weight += f" / {layer.divisor.within(3)}"
    lines = [rf"P({layer.label} = {topic} \mid -) &\propto {weight}"]
    for term in layer.further:
        name, weight = further_name(layer, term), further_weight(layer, term)
        lines.append(rf"P({layer.label} = {name} \mid -) &\propto {weight}")
    return [*lines, *_count_lines(layer, topic), *_shared_lines(layer)]


def token_layer(notation: Notation, sampler: ExplainedSampler, step: Step) -> TokenLayer:
    pattern = sampler.labels(step)
    assert pattern is not None
    return TokenLayer(notation, pattern, sampler.patterns)


def further_name(layer: TokenLayer, term: Term) -> str:
    """The label of a further term: its number and, if it sums over dims, their indices."""
    number = layer.pattern.terms(layer.notation.wiring).index(term) + 1
    return f"({', '.join([str(number), *(layer.notation.index[dim] for dim in term.contracted)])})"


def further_weight(layer: TokenLayer, term: Term) -> str:
    """A further term at the token's row and word."""
    return layer.notation.term(layer.observed, term, unsummed=True).latex


def _loadings_out(layer: TokenLayer) -> str:
    notation = layer.notation
    own = notation.slot(layer.loadings, "concentration")
    total = notation.total(layer.loadings, "concentration", (layer.terms,))
    seen = layer.count(*layer.of_loadings, old=True)
    every = layer.count(*(dim for dim in layer.of_loadings if dim != layer.terms), old=True)
    return rf"\frac{{{own.latex} + {seen}}}{{{total.latex} + {every}}}"


def _count_lines(layer: TokenLayer, topic: str) -> list[str]:
    notation = layer.notation
    named = [(layer.split, topic)]
    named += [(notation.split(layer.observed, layer.slot, term).latex, further_name(layer, term))
              for term in layer.further]  # fmt: skip
    seen = rf"{layer.token_term} = {notation.index[layer.terms]},\ {layer.label} = "
    return [rf"{count} &= \sum_{{{layer.number}}} 1({seen}{label})" for count, label in named]


def _shared_lines(layer: TokenLayer) -> list[str]:
    """How the counts of a row are shared out among the terms of its factor, if that is a sum."""
    if not layer.sets:
        return []
    notation, rows = layer.notation, [d for d in layer.observed.axes if d != layer.terms]
    places = ", ".join(notation.index[dim] for dim in layer.sets)
    scale = layer.pattern.scale(notation.wiring)
    share = notation.term(layer.observed, scale, unsummed=True).latex
    parts = rf"\bigl({layer.count(*rows, *layer.sets)}\bigr)_{{{places}}}"
    return [rf"{parts} &\sim \mathrm{{Mult}}\left({layer.count(*rows)};\ \propto ({share})_"
            rf"{{{places}}}\right)"]  # fmt: skip


def token_section(notation: Notation, sampler: ExplainedSampler) -> list[Block]:
    """The derivation: the joint probability of the labels, and the ratio for one of them."""
    steps = [step for step in sampler.schedule if sampler.labels(step)]
    several = len(steps) > 1
    return [block for step in steps for block in _section(notation, sampler, step, several)]


def _section(
    notation: Notation, sampler: ExplainedSampler, step: Step, several: bool
) -> list[Block]:
    layer = token_layer(notation, sampler, step)
    out = layer.loadings.name in step.marginalises
    phi, theta = (notation.bare(name) for name in (layer.loadings.name, layer.scores.name))
    gone = rf"${phi}$ and ${theta}$" if out else f"${theta}$"
    of = f" of {code(layer.observed.name)}" if several else ""
    own = f"labels {layer.observed.name}" if several else "labels"
    intro = passage("tokens", data=code(layer.observed.name), place=layer.place,
                    term=layer.token_term, label=layer.label, split=layer.split)  # fmt: skip
    if layer.further:
        names = ", ".join(f"${further_name(layer, term)}$" for term in layer.further)
        intro += f" Each further term of the rate has its own label: {names}."
    lines = [_scores_integral(layer), _loadings_integral(layer) if out else _loadings_held(layer)]
    labels = [f"{own} scores", f"{own} loadings"]
    if layer.further:
        lines.append(_rest(layer))
        labels.append(f"{own} others")
    weights = [line for line in token_lines(notation, sampler, step) if line.startswith("P(")]
    blocks: list[Block] = [
        Heading(2, f"The first layer{of} with {gone} integrated out"),
        Paragraph(intro),
        Paragraph(f"With {gone} integrated out the labels are no longer independent. As a function "
                  "of the labels, their joint probability has the factors"),
        Equations(tuple(lines), tuple(labels)),
        Paragraph(_why(layer, out)),
        Equations(tuple(weights), (f"{own} one",) * len(weights)),
    ]  # fmt: skip
    if out:
        read = any(
            read.name == layer.scores.name for each in sampler.schedule for read in each.reads
        )
        blocks.append(Paragraph(
            f"No step reads ${phi}$ or ${theta}$: they are drawn on demand, given the labels."
            if not read else
            f"No step reads ${phi}$: it is drawn on demand, given the labels."
        ))  # fmt: skip
    return blocks


def _rest(layer: TokenLayer) -> str:
    """The factors that are neither integrated out nor the same for all labels.

    They are factors of rows, and further terms."""
    notation, parts = layer.notation, []
    rows = [dim for dim in layer.observed.axes if dim != layer.terms]
    if layer.others.latex != "1":
        index = ", ".join(notation.index[dim] for dim in reversed(rows))
        parts.append(
            rf"\prod_{{{index}}} \bigl({layer.others.latex}\bigr)^{{{layer.count(*rows)}}}"
        )
    for term in layer.further:
        dims = (*reversed(layer.observed.axes), *term.contracted)
        index = ", ".join(notation.index[dim] for dim in dims)
        power = notation.split(layer.observed, layer.slot, term).latex
        parts.append(rf"\prod_{{{index}}} \bigl({further_weight(layer, term)}\bigr)^{{{power}}}")
    return r"\text{others} &\propto " + r"\, ".join(parts)


def _scores_integral(layer: TokenLayer) -> str:
    """∫ over θ: a product of ratios of gamma functions."""
    notation = layer.notation
    shape = notation.slot(layer.scores, layer.pattern.slot)
    count = notation.received_count(layer.scores.name) if layer.pattern.index else layer.received()
    up = rf"\Gamma({(shape + count).latex})"
    down = rf"\Gamma({shape.latex})"
    if layer.scores.simplex is None:
        rate = notation.slot(layer.scores, "rate") + notation.exposure(layer.scores.name)
        tail = rf"\, ({rate.latex})^{{-{count.within(2)}}}"
    else:
        tail = ""  # the total of a row is fixed, and so is Γ(a·) / Γ(a· + N)
    dims = layer.scores.axes if layer.pattern.index else layer.of_scores
    indices = ", ".join(notation.index[dim] for dim in reversed(dims))
    theta = notation.bare(layer.scores.name)
    return rf"\int \ldots\, d{theta} &\propto \prod_{{{indices}}} \frac{{{up}}}{{{down}}}{tail}"


def _loadings_integral(layer: TokenLayer) -> str:
    notation = layer.notation
    own = notation.slot(layer.loadings, "concentration").latex
    total = notation.total(layer.loadings, "concentration", (layer.terms,)).latex
    rest = [dim for dim in layer.of_loadings if dim != layer.terms]
    term, topic = notation.index[layer.terms], ", ".join(notation.index[dim] for dim in rest)
    return (
        rf"\int \ldots\, d{notation.bare(layer.loadings.name)} &\propto \prod_{{{topic}}} "
        rf"\frac{{1}}{{\Gamma({total} + {layer.count(*rest)})}} \prod_{{{term}}} "
        rf"\Gamma({own} + {layer.count(*layer.of_loadings)})"
    )


def _loadings_held(layer: TokenLayer) -> str:
    notation = layer.notation
    value = notation.value(layer.loadings.name, notation.index, layer.of_loadings)
    indices = ", ".join(notation.index[dim] for dim in reversed(layer.of_loadings))
    power = layer.count(*layer.of_loadings)
    held = rf"p(\ldots \mid {notation.bare(layer.loadings.name)})"
    return rf"{held} &\propto \prod_{{{indices}}} \bigl({value.latex}\bigr)^{{{power}}}"


def _why(layer: TokenLayer, out: bool) -> str:
    """How the ratio follows."""
    notation = layer.notation
    loadings = f" and of a Dirichlet for each column of ${notation.bare(layer.loadings.name)}$"
    loadings = loadings if out else ""
    simplex = layer.scores.simplex is not None
    family = "a Dirichlet for each row" if simplex else "a gamma for each entry"
    words = (
        f"(the normalising constants of {family} of "
        f"${notation.bare(layer.scores.name)}${loadings}, with and without the counts). "
    )
    words += (
        r"A token that takes a label raises one count by one, and $\Gamma(y + 1) = y\, \Gamma(y)$: "
        r"one factor of every ratio of gamma functions remains. "
    )
    if layer.scores.simplex is None and layer.divisor.latex == "1":
        words += "The power of the rate is the same for all labels, and cancels. "
    return words + passage("one token")
