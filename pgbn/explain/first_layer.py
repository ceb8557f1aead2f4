"""Why the labels of tokens have the probabilities that they have: the derivation."""

from __future__ import annotations

from pgbn.explain.document import Block, Equations, Heading, Paragraph, code
from pgbn.explain.notation import Notation
from pgbn.explain.tokens import (
    TokenLayer,
    further_name,
    further_weight,
    token_layer,
    token_lines,
)
from pgbn.explain.way import Way
from pgbn.network.steps import Step

__all__ = ["token_section"]


def token_section(notation: Notation, way: Way) -> list[Block]:
    """The derivation: the joint probability of the labels, and the ratio for one of them."""
    steps = [step for step in way.schedule if way.labels(step)]
    several = len(steps) > 1
    return [block for step in steps for block in _section(notation, way, step, several)]


def _section(notation: Notation, way: Way, step: Step, several: bool) -> list[Block]:
    layer = token_layer(notation, way, step)
    token = layer.token
    out = layer.loadings.name in step.marginalises
    phi, theta = (notation.bare(name) for name in (layer.loadings.name, layer.scores.name))
    gone = rf"${phi}$ and ${theta}$" if out else f"${theta}$"
    of = f" of {code(layer.observed.name)}" if several else ""
    own = f"labels {layer.observed.name}" if several else "labels"
    intro = (
        f"Every count of {code(layer.observed.name)} is so many tokens: token ${token.place}$ has "
        f"the term ${token.term}$, which is seen, and a label ${token.label}$, the factor that it "
        "comes from. Given the values the labels are independent, with probabilities proportional "
        f"to the terms of the sum; the counts of labels are the ${layer.split}$ of the split. A "
        "minus sign above a count says that the token at hand is left out of it."
    )
    if layer.further:
        names = ", ".join(f"${further_name(layer, term)}$" for term in layer.further)
        intro += f" A term of the rate beside ${phi}$ and ${theta}$ is a label of its own: {names}."
    lines = [_scores_integral(layer), _loadings_integral(layer) if out else _loadings_held(layer)]
    labels = [f"{own} scores", f"{own} loadings"]
    if layer.further:
        lines.append(_rest(layer))
        labels.append(f"{own} others")
    weights = [line for line in token_lines(notation, way, step) if line.startswith("P(")]
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
        read = any(read.name == layer.scores.name for each in way.schedule for read in each.reads)
        blocks.append(Paragraph(
            f"Neither ${phi}$ nor ${theta}$ is read by any step: they are drawn when somebody "
            "looks at them, given the labels." if not read else
            f"No step reads ${phi}$: it is drawn when somebody looks at it, given the labels."
        ))  # fmt: skip
    return blocks


def _rest(layer: TokenLayer) -> str:
    """What is neither integrated out nor the same for all labels: factors of rows, and further
    terms."""
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
    count = notation.heard_count(layer.scores.name) if layer.pattern.index else layer.heard()
    up = rf"\Gamma({(shape + count).latex})"
    down = rf"\Gamma({shape.latex})"
    if layer.scores.simplex is None:
        rate = notation.slot(layer.scores, "rate") + notation.exposure(layer.scores.name)
        tail = rf"\, ({rate.latex})^{{-{count.within(2)}}}"
    else:
        tail = ""  # the total of a row is known, and with it Γ(a·) / Γ(a· + N)
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
