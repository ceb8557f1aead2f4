"""Where nodes and edges of a picture stand.

A node stands one layer above the highest of its children (`networkx` finds the generations).
The nodes that share the plate of the data, such as ``doc``, stand to the right; the others
to the left. Of several kinds of data, what only one of them depends on stands below it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import networkx as nx

from pgbn.explain.formulas import to_unicode
from pgbn.explain.notation import Notation
from pgbn.network.terms import FIRST
from pgbn.nodes.base import Node, Observed

if TYPE_CHECKING:
    from pgbn.network.network import Network


HEIGHT, MARGIN = 48.0, 24.0
_LAYER, _GAP = 118.0, 34.0


@dataclass(eq=False)
class Box:
    """A node, or a bend of an edge that passes a layer (``node`` is None)."""

    node: Node | None
    layer: int
    inside: bool
    width: float = 12.0
    title: str = ""
    detail: str = ""
    x: float = 0.0
    y: float = 0.0
    loop: float = 0.0
    below: bool = False
    neighbours: list[Box] = field(default_factory=list)

    @property
    def right(self) -> bool:
        """Whether it is placed together with the plate."""
        return self.inside or self.below

    @property
    def reach(self) -> float:
        """How far the box needs room on either side of its middle."""
        return self.width / 2 + self.loop


@dataclass(eq=False)
class Arrow:
    """A parent's way to a child, through the bends between them; it ends so far from the middle
    of the child."""

    boxes: list[Box]
    label: str
    end: float = 0.0


def label_width(text: str) -> float:
    return 6.2 * len(text) + 10


# ---- what is to be drawn ----------------------------------------------------------------


def find_plate(network: Network) -> str | None:
    """The plate of the observations: the first dim that all data share with a hidden node."""
    data = [node for node in network if isinstance(node, Observed)]
    shared = [dim for dim in data[0].axes if all(dim in node.axes for node in data)]
    hidden = [dim for dim in shared if sum(dim in node.axes for node in network) > len(data)]
    return next(iter(hidden or shared), None)


def make_boxes(network: Network, plate: str | None) -> dict[str, Box]:
    symbols = Notation(network)
    boxes = {}
    for layer, names in enumerate(nx.topological_generations(network.graph.reverse())):
        for name in sorted(names, key=list(network.nodes).index):
            node = network.nodes[name]
            symbol = to_unicode(symbols.bare(name))
            title = name if symbol == name else f"{symbol} · {name}"
            detail = type(node).__name__
            if node.axes:
                detail += f" [{', '.join(node.axes)}]"
            width = max(8.6 * len(title), 6.6 * len(detail)) + 26
            along = symbols.along(node)
            loop = 0.0 if along is None else 34 + label_width(f"previous {along}")
            boxes[name] = Box(node, layer, plate in node.axes, width, title, detail, loop=loop)
    for name in _only_of_one(network, plate):
        boxes[name].layer, boxes[name].below = -1, True
    return boxes


def _only_of_one(network: Network, plate: str | None) -> list[str]:
    """Of several kinds of data in one plate: the roots without it on which one of them alone
    depends."""
    graph, data = network.graph, network.observed
    return [
        name
        for name in network.latent
        if plate is not None
        and len(data) > 1
        and plate not in network.nodes[name].axes
        and not any(graph.predecessors(name))
        and [*graph.successors(name)] in [[each] for each in data]
    ]


def make_edges(network: Network, boxes: dict[str, Box]) -> list[Arrow]:
    edges = []
    for parent, child, data in network.graph.edges(data=True):
        top, bottom = boxes[parent], boxes[child]
        bends = [
            Box(None, layer, top.inside and bottom.inside)
            for layer in range(top.layer - 1, bottom.layer, -1)
        ]
        way = [top, *bends, bottom]
        for above, below in pairwise(way):
            above.neighbours.append(below)
            below.neighbours.append(above)
        labels = [_role(network, parent, child, slot) for slot in dict.fromkeys(data["slots"])]
        edges.append(Arrow(way, ", ".join(labels)))
    return edges


def _role(network: Network, parent: str, child: str, slot: str) -> str:
    """The slot that a parent stands in; of a Markov chain, whether in its first rows only."""
    polynomial = network.wiring.polynomials[child, slot]
    held = [term for term in polynomial.terms if parent in (f.name for f in term.factors)]
    rows = max(term.lag for term in held)
    first = f"{slot} at {polynomial.along} {'=' if rows == 1 else '≤'} {rows}"
    return first if {term.phase for term in held} == {FIRST} else slot


# ---- where it stands --------------------------------------------------------------------


def place(boxes: list[Box]) -> None:
    """Layers by height; within a layer near the neighbours; the plate to the right."""
    top = max(box.layer for box in boxes)
    for right in (False, True):
        _arrange([box for box in boxes if box.right is right], top)
    _separate(boxes)
    for box in boxes:
        box.y = MARGIN + 20 + (top - box.layer) * _LAYER


def _arrange(boxes: list[Box], top: int) -> None:
    """Order every layer by the mean place of the neighbours, up and down a few times."""
    layers = [[box for box in boxes if box.layer == layer] for layer in range(-1, top + 1)]
    for _ in range(12):
        for layer in (*layers, *reversed(layers)):
            wishes = {}
            for box in layer:
                near = [other.x for other in box.neighbours if other.right is box.right]
                wishes[box] = sum(near) / len(near) if near else 0.0
            layer.sort(key=lambda box: wishes[box])
            _pack(layer, [wishes[box] for box in layer])


def _pack(layer: list[Box], wishes: list[float]) -> None:
    """Put boxes as near to their wishes as their order and widths allow (least squares).

    With the offsets of a tight row taken away, only the order must be kept; neighbours that
    would violate it are merged and take their mean wish.
    """
    offset, offsets = 0.0, []
    for index, box in enumerate(layer):
        if index:
            offset += layer[index - 1].reach + _GAP + box.reach
        offsets.append(offset)
    groups: list[tuple[float, int]] = []
    for wish, shift in zip(wishes, offsets, strict=True):
        mean, size = wish - shift, 1
        while groups and groups[-1][0] > mean:
            before, count = groups.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        groups.append((mean, size))
    places = [mean for mean, size in groups for _ in range(size)]
    for box, place, shift in zip(layer, places, offsets, strict=True):
        box.x = place + shift


def _separate(boxes: list[Box]) -> None:
    """Move the plate clear of the rest, and everything to the right of the margin."""
    inside = [box for box in boxes if box.right]
    outside = [box for box in boxes if not box.right]
    if inside and outside:
        right = max(box.x + box.reach for box in outside)
        left = min(box.x - box.reach for box in inside)
        for box in inside:
            box.x += right - left + 2 * _GAP
    left = min(box.x - box.reach for box in boxes)
    for box in boxes:
        box.x += MARGIN + 16 - left


def spread(edges: list[Arrow]) -> None:
    """Let the edges that come to one child from above end side by side, in the order in which they
    come: none runs over another."""
    arriving: dict[Box, list[Arrow]] = {}
    for edge in edges:
        if not edge.boxes[0].below:
            arriving.setdefault(edge.boxes[-1], []).append(edge)
    for child, together in arriving.items():
        apart = min(20.0, 0.6 * child.width / len(together))
        together.sort(key=lambda edge: edge.boxes[-2].x)
        for index, edge in enumerate(together):
            edge.end = (index - (len(together) - 1) / 2) * apart
