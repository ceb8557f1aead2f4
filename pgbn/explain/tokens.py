"""The labels of tokens of a first layer with scores, or loadings too, integrated out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from pgbn.engine.first_layer.pattern import Pattern
from pgbn.explain.algebra import Formula, numeral
from pgbn.explain.names import Symbol
from pgbn.explain.notation import Notation
from pgbn.explain.readers import over
from pgbn.explain.symbols import DOT
from pgbn.explain.way import Way
from pgbn.network.steps import Step
from pgbn.network.sumproduct import SumProduct, operand_of
from pgbn.network.terms import Term
from pgbn.nodes.base import Node
from pgbn.nodes.rules.registry import find_link

__all__ = ["TokenLayer", "further_name", "further_weight", "token_layer", "token_lines"]


class _Token(NamedTuple):
    """z_{j i}, v_{j i}, "j i" and "i"."""

    label: str
    term: str
    place: str
    number: str


@dataclass(frozen=True)
class TokenLayer:
    """The parts of a first layer in symbols. ``old`` marks counts without the token at hand."""

    notation: Notation
    pattern: Pattern
    patterns: tuple[Pattern, ...]

    @property
    def beside(self) -> list[TokenLayer]:
        """The first layers of other data that have the same scores."""
        return [replace(self, pattern=each) for each in self.patterns
                if each.scores == self.pattern.scores and each != self.pattern]  # fmt: skip

    @property
    def further(self) -> tuple[Term, ...]:
        """The terms of the rate beside φ·θ."""
        return self.pattern.further(self.notation.wiring)

    @property
    def observed(self) -> Node:
        return self.notation.network.nodes[self.pattern.observed]

    @property
    def loadings(self) -> Node:
        return self.notation.network.nodes[self.pattern.loadings]

    @property
    def scores(self) -> Node:
        return self.notation.network.nodes[self.pattern.scores]

    @property
    def slot(self) -> str:
        link = find_link(self.observed)
        assert link is not None
        return link.slot

    @property
    def term(self) -> Term:
        return self.pattern.terms(self.notation.wiring)[self.pattern.number]

    @property
    def terms(self) -> str:
        """The dim of the terms, over which the loadings sum to one."""
        assert self.loadings.simplex is not None
        return self.loadings.simplex

    def count(self, *kept: str, old: bool = False) -> str:
        """x with dots for all dims but those that are kept."""
        dims = (*self.observed.axes, *self.term.contracted)
        at = {dim: self.notation.index[dim] if dim in kept else DOT for dim in dims}
        mark = "-" if old else ""
        return self.notation.split(self.observed, self.slot, self.term, at, mark).latex

    def heard(self, *, old: bool = False) -> Formula:
        """The counts that the scores hear, of all data that they have."""
        total = self._told(self.entry, old)
        for layer in self.beside:
            total = total + layer._told(self.entry, False)
        return total

    @property
    def entry(self) -> dict[str, str]:
        """The indices of the scores of the row at hand: author(j), where it reads those."""
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
    def split(self) -> str:
        """x_{v j k}."""
        return self.count(*self.observed.axes, self.pattern.topic)

    @property
    def of_loadings(self) -> tuple[str, ...]:
        """The dims of φ as the data name them."""
        return next(f.dims for f in self.term.factors if f.name == self.loadings.name)

    @property
    def of_scores(self) -> tuple[str, ...]:
        return next(f.dims for f in self.term.factors if f.name == self.scores.name)

    @property
    def sets(self) -> tuple[str, ...]:
        """The dims, beside that of the topics, over which the factor of a row is summed."""
        return tuple(dim for dim in self.term.contracted if dim != self.pattern.topic)

    @property
    def others(self) -> Formula:
        """The factors beside φ and θ: all, where there are further terms; else those that vary over
        the topics, since the others cancel."""
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
        """c + q of gamma scores where it varies over the topics or there are further terms, else 1:
        it cancels."""
        wiring, topics = self.notation.wiring, set(self.term.contracted)
        if self.scores.simplex is not None:
            return numeral(1.0)
        heard = wiring.exposures.heard_dims(self.scores.name)
        varies = heard | set(wiring.exposures.slot_dims(self.scores, "rate"))
        if not self.further and not topics & varies:
            return numeral(1.0)
        return self.notation.slot(self.scores, "rate") + self.notation.exposure(self.scores.name)

    @property
    def token(self) -> _Token:
        rows = [self.notation.index[d] for d in reversed(self.observed.axes) if d != self.terms]
        number = next(c for c in "inu" if c not in self.notation.index.values())
        place, term = [*rows, number], Symbol(self.notation.index[self.terms])
        label = Symbol(self.notation.letter("z")).at(place)
        return _Token(label, term.at(place), " ".join(place), number)


def token_lines(notation: Notation, way: Way, step: Step) -> list[str]:
    """P(z = k | −), that of the further terms, and the counts of the labels."""
    layer = token_layer(notation, way, step)
    topic = notation.index[layer.pattern.topic]
    weight = layer.others.within(2)
    weight = "" if weight == "1" else rf"{weight}\, "
    if layer.loadings.name in step.marginalises:
        weight += _loadings_out(layer)
    else:
        weight += notation.value(layer.loadings.name, notation.index, layer.of_loadings).latex
    shape = layer.prior + layer.heard(old=True)
    weight += rf"\, \left({shape.latex}\right)"
    if layer.divisor.latex != "1":
        weight += f" / {layer.divisor.within(3)}"
    lines = [rf"P({layer.token.label} = {topic} \mid -) &\propto {weight}"]
    for term in layer.further:
        name, weight = further_name(layer, term), further_weight(layer, term)
        lines.append(rf"P({layer.token.label} = {name} \mid -) &\propto {weight}")
    return [*lines, *_count_lines(layer, topic), *_shared_lines(layer)]


def token_layer(notation: Notation, way: Way, step: Step) -> TokenLayer:
    pattern = way.labels(step)
    assert pattern is not None
    return TokenLayer(notation, pattern, way.patterns)


def further_name(layer: TokenLayer, term: Term) -> str:
    """The label of a further term: its number and, where it sums over dims, the place there."""
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
    token, notation = layer.token, layer.notation
    named = [(layer.split, topic)]
    named += [(notation.split(layer.observed, layer.slot, term).latex, further_name(layer, term))
              for term in layer.further]  # fmt: skip
    seen = rf"{token.term} = {notation.index[layer.terms]},\ {token.label} = "
    return [rf"{count} &= \sum_{{{token.number}}} 1({seen}{label})" for count, label in named]


def _shared_lines(layer: TokenLayer) -> list[str]:
    """Where the factor of a row is a sum, the counts of the row are shared out among its terms."""
    if not layer.sets:
        return []
    notation, rows = layer.notation, [d for d in layer.observed.axes if d != layer.terms]
    places = ", ".join(notation.index[dim] for dim in layer.sets)
    scale = layer.pattern.scale(notation.wiring)
    share = notation.term(layer.observed, scale, unsummed=True).latex
    parts = rf"\bigl({layer.count(*rows, *layer.sets)}\bigr)_{{{places}}}"
    return [rf"{parts} &\sim \mathrm{{Mult}}\left({layer.count(*rows)};\ \propto ({share})_"
            rf"{{{places}}}\right)"]  # fmt: skip
