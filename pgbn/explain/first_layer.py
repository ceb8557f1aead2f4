"""The first layer with scores, or loadings too, integrated out: token by token, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pgbn.engine.first_layer.pattern import Pattern
from pgbn.explain.algebra import Formula, numeral
from pgbn.explain.document import Block, Equations, Heading, Paragraph, code
from pgbn.explain.names import Symbol
from pgbn.explain.notation import Notation
from pgbn.explain.symbols import DOT
from pgbn.explain.way import Way
from pgbn.network.steps import Step
from pgbn.network.sumproduct import SumProduct, operand_of
from pgbn.network.terms import Term
from pgbn.nodes.base import Node
from pgbn.nodes.rules.registry import find_link

__all__ = ["is_token_step", "token_lines", "token_section"]


def is_token_step(way: Way, step: Step) -> bool:
    """Whether a step draws the labels of tokens, with the scores integrated out."""
    return (
        way.pattern is not None
        and step.upward
        and step.node == way.pattern.observed
        and way.pattern.scores in step.marginalises
    )


class _Token(NamedTuple):
    """z_{j i}, v_{j i}, "j i" and "i"."""

    label: str
    term: str
    place: str
    number: str


@dataclass(frozen=True)
class _Layer:
    """The parts of a first layer in symbols. ``old`` marks counts without the token at hand."""

    notation: Notation
    pattern: Pattern

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
        return self.notation.wiring.polynomials[self.observed.name, self.slot].terms[0]

    @property
    def terms(self) -> str:
        """The dim of the terms, over which the loadings sum to one."""
        assert self.loadings.simplex is not None
        return self.loadings.simplex

    def count(self, *kept: str, old: bool = False) -> str:
        """x with dots for all dims but those that are kept."""
        dims = (*self.observed.axes, *self.term.contracted)
        at = {dim: self.notation.index[dim] if dim in kept else DOT for dim in dims}
        tag = "-" if old else ""
        return self.notation.cells(self.observed, at, self.term.contracted, tag).latex

    @property
    def split(self) -> str:
        """x_{v j k}."""
        return self.count(*self.observed.axes, *self.term.contracted)

    @property
    def of_loadings(self) -> tuple[str, ...]:
        """The dims of φ as the data name them."""
        return next(f.dims for f in self.term.factors if f.name == self.loadings.name)

    @property
    def of_scores(self) -> tuple[str, ...]:
        return next(f.dims for f in self.term.factors if f.name == self.scores.name)

    @property
    def others(self) -> Formula:
        """The factors beside φ and θ that vary over the topics."""
        own = {self.loadings.name, self.scores.name}
        rest = [f for f in self.term.factors
                if f.name not in own and set(f.dims) & set(self.term.contracted)]  # fmt: skip
        operands = tuple(operand_of(factor, self.observed) for factor in rest)
        return self.notation.product(SumProduct(1.0, operands, (), (), ()), self.notation.index)

    @property
    def prior(self) -> Formula:
        """The shape, or the concentration, of the scores."""
        return self.notation.slot(self.scores, self.pattern.slot)

    @property
    def divisor(self) -> Formula:
        """c + q of gamma scores where it varies over the topics, else 1: it cancels."""
        wiring, topics = self.notation.wiring, set(self.term.contracted)
        if self.scores.simplex is not None:
            return numeral(1.0)
        heard = wiring.exposures.heard_dims(self.scores.name)
        if not topics & (heard | set(wiring.exposures.slot_dims(self.scores, "rate"))):
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
    """P(z = k | −), and the counts of the labels."""
    assert way.pattern is not None
    layer = _Layer(notation, way.pattern)
    topic = ", ".join(notation.index[dim] for dim in layer.term.contracted)
    label = layer.token.label
    weight = layer.others.latex
    weight = "" if weight == "1" else rf"{weight}\, "
    if way.pattern.loadings in step.marginalises:
        weight += _loadings_out(layer)
    else:
        weight += notation.value(layer.loadings.name, notation.index, layer.of_loadings).latex
    shape = layer.prior + Formula(layer.count(*layer.of_scores, old=True))
    weight += rf"\, \left({shape.latex}\right)"
    if layer.divisor.latex != "1":
        weight += f" / {layer.divisor.within(3)}"
    return [rf"P({label} = {topic} \mid -) &\propto {weight}", _count_line(layer, topic)]


def _loadings_out(layer: _Layer) -> str:
    notation = layer.notation
    own = notation.slot(layer.loadings, "concentration")
    total = notation.total(layer.loadings, "concentration", layer.terms)
    seen = layer.count(*layer.of_loadings, old=True)
    every = layer.count(*(dim for dim in layer.of_loadings if dim != layer.terms), old=True)
    return rf"\frac{{{own.latex} + {seen}}}{{{total.latex} + {every}}}"


def _count_line(layer: _Layer, topic: str) -> str:
    token, index = layer.token, layer.notation.index[layer.terms]
    seen = rf"{token.term} = {index},\ {token.label} = {topic}"
    return rf"{layer.split} &= \sum_{{{token.number}}} 1({seen})"


def token_section(notation: Notation, way: Way) -> list[Block]:
    """The derivation: the joint probability of the labels, and the ratio for one of them."""
    step = next((step for step in way.schedule if is_token_step(way, step)), None)
    if step is None or way.pattern is None:
        return []
    layer = _Layer(notation, way.pattern)
    token = layer.token
    out = way.pattern.loadings in step.marginalises
    phi, theta = (notation.bare(name) for name in (layer.loadings.name, layer.scores.name))
    gone = rf"${phi}$ and ${theta}$" if out else f"${theta}$"
    heading = f"The first layer with {gone} integrated out"
    labels = tuple(f"labels {part}" for part in ("scores", "loadings"))
    intro = (
        f"Every count of {code(layer.observed.name)} is so many tokens: token ${token.place}$ has "
        f"the term ${token.term}$, which is seen, and a label ${token.label}$, the factor that it "
        "comes from. Given the values the labels are independent, with probabilities proportional "
        f"to the terms of the sum; the counts of labels are the ${layer.split}$ of the split. A "
        "minus sign above a count says that the token at hand is left out of it."
    )
    blocks: list[Block] = [Heading(2, heading), Paragraph(intro)]
    lines = (_scores_integral(layer), _loadings_integral(layer) if out else _loadings_held(layer))
    blocks += [
        Paragraph(f"With {gone} integrated out the labels are no longer independent. As a function "
                  "of the labels, their joint probability has the factors"),
        Equations(lines, labels),
        Paragraph(_why(layer, out)),
        Equations((token_lines(notation, way, step)[0],), ("labels one",)),
    ]  # fmt: skip
    if out:
        blocks.append(Paragraph(
            f"Neither ${phi}$ nor ${theta}$ is read by any step: they are drawn when somebody "
            "looks at them, given the labels."))  # fmt: skip
    return blocks


def _scores_integral(layer: _Layer) -> str:
    """∫ over θ: a product of ratios of gamma functions."""
    notation = layer.notation
    shape, count = layer.prior, Formula(layer.count(*layer.of_scores))
    up = rf"\Gamma({(shape + count).latex})"
    down = rf"\Gamma({shape.latex})"
    if layer.scores.simplex is None:
        rate = notation.slot(layer.scores, "rate") + notation.exposure(layer.scores.name)
        tail = rf"\, ({rate.latex})^{{-{count.latex}}}"
    else:
        tail = ""  # the total of a row is known, and with it Γ(a·) / Γ(a· + N)
    indices = ", ".join(notation.index[dim] for dim in reversed(layer.of_scores))
    theta = notation.bare(layer.scores.name)
    return rf"\int \ldots\, d{theta} &\propto \prod_{{{indices}}} \frac{{{up}}}{{{down}}}{tail}"


def _loadings_integral(layer: _Layer) -> str:
    notation = layer.notation
    own = notation.slot(layer.loadings, "concentration").latex
    total = notation.total(layer.loadings, "concentration", layer.terms).latex
    rest = [dim for dim in layer.of_loadings if dim != layer.terms]
    term, topic = notation.index[layer.terms], ", ".join(notation.index[dim] for dim in rest)
    return (
        rf"\int \ldots\, d{notation.bare(layer.loadings.name)} &\propto \prod_{{{topic}}} "
        rf"\frac{{1}}{{\Gamma({total} + {layer.count(*rest)})}} \prod_{{{term}}} "
        rf"\Gamma({own} + {layer.count(*layer.of_loadings)})"
    )


def _loadings_held(layer: _Layer) -> str:
    notation = layer.notation
    value = notation.value(layer.loadings.name, notation.index, layer.of_loadings)
    indices = ", ".join(notation.index[dim] for dim in reversed(layer.of_loadings))
    power = layer.count(*layer.of_loadings)
    held = rf"p(\ldots \mid {notation.bare(layer.loadings.name)})"
    return rf"{held} &\propto \prod_{{{indices}}} \bigl({value.latex}\bigr)^{{{power}}}"


def _why(layer: _Layer, out: bool) -> str:
    """How the ratio follows."""
    notation = layer.notation
    loadings = f" and of a Dirichlet for each column of ${notation.bare(layer.loadings.name)}$"
    loadings = loadings if out else ""
    family = "a Dirichlet" if layer.scores.simplex is not None else "a gamma"
    words = (
        f"(the normalising constants of {family} for each row of "
        f"${notation.bare(layer.scores.name)}${loadings}, with and without the counts). "
    )
    words += (
        r"To move one token from one label to another raises one count by one, and $\Gamma(y + 1) "
        r"= y\, \Gamma(y)$: of every ratio of gamma functions one factor remains. "
    )
    if layer.scores.simplex is None and layer.divisor.latex == "1":
        words += "The power of the rate is the same for all labels, and cancels. "
    return words + (
        "So the label of one token, given all others, has the probability below. Token after token "
        "is drawn so; each draw leaves the joint distribution of all labels unchanged, and so does "
        "the step, which draws from a conditional at every token, not from that of all labels at "
        "once. The tokens of one cell must be drawn one by one, and each is the token that it was "
        "before: a token that is chosen by its label would not be."
    )
