"""A picture of a network: SVG written by hand, roots above and data below."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pgbn.plot.layout import find_plate, make_boxes, make_edges, place
from pgbn.plot.svg import draw

if TYPE_CHECKING:
    from pgbn.network import Network

__all__ = ["Picture", "plot"]


@dataclass(frozen=True)
class Picture:
    """An SVG picture; Jupyter shows it, ``str`` gives its text."""

    svg: str

    def __str__(self) -> str:
        return self.svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, whole or not at all."""
        target = Path(path)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(self.svg)
            Path(name).chmod(0o644)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def plot(network: Network) -> Picture:
    """The graph of a network as SVG."""
    plate = find_plate(network)
    boxes = make_boxes(network, plate)
    edges = make_edges(network, boxes)
    everything = list(dict.fromkeys([*boxes.values(), *(b for edge in edges for b in edge.boxes)]))
    place(everything)
    return Picture(draw(network, plate, boxes, edges, everything))
