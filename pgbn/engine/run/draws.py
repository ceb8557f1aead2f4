"""Draws of latent nodes, with named dims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.data.nonzero import Cells
from pgbn.engine.draw_methods import DrawsMethods
from pgbn.engine.run.chain import Chain
from pgbn.errors import PgbnError, did_you_mean
from pgbn.storage import folders

if TYPE_CHECKING:
    from pgbn.network.network import Network


@dataclass(frozen=True)
class Draws(DrawsMethods):
    """Posterior draws: ``values[name]`` has the dims ("chain", "draw", *dims of the node).

    ``draws[name]`` is the same; ``name in draws``, ``list(draws)`` and ``len(draws)`` refer to the
    names, as in a dict.

    ``interrupted``: Ctrl-C came before the end. ``values`` then has the draws that were kept:
    those of the first chain so far, or of all whole chains, with those of the chain that was
    not finished in ``unfinished``. ``chain`` is where it stands; ``chain.sweep(n)`` goes on.

    ``network`` and ``data`` are what was sampled, for prediction and criticism; ``coords`` are the
    labels along dims, from data frames, xarray or ``coords=``. ``given`` are the values at which
    nodes were held, with the dims ("draw", *dims of the node): one, or one after another.
    """

    values: dict[str, NDArray[np.float64]]
    dims: dict[str, tuple[str, ...]]
    attributes: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    unfinished: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    chain: Chain | None = None
    network: Network | None = None
    data: Mapping[str, Cells] = field(default_factory=dict)
    coords: Mapping[str, list[Any]] = field(default_factory=dict)
    given: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the dims of draws and data."""
        found: dict[str, int] = {}
        for cells in self.data.values():
            found |= zip(cells.dims, cells.shape, strict=True)
        for name, dims in self.dims.items():
            found |= zip(dims[2:], self.values[name].shape[2:], strict=True)
        return found

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self:
            raise PgbnError(f"no draws of {name!r} were kept.{did_you_mean(name, self.values)}")
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.values

    def __len__(self) -> int:
        return len(self.values)

    def held(self, name: str) -> NDArray[Any]:
        """The value at which a node was held, or where it changed from sweep to sweep, the one of
        each draw: (chain, draw, *dims)."""
        if not isinstance(name, str) or name not in self.given:
            raise PgbnError(f"{name!r} was not held at a value.{did_you_mean(name, self.given)}")
        stack = self.given[name]
        if len(stack) == 1:
            return np.asarray(stack[0])
        before, thin = self.attributes["burn_in"], self.attributes["thin"]
        chains, count = next(iter(self.values.values())).shape[:2]
        rows = stack[(before + thin * np.arange(1, count + 1) - 1) % len(stack)]
        return np.broadcast_to(rows, (chains, *rows.shape))

    def mean(self, name: str) -> NDArray[np.float64]:
        """The posterior mean of a node."""
        return np.asarray(self[name].mean(axis=(0, 1)))

    def save(self, path: str | Path) -> None:
        """Write the draws to a folder; `pgbn.load` gives them back, each node when it is asked
        for."""
        folders.save(self, path)

    def __repr__(self) -> str:
        shapes = getattr(self.values, "shapes", None)  # of draws in a folder: none is read for it
        shapes = shapes or {name: value.shape for name, value in self.values.items()}
        rows = [f"  {name}{list(self.dims[name])} {shape}" for name, shape in shapes.items()]
        return "\n".join(["Draws (interrupted)" if self.interrupted else "Draws", *rows])
