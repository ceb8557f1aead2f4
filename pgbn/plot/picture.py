"""A picture of a network: SVG written by hand, roots above and data below.

A node stands one layer above the highest of its children (`networkx` finds the generations). The
nodes that share the plate of the data, such as ``doc``, stand to the right; the others to the left.
If there are several kinds of data, a node on which only one of them depends stands below it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import networkx as nx

from pgbn.errors import DataError
from pgbn.explain.formulas import to_unicode
from pgbn.explain.notation import Notation
from pgbn.network.terms import FIRST
from pgbn.nodes.base import Node, Observed
from pgbn.storage.atomic_files import save_text

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
        """The space that the box needs on either side of its middle."""
        return self.width / 2 + self.loop


@dataclass(eq=False)
class Arrow:
    """The path from a parent to a child, through the bends between them. It ends at a given
    distance from the middle of the child."""

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
    """The roots without the plate on which only one of several kinds of data depends."""
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
    """The slot of a parent; for a Markov chain, whether it applies to the first rows only."""
    polynomial = network.wiring.polynomials[child, slot]
    terms = [term for term in polynomial.terms if parent in (f.name for f in term.factors)]
    rows = max(term.lag for term in terms)
    first = f"{slot} at {polynomial.along} {'=' if rows == 1 else '≤'} {rows}"
    return first if {term.phase for term in terms} == {FIRST} else slot


# ---- where it stands --------------------------------------------------------------------


def place(boxes: list[Box]) -> None:
    """Place layers by height, nodes near their neighbours, and the plate to the right."""
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

    After the offsets of a tight row are subtracted, only the order must be kept. Neighbours that
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
    """Separate the plate from the rest, and everything to the right of the margin."""
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
    """Let the edges from above to one child end next to each other, in the order of their origins,
    so that none crosses another."""
    arriving: dict[Box, list[Arrow]] = {}
    for edge in edges:
        if not edge.boxes[0].below:
            arriving.setdefault(edge.boxes[-1], []).append(edge)
    for child, together in arriving.items():
        apart = min(20.0, 0.6 * child.width / len(together))
        together.sort(key=lambda edge: edge.boxes[-2].x)
        for index, edge in enumerate(together):
            edge.end = (index - (len(together) - 1) / 2) * apart


# Text always has its own light background, so that the picture is readable on light and dark pages.
# Dims that are not the plate are written in the nodes.

Area = tuple[float, float, float, float]
_LABEL_HEIGHT = 17.0

_STYLE = """
.edge { fill: none; stroke: #7b8494; stroke-width: 1.5; }
.node { fill: #ffffff; stroke: #4a5568; stroke-width: 1.4; }
.observed { fill: #cbd5e1; }
.plate { fill: #8896ab; fill-opacity: 0.12; stroke: #7b8494; stroke-width: 1.3; }
.other { fill: none; stroke-dasharray: 2 4; }
.ground { fill: #eef1f5; stroke: #aab3c0; stroke-width: 0.7; }
text { font-family: 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1a202c; }
.title { font-size: 14px; font-weight: 600; text-anchor: middle; }
.detail { font-size: 11px; text-anchor: middle; }
.label { font-size: 10.5px; text-anchor: middle; }
"""


def plot(network: Network) -> Picture:
    """The graph of a network as SVG."""
    plate = find_plate(network)
    boxes = make_boxes(network, plate)
    edges = make_edges(network, boxes)
    everything = list(dict.fromkeys([*boxes.values(), *(b for edge in edges for b in edge.boxes)]))
    place(everything)
    spread(edges)
    width = max(box.x + box.reach for box in everything) + MARGIN + 16
    height = max(box.y + HEIGHT for box in everything) + MARGIN + 26
    parts: list[str] = []
    taken: list[Area] = [_place(box) for box in boxes.values()]
    labels: list[str] = []
    for frame, name in _plates(network, plate, boxes, everything):
        parts.append(frame)
        labels.append(name)
    for edge in edges:
        parts.append(f'<path class="edge" marker-end="url(#tip)" d="{_curve(edge)}"/>')
    for box in boxes.values():
        if box.loop:
            loop, name = _chain(network, box, taken)
            parts.append(loop)
            labels.append(name)
    for edge in edges:
        labels.append(_edge_label(edge, taken))
    parts += [_node(network, box) for box in boxes.values()]
    title = f"Network of {len(network)} nodes; observed: {', '.join(network.observed)}"
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto" markerUnits="userSpaceOnUse">'
        '<path d="M 0 0 L 8 4 L 0 8 z" fill="#7b8494"/></marker></defs>'
    )
    return Picture(svg(width, height, title, _STYLE, [tip, *parts, *labels]))


def svg(
    width: float, height: float, title: str, style: str, parts: Sequence[str], spoken: str = ""
) -> str:
    """A picture as text; screen readers read ``spoken``, or its title."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f"aria-label={quoteattr(spoken or title)}>\n"
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def white(width: float, height: float) -> str:
    """The background of a picture."""
    return f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>'


def _plates(
    network: Network, plate: str | None, boxes: dict[str, Box], everything: list[Box]
) -> list[tuple[str, str]]:
    """The frame and the name of the plate of the data. Every other dim of several nodes gets a
    frame if a rectangle can contain its nodes and no others."""
    frames = []
    inside = [box for box in everything if box.inside]
    if plate is not None and inside:
        frames.append(_frame(network, plate, _around(inside, 14, 16, 30), right=True))
    for dim in network.dims:
        own = [box for box in boxes.values() if box.node is not None and dim in box.node.axes]
        area = _around(own, 3, 8, 8)  # adjacent plates do not touch
        others = [box for box in boxes.values() if box not in own]
        if dim == plate or len(own) < 2 or any(_overlap(_place(box), area) for box in others):
            continue
        frames.append(_frame(network, dim, area, right=False))
    return frames


def _place(box: Box) -> Area:
    return (box.x - box.width / 2, box.y, box.x + box.width / 2, box.y + HEIGHT)


def _around(inside: list[Box], sideways: float, above: float, below: float) -> Area:
    return (
        min(box.x - box.reach for box in inside) - sideways,
        min(box.y for box in inside) - above,
        max(box.x + box.reach for box in inside) + sideways,
        max(box.y + HEIGHT for box in inside) + below,
    )


def _frame(network: Network, dim: str, area: Area, right: bool) -> tuple[str, str]:
    """A rectangle, and the name of its plate in the lower right corner or on the left side."""
    x0, y0, x1, y1 = area
    size = network.sizes.get(dim)
    text = dim if size is None else f"{dim} = {size}"
    kind = "plate" if right else "plate other"
    frame = (
        f'<rect class="{kind}" x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" '
        f'height="{y1 - y0:.1f}" rx="14"><title>plate {escape(dim)}</title></rect>'
    )
    half = label_width(text) / 2
    place = (x1 - 10 - half, y1 - 13) if right else (x0 + 10 + half, y1)
    return frame, _label(text, *place, [])


def _chain(network: Network, box: Box, taken: list[Area]) -> tuple[str, str]:
    """The arrow from a chain to itself, and its label."""
    assert box.node is not None
    text = f"previous {Notation(network).along(box.node)}"
    x, y = box.x + box.width / 2, box.y + HEIGHT / 2
    loop = (
        f'<path class="edge" marker-end="url(#tip)" d="M {x:.1f} {y - 12:.1f} '
        'c 34 -14 34 38 1 24"/>'
    )
    return loop, _label(text, x + 30 + label_width(text) / 2, y, taken)


def _points(edge: Arrow) -> list[tuple[float, float]]:
    """Bottom of the parent, the bends, top of the child; from below, the other way round."""
    first, *bends, last = edge.boxes
    if first.below:
        return [(first.x, first.y), (last.x + edge.end, last.y + HEIGHT + 2)]
    middle = [(bend.x, bend.y + HEIGHT / 2) for bend in bends]
    return [(first.x, first.y + HEIGHT), *middle, (last.x + edge.end, last.y - 2)]


def _curve(edge: Arrow) -> str:
    points = _points(edge)
    path = f"M {points[0][0]:.1f} {points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        half = (y1 - y0) / 2
        path += f" C {x0:.1f} {y0 + half:.1f} {x1:.1f} {y1 - half:.1f} {x1:.1f} {y1:.1f}"
    return path


def _edge_label(edge: Arrow, taken: list[Area]) -> str:
    """The role of the parent, at a free place on the curve."""
    (x0, y0), (x1, y1) = _points(edge)[-2:]
    half = (y1 - y0) / 2
    best: tuple[float, float] | None = None
    for t in (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8):
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
        x = sum(w * p for w, p in zip(weights, (x0, x0, x1, x1), strict=True))
        y = sum(w * p for w, p in zip(weights, (y0, y0 + half, y1 - half, y1), strict=True))
        best = best or (x, y)
        if not any(_overlap(_area(edge.label, x, y), other) for other in taken):
            best = (x, y)
            break
    assert best is not None
    return _label(edge.label, *best, taken)


def _area(text: str, x: float, y: float) -> Area:
    half, tall = label_width(text) / 2, _LABEL_HEIGHT / 2
    return (x - half, y - tall, x + half, y + tall)


def _overlap(one: Area, other: Area) -> bool:
    left, top, right, bottom = one
    l2, t2, r2, b2 = other
    return left < r2 + 2 and l2 < right + 2 and top < b2 + 2 and t2 < bottom + 2


def _label(text: str, x: float, y: float, taken: list[Area]) -> str:
    """A small text with its own background."""
    area = _area(text, x, y)
    taken.append(area)
    left, top, right, bottom = area
    return (
        f'<g><rect class="ground" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{bottom - top:.1f}" rx="8"/>'
        f'<text class="label" x="{x:.1f}" y="{y + 3.6:.1f}">{escape(text)}</text></g>'
    )


def _node(network: Network, box: Box) -> str:
    assert box.node is not None
    role = network.role(box.node.name)
    spoken = f"{role} {box.node!r}"
    kind = "node observed" if role == "observed" else "node"
    dashed = ' stroke-dasharray="5 3"' if role == "given" else ""
    return (
        f'<g role="img" aria-label={quoteattr(spoken)}><title>{escape(spoken)}</title>'
        f'<rect class="{kind}" x="{box.x - box.width / 2:.1f}" y="{box.y:.1f}" '
        f'width="{box.width:.1f}" height="{HEIGHT:.0f}" rx="{HEIGHT / 2:.0f}"{dashed}/>'
        f'<text class="title" x="{box.x:.1f}" y="{box.y + 20:.1f}">{escape(box.title)}</text>'
        f'<text class="detail" x="{box.x:.1f}" y="{box.y + 36:.1f}">{escape(box.detail)}</text></g>'
    )


@dataclass(frozen=True)
class Picture:
    """An SVG picture, such as `Network.plot` returns; Jupyter shows it.

    Parameters
    ----------
    svg
        The text of the picture; ``str(picture)`` returns it too.

    Examples
    --------
    >>> import pgbn
    >>> picture = pgbn.zoo.pfa(3).plot()
    >>> picture
    Picture(…); .save("picture.svg") writes it, Jupyter shows it
    >>> str(picture).startswith("<svg")
    True
    """

    svg: str

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return 'Picture(…); .save("picture.svg") writes it, Jupyter shows it'

    def __getattr__(self, name: str) -> Any:
        if name in ("savefig", "write", "show", "render", "to_file"):
            raise AttributeError(
                f'a Picture has no {name}; Picture.save("graph.svg") writes it, Jupyter shows it'
            )
        raise AttributeError(f"a Picture has no {name!r}; it has svg and save")

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, complete or not at all.

        Parameters
        ----------
        path
            An ``.svg`` file. Browsers and Inkscape convert it to other formats.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import pgbn
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pgbn.zoo.pfa(3).plot().save(Path(folder, "graph.svg"))
        """
        suffix = Path(path).suffix.lower() if isinstance(path, (str, os.PathLike)) else ""
        if suffix in (".png", ".pdf", ".jpg", ".jpeg", ".eps"):
            raise DataError(f"path={os.fspath(path)!r:.60}: a Picture is SVG; give a name in .svg")
        save_text(path, self.svg, "picture")
