"""What the report shows of the draws of every node of a network.

Topics may trade places between chains, and along one. So only quantities that do not depend on the
numbering of units are compared:

    a number               itself
    a vector on a simplex  Σ p², averaged over the vectors
    any other array        its total
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pgbn.engine.run.draws import Draws
from pgbn.errors import DataError
from pgbn.nodes.base import Latent, Node
from pgbn.report.data import Matrix, Series, Simplex

if TYPE_CHECKING:
    from pgbn.network.network import Network


Coords = Mapping[str, Sequence[Any]]
_SWEEPS = (("burn_in", 0), ("thin", 1))  # attributes of draws, and their values if missing


def chains_and_draws(draws: Draws) -> tuple[int, int]:
    """The chains, and the draws of each; draws without any are rejected."""
    name = next(iter(draws.values), None)
    chains, number = (0, 0) if name is None else _shape(draws, name)[:2]
    if not number:
        raise DataError("draws: none was kept so far, and there is nothing to show; let it go on")
    return chains, number


def _shape(draws: Draws, name: str) -> tuple[int, ...]:
    """The shape of the draws of a node; those in a folder are not read for it."""
    known = getattr(draws.values, "shapes", None)
    return tuple(np.shape(draws.values[name]) if known is None else known[name])


@dataclass
class Summary:
    """What the page shows of a node, gathered block by block: a run in a folder may be larger than
    memory."""

    over: str | None  # the dim over which it sums to one
    trace: Matrix  # (chain, draw): the label-free quantity
    first: Any = 0.0  # the mean of the first chain
    total: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    entries: int = 0

    def add(self, chain: int, start: int, rows: Matrix, vectors: int) -> None:
        flat = rows.reshape(len(rows), -1)
        if self.over is None:
            each = flat.sum(axis=1)
        else:
            each = np.einsum("di,di->d", flat, flat) / vectors
        self.trace[chain, start : start + len(rows)] = each
        if chain == 0:
            self.first = self.first + rows.sum(axis=0) / self.trace.shape[1]
        self.total += float(flat.sum())
        self.low = float(np.minimum(self.low, flat.min()))
        self.high = float(np.maximum(self.high, flat.max()))
        self.entries += flat.size


def summaries(network: Network, draws: Draws) -> dict[str, Summary]:
    """A summary of every node that has draws."""
    out = {}
    for name in draws.values:
        over, (chains, number, *sizes) = _summed(network.nodes.get(name)), _shape(draws, name)
        vectors = 1
        for dim, size in zip(draws.dims[name][2:], sizes, strict=True):
            vectors *= 1 if dim == over else size
        out[name] = Summary(over, np.empty((chains, number)))
        for chain, start, rows in blocks_of(draws, name):
            out[name].add(chain, start, rows, vectors)
    return out


def blocks_of(draws: Draws, name: str) -> Iterable[tuple[int, int, Matrix]]:
    """The draws of a node in pieces: (chain, number of the first draw, draws)."""
    in_folder = getattr(draws.values, "blocks", None)
    if in_folder is not None:
        yield from in_folder(name)
        return
    for chain, rows in enumerate(draws.values[name]):
        yield chain, 0, np.asarray(rows)


def label_free_traces(draws: Draws, found: Mapping[str, Summary]) -> tuple[Series, ...]:
    """Traces of what does not depend on the numbering of units."""
    out = []
    for name, each in found.items():
        begin, step = (draws.attributes.get(key, default) for key, default in _SWEEPS)
        sweeps = begin + np.arange(1.0, each.trace.shape[1] + 1) * step
        total = f"total of {name}" if draws.dims[name][2:] else name
        title = total if each.over is None else f"mean Σp² of {name}"
        out.append(Series(title, sweeps, each.trace))
    return tuple(out)


def _summed(node: Node | None) -> str | None:
    """The dim over which a latent node sums to one, if it does."""
    return node.simplex if isinstance(node, Latent) else None


def node_row(
    network: Network, found: Mapping[str, Summary], name: str
) -> tuple[str, str, str, str]:
    """Name, law, dims and posterior of a node."""
    node, each = network.nodes[name], found.get(name)
    slots = ", ".join(f"{slot}={getattr(node, slot)}" for slot in node.slots())
    if each is None:
        shown = "observed" if name in network.observed else "not kept"
    elif node.axes:
        shown = f"{each.low:.3g} … {each.high:.3g}, mean {each.total / each.entries:.4g}"
    else:
        shown = f"{each.trace.mean():.4g} ± {each.trace.std():.2g}"
    return name, f"{type(node).__name__}({slots})", ", ".join(node.axes) or "–", shown


def simplexes(draws: Draws, found: Mapping[str, Summary], coords: Coords) -> Iterable[Simplex]:
    """Means of the first chain: in another chain the same topic has another number."""
    for name, each in found.items():
        over = each.over
        if over is None:
            continue
        dims = list(draws.dims[name][2:])
        mean = np.moveaxis(each.first, dims.index(over), -1)
        dims.remove(over)
        places = [_names(coords, dim, size) for dim, size in zip(dims, mean.shape, strict=False)]
        rows = [
            ", ".join(f"{dim} {place[i]}" for dim, place, i in zip(dims, places, at, strict=True))
            for at in np.ndindex(*mean.shape[:-1])
        ]
        yield Simplex(name, over, mean.reshape(-1, mean.shape[-1]), tuple(rows),
                      _names(coords, over, mean.shape[-1]))  # fmt: skip


def _names(coords: Coords, dim: str, size: int) -> tuple[str, ...]:
    given = coords.get(dim, range(size))
    if len(given) != size:
        raise DataError(f"coords: {len(given)} labels along {dim!r}, but its size is {size}")
    return tuple(map(str, given))
