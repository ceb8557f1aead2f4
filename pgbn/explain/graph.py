"""The augmented graph: the network with the drawn counts as separate nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx

from pgbn.explain.document import unaligned
from pgbn.explain.formulas import to_unicode
from pgbn.explain.model import distribution
from pgbn.explain.notation import Notation
from pgbn.explain.steps import has_tables, link_lines, split_lines, tables_lines
from pgbn.network.terms import ALWAYS
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.rules import find_link

if TYPE_CHECKING:
    from pgbn.network.network import Network


def augmented(network: Network) -> nx.DiGraph:
    """Values, data and counts, and who informs whom.

    Nodes have ``kind`` ("value", "given", "observed" or "counts"), ``label`` (plain text) and
    ``equation`` (LaTeX). ``counts(x)`` are the counts behind data x, ``crt(theta)`` the tables
    that link the counts of theta to its shape, ``split(x)`` the counts shared between the terms of
    a slot.
    Edges have a ``relation``: "generates" (parent → child, with ``slots``) or "counts" (data →
    counts → … → the values that receive them). The edges of either relation make no cycle.

    Parameters
    ----------
    network : Network
        The network.

    Returns
    -------
    networkx.DiGraph
        A new graph.

    Examples
    --------
    >>> import pgbn
    >>> list(pgbn.explain.augmented(pgbn.zoo.pfa(2)))[-3:]
    ['split(x)', 'crt(theta1)', 'crt(r)']
    """
    notation = Notation(network)
    graph = nx.DiGraph()
    for node in network:
        law = r"\text{ is given}"
        if not notation.is_bare(node):
            slots = {slot: notation.slot(node, slot) for slot in node.slots()}
            law = f" {distribution(notation, node, slots)}"
        equation = unaligned(notation.own_symbol(node) + law)
        role = network.role(node.name)
        kind = "value" if role == "latent" else role
        graph.add_node(node.name, kind=kind, label=to_unicode(notation.bare(node.name)),
                       equation=equation, spec=node)  # fmt: skip
    for parent, child, data in network.graph.edges(data=True):
        graph.add_edge(parent, child, relation="generates", slots=data["slots"])
    handed_on: dict[tuple[str, str], str] = {}
    for node in reversed(network.nodes.values()):
        _add_counts(graph, notation, node, handed_on)
    return graph


def _add_counts(
    graph: nx.DiGraph, notation: Notation, node: Node, handed_on: dict[tuple[str, str], str]
) -> None:
    """The counts that a node passes on, between it and the parents that receive them.

    ``handed_on`` has the last counts of each node and slot below; those of this node are added.
    """
    rules = notation.wiring.rules
    link = find_link(node)
    start = [node.name]
    if not isinstance(node, Observed):
        received = ((s.child.name, s.slot) for s in notation.wiring.sources.get(node.name, ()))
        start = list(dict.fromkeys(handed_on[pair] for pair in received if pair in handed_on))
    if link is not None:
        lines = link_lines(notation, node, link) or [
            rf"{notation.cells(node).latex} \text{{: the data themselves}}"
        ]
        start = [_add(graph, f"counts({node.name})", notation.cells(node).latex, lines, start)]
    for slot in node.slots():
        rule = rules.get((node.name, slot))
        if rule is None:
            continue
        last = start
        if rule.is_random:
            name = f"crt({node.name})" if has_tables(rule) else f"counts({node.name}.{slot})"
            lines = [line for at, phase, _ in notation.rows(node)
                     for line in tables_lines(notation, node, slot, at, phase)]  # fmt: skip
            last = [_add(graph, name, notation.drawn(node, slot).latex, lines, start)]
        elif rule.count != "count" or not isinstance(node, Observed):
            continue
        lines = [line for at, phase, _ in notation.rows(node)
                 for line in split_lines(notation, node, slot, at, phase)]  # fmt: skip
        if lines:
            beside = link is not None and slot != link.slot
            own = slot if beside or notation.slot_mark(node, slot) else ""
            name = f"split({node.name}{'.' + own if own else ''})"
            terms = notation.wiring.polynomials[node.name, slot].terms
            shared = (term for term in terms if term.contracted or term.phase != ALWAYS)
            label = notation.split(node, slot, next(shared, terms[0])).latex
            last = [_add(graph, name, label, lines, last)]
        polynomial = notation.wiring.polynomials[node.name, slot]
        chain = (node.name,) if polynomial.along is not None else ()
        handed_on[node.name, slot] = last[0]
        for parent in (*polynomial.names, *chain):
            if parent not in notation.network.given:  # given nodes receive nothing
                graph.add_edge(last[0], parent, relation="counts")


def _add(graph: nx.DiGraph, name: str, label: str, lines: list[str], before: list[str]) -> str:
    equation = r",\quad ".join(map(unaligned, lines))
    graph.add_node(name, kind="counts", label=to_unicode(label), equation=equation)
    for origin in before:
        graph.add_edge(origin, name, relation="counts")
    return name
