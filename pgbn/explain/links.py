"""Links: the latent counts behind data, and the lemma of each link that we know."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from pgbn.explain.notation import Notation
from pgbn.explain.registered import generic_lines
from pgbn.nodes.base import Node
from pgbn.nodes.bernoulli_poisson import BernoulliPoisson
from pgbn.nodes.poisson_gamma import PoissonGamma
from pgbn.nodes.rules.registry import find_link
from pgbn.nodes.rules.types import LinkRule

__all__ = ["link_lemma", "link_lines"]


def link_lemma(node: Node) -> str | None:
    """The lemma behind the link of an observed node."""
    link = find_link(node)
    if link is None or link.counts is None or link.node not in _KNOWN:
        return None
    return _KNOWN[link.node][0]


def link_lines(notation: Notation, node: Node, link: LinkRule) -> list[str]:
    """The draw of the latent counts behind data; nothing where the data are the counts."""
    if link.counts is None:
        return []
    if link.node in _KNOWN:
        return [_KNOWN[link.node][1](notation, node, link)]
    names = [n for n in inspect.signature(link.counts).parameters if n != "stream"]
    return generic_lines(notation, node, link.equation, notation.cells(node).latex, names)


def _thresholded(notation: Notation, node: Node, link: LinkRule) -> str:
    count, value = notation.cells(node).latex, notation.value(node.name).latex
    rate = notation.slot(node, link.slot).latex
    return rf"({count} \mid {value} = 1) &\sim \mathrm{{Pois}}_{{+}}({rate})"


def _randomised(notation: Notation, node: Node, link: LinkRule) -> str:
    count, value = notation.cells(node).latex, notation.value(node.name)
    inside = notation.slot(node, "noise") * value * notation.slot(node, link.slot)
    return (
        rf"({count} \mid {value.latex} > 0) &\sim \mathrm{{Bessel}}_{{-1}}"
        rf"\bigl(2 \sqrt{{{inside.latex}}}\bigr)"
    )


# node type → its lemma, and the equation of its counts
_KNOWN: dict[type[Node], tuple[str, Callable[[Notation, Node, LinkRule], str]]] = {
    BernoulliPoisson: ("bernoulli-poisson", _thresholded),
    PoissonGamma: ("poisson-gamma", _randomised),
}
