"""RunData: what the report of any run shows, whatever its network.

Of several chains, or of one whose topics trade places, only quantities that do not depend on the
numbering of units can be compared:

    a number               itself
    a vector on a simplex  Σ p², averaged over the vectors
    any other array        its total
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pgbn.checks import check_mapping, check_text
from pgbn.engine.run.draws import Draws
from pgbn.errors import DataError
from pgbn.explain import derivation
from pgbn.explain.document import Block
from pgbn.nodes.base import Latent, Node
from pgbn.report.data import Matrix, Series
from pgbn.report.text import used_versions

if TYPE_CHECKING:
    from pgbn.network.network import Network
    from pgbn.training.grown import GrownNetwork


Coords = Mapping[str, Sequence[Any]]
_SWEEPS = (("burn_in", 0), ("thin", 1))  # attributes of draws, and what they are if not told


@dataclass(frozen=True)
class Simplex:
    """The posterior mean of a node whose vectors sum to one: ``mean`` is (vectors, categories),
    with a name for each of both."""

    name: str
    over: str
    mean: Matrix
    rows: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class RunData:
    """A run: its nodes in a table, its simplex nodes, its traces, its derivation and settings; the
    ``picture`` of its network as SVG, ``repeat`` the code that repeats it."""

    title: str
    nodes: tuple[tuple[str, str, str, str], ...]  # name, law, dims, mean and spread
    simplexes: tuple[Simplex, ...]
    series: tuple[Series, ...]
    derivation: Sequence[Block]
    settings: Mapping[str, Any] = field(default_factory=dict)
    repeat: str = ""
    picture: str = ""


def run_data(
    draws: Draws,
    network: Network | None = None,
    *,
    coords: Coords | None = None,
    title: str = "Posterior draws",
    settings: Mapping[str, Any] | None = None,
    repeat: str = "",
    picture: str = "",
) -> RunData:
    """What the report shows of ``draws``. ``network`` is what was drawn from, ``coords`` are the
    names of the places of dims; the draws of `Network.sample` have both. ``picture`` is the network
    as `Network.plot` draws it."""
    if not hasattr(draws, "attributes") or not (network is None or hasattr(network, "nodes")):
        raise DataError("give draws that Network.sample returned, and their pgbn.Network or None")
    for name, text in (("title", title), ("repeat", repeat), ("picture", picture)):
        check_text(name, text)
    network = _known_network(draws, network)
    kept = {name: value for name, value in draws.attributes.items() if value is not None}
    chains, number = _drawn(draws)
    if draws.interrupted:
        kept["unfinished"] = "the run was stopped or still goes on; these are the draws so far"
    names = {**draws.coords, **check_mapping("coords", coords)}
    found = _summaries(network, draws)
    return RunData(
        title=title,
        nodes=tuple(_row(network, found, name) for name in network.nodes),
        simplexes=tuple(_simplexes(draws, found, names)),
        series=_series(draws, found),
        derivation=derivation(network),
        settings={"chains": chains, "draws of each": number, **_data_sizes(draws), **kept,
                  **used_versions(), **check_mapping("settings", settings)},
        repeat=repeat,
        picture=picture,
    )  # fmt: skip


def _known_network(draws: Draws, network: Network | None) -> Network:
    found = draws.network if network is None else network
    if found is None:
        raise DataError(
            "draws: they do not tell which network they are of; give network=, or draw them with "
            "net.sample, whose draws know it, in files too"
        )
    return found


def _drawn(draws: Draws) -> tuple[int, int]:
    """The chains, and the draws of each; refused if there are none."""
    name = next(iter(draws.values), None)
    chains, number = (0, 0) if name is None else _shape(draws, name)[:2]
    if not number:
        raise DataError("draws: none was kept so far, and there is nothing to show; let it go on")
    return chains, number


def _shape(draws: Draws, name: str) -> tuple[int, ...]:
    """The shape of the draws of a node; those in a folder are not read for it."""
    known = getattr(draws.values, "shapes", None)
    return tuple(np.shape(draws.values[name]) if known is None else known[name])


def _data_sizes(draws: Draws) -> dict[str, str]:
    return {
        f"data {name}": " × ".join(f"{n} {d}" for d, n in zip(cells.dims, cells.shape, strict=True))
        for name, cells in draws.data.items()
    }


def label_free_traces(network: Network, draws: Draws) -> tuple[Series, ...]:
    """Traces of what does not depend on the numbering of units."""
    return _series(draws, _summaries(network, draws))


@dataclass
class _Summary:
    """What the page shows of a node, gathered block by block: a run in a folder may be larger than
    the memory."""

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


def _summaries(network: Network, draws: Draws) -> dict[str, _Summary]:
    out = {}
    for name in draws.values:
        over, (chains, number, *sizes) = _summed(network.nodes.get(name)), _shape(draws, name)
        vectors = 1
        for dim, size in zip(draws.dims[name][2:], sizes, strict=True):
            vectors *= 1 if dim == over else size
        out[name] = _Summary(over, np.empty((chains, number)))
        for chain, start, rows in _blocks(draws, name):
            out[name].add(chain, start, rows, vectors)
    return out


def _blocks(draws: Draws, name: str) -> Iterable[tuple[int, int, Matrix]]:
    """The draws of a node in pieces: (chain, number of the first draw, draws)."""
    in_folder = getattr(draws.values, "blocks", None)
    if in_folder is not None:
        yield from in_folder(name)
        return
    for chain, rows in enumerate(draws.values[name]):
        yield chain, 0, np.asarray(rows)


def _series(draws: Draws, found: Mapping[str, _Summary]) -> tuple[Series, ...]:
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


def _row(network: Network, found: Mapping[str, _Summary], name: str) -> tuple[str, str, str, str]:
    node, each = network.nodes[name], found.get(name)
    slots = ", ".join(f"{slot}={getattr(node, slot)}" for slot in node.slots())
    if each is None:
        shown = "observed" if name in network.observed else "not kept"
    elif node.axes:
        shown = f"{each.low:.3g} … {each.high:.3g}, mean {each.total / each.entries:.4g}"
    else:
        shown = f"{each.trace.mean():.4g} ± {each.trace.std():.2g}"
    return name, f"{type(node).__name__}({slots})", ", ".join(node.axes) or "–", shown


def _simplexes(draws: Draws, found: Mapping[str, _Summary], coords: Coords) -> Iterable[Simplex]:
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


# ---- from grown ---------------------------------------------------------------------------------
#
# From a grown network of any family to RunData.


def run_data_from_grown(
    grown: GrownNetwork,
    *,
    coords: Coords | None = None,
    title: str = "A network grown layer by layer",
    settings: Mapping[str, Any] | None = None,
    repeat: str = "",
    picture: str = "",
) -> RunData:
    """What the report shows of a `pgbn.GrownNetwork`: the nodes that all rows share, by the draws
    that training kept or else their means, and the traces of its deepest layer."""
    model = grown.model
    kept = grown.draws or {name: value[None] for name, value in grown.means.items()}
    values = {name: value[None] for name, value in kept.items()}  # one chain
    dims = {name: ("chain", "draw", *model[name].axes) for name in values}
    widths = " – ".join(map(str, grown.widths))
    data = run_data(
        Draws(values, dims, network=model), coords=coords, title=title, repeat=repeat,
        picture=picture, settings={"widths": widths, "sweeps": grown.sweeps, **(settings or {})},
    )  # fmt: skip
    traces = dict(grown.traces)
    sweeps = traces.pop("sweep")
    return replace(
        data, series=tuple(Series(name.replace("_", " "), sweeps, value[None])
                           for name, value in traces.items()),
    )  # fmt: skip
