"""A picture of a network: SVG written by hand, roots above and data below."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgbn.checks import check_path
from pgbn.errors import PgbnError
from pgbn.plot.layout import find_plate, make_boxes, make_edges, place, spread
from pgbn.plot.svg import draw
from pgbn.storage.part_files import new_file

if TYPE_CHECKING:
    from pgbn.network.network import Network

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
        target = check_path("path", path or ".")
        if not target.name:
            raise PgbnError(f"path={str(path)!r}: give the name of a file for the picture")
        try:
            with new_file(target) as file:
                file.write(self.svg.encode())
        except OSError as error:
            raise PgbnError(f"{path}: could not be written ({error.strerror or error})") from error


def plot(network: Network) -> Picture:
    """The graph of a network as SVG."""
    plate = find_plate(network)
    boxes = make_boxes(network, plate)
    edges = make_edges(network, boxes)
    everything = list(dict.fromkeys([*boxes.values(), *(b for edge in edges for b in edge.boxes)]))
    place(everything)
    spread(edges)
    return Picture(draw(network, plate, boxes, edges, everything))
