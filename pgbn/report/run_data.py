"""RunData: what the report of any run shows, whatever its network.

Of several chains, or of one whose topics trade places, only quantities that do not depend on the
numbering of units can be compared:

    a number               itself
    a vector on a simplex  Σ p², averaged over the vectors
    any other array        its total
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pgbn.errors import DataError
from pgbn.explain import derivation
from pgbn.explain.document import Block
from pgbn.nodes.base import Latent, Node
from pgbn.report.data import Matrix, Series
from pgbn.report.facts import used_versions

if TYPE_CHECKING:
    from pgbn.engine.run.draws import Draws
    from pgbn.network.network import Network

__all__ = ["RunData", "Simplex", "label_free_traces", "run_data"]

Coords = Mapping[str, Sequence[Any]]


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
    network = _known_network(draws, network)
    kept = {name: value for name, value in draws.attributes.items() if value is not None}
    chains, number = _drawn(draws)
    if draws.interrupted:
        kept["unfinished"] = "the run was stopped or still goes on; these are the draws so far"
    names = {**draws.coords, **(coords or {})}
    return RunData(
        title=title,
        nodes=tuple(_row(network, draws, name) for name in network.nodes),
        simplexes=tuple(_simplexes(network, draws, names)),
        series=label_free_traces(network, draws),
        derivation=derivation(network),
        settings={"chains": chains, "draws of each": number, **_data_sizes(draws), **kept,
                  **used_versions(), **(settings or {})},
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
    shapes: Mapping[str, Any] = getattr(draws.values, "shapes", None) or {
        name: np.shape(value) for name, value in draws.values.items()
    }
    chains, number = next(iter(shapes.values()), (0, 0))[:2]
    if not number:
        raise DataError("draws: none was kept so far, and there is nothing to show; let it go on")
    return int(chains), int(number)


def _data_sizes(draws: Draws) -> dict[str, str]:
    return {
        f"data {name}": " × ".join(f"{n} {d}" for d, n in zip(cells.dims, cells.shape, strict=True))
        for name, cells in draws.data.items()
    }


def label_free_traces(network: Network, draws: Draws) -> tuple[Series, ...]:
    """Traces of what does not depend on the numbering of units."""
    number = next(iter(draws.values.values())).shape[1]
    sweeps = draws.attributes.get("burn_in", 0) + np.arange(1.0, number + 1) * draws.attributes.get(
        "thin", 1
    )
    out = []
    for name, value in draws.values.items():
        node, dims = network.nodes.get(name), draws.dims[name][2:]
        axes = tuple(range(2, 2 + len(dims)))
        if not dims:
            out.append(Series(name, sweeps, np.asarray(value)))
        elif (over := _summed(node)) is not None:
            along = 2 + dims.index(over)
            rest = tuple(axis for axis in axes[:-1])  # the others, once `over` is summed
            squares = np.square(value).sum(axis=along)
            out.append(Series(f"mean Σp² of {name}", sweeps, squares.mean(axis=rest)))
        else:
            out.append(Series(f"total of {name}", sweeps, np.asarray(value).sum(axis=axes)))
    return tuple(out)


def _summed(node: Node | None) -> str | None:
    """The dim over which a latent node sums to one, if it does."""
    return node.simplex if isinstance(node, Latent) else None


def _row(network: Network, draws: Draws, name: str) -> tuple[str, str, str, str]:
    node = network.nodes[name]
    slots = ", ".join(f"{slot}={getattr(node, slot)}" for slot in node.slots())
    if name not in draws.values:
        shown = "observed" if name in network.observed else "not kept"
    elif node.axes:
        value = np.asarray(draws.values[name])
        shown = f"{value.min():.3g} … {value.max():.3g}, mean {value.mean():.4g}"
    else:
        value = np.asarray(draws.values[name])
        shown = f"{value.mean():.4g} ± {value.std():.2g}"
    return name, f"{type(node).__name__}({slots})", ", ".join(node.axes) or "–", shown


def _simplexes(network: Network, draws: Draws, coords: Coords) -> Iterable[Simplex]:
    """Means of the first chain: in another chain the same topic has another number."""
    for name, value in draws.values.items():
        over = _summed(network.nodes.get(name))
        if over is None:
            continue
        dims = list(draws.dims[name][2:])
        mean = np.asarray(value[0]).mean(axis=0)
        mean = np.moveaxis(mean, dims.index(over), -1)
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
