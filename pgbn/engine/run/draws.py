"""Running chains and keeping draws, with named dims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer
from pgbn.engine.compile.expressions import Deterministic
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.coords import check_coords, read_coords
from pgbn.engine.data.imputed import check_imputed
from pgbn.engine.data.indexes import bind_indexes
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.given import hold_some
from pgbn.engine.run.progress import Callback, Clock, Event, check_callback, live, stop_gently
from pgbn.engine.verbs import DrawsVerbs
from pgbn.errors import DataError, PgbnError, did_you_mean, notify
from pgbn.storage import folders
from pgbn.storage.memory import check_bytes

if TYPE_CHECKING:
    from pgbn.network.network import Network
    from pgbn.samplers.executor import Executor

__all__ = ["Draws", "read_keep", "sample"]


@dataclass(frozen=True)
class Draws(DrawsVerbs):
    """Posterior draws: ``values[name]`` has the dims ("chain", "draw", *dims of the node).

    ``draws[name]`` is the same; ``name in draws``, ``list(draws)`` and ``len(draws)`` speak of the
    names, as a dict does.

    ``interrupted``: Ctrl-C came before the end. ``values`` then has the draws that were kept:
    those of the first chain so far, or of all whole chains, with those of the chain that was
    not finished in ``unfinished``. ``chain`` is where it stands; ``chain.sweep(n)`` goes on.

    ``network`` and ``data`` are what was sampled, for prediction and criticism; ``coords`` are the
    labels along dims, from data frames, xarray or ``coords=``.
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
        if name not in self.values:
            raise PgbnError(f"no draws of {name!r} were kept.{did_you_mean(name, self.values)}")
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __len__(self) -> int:
        return len(self.values)

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


def sample(
    network: Network,
    data: Mapping[str, Any],
    burn_in: int,
    draws: int,
    thin: int,
    chains: int,
    seed: int,
    keep: Iterable[str] | Mapping[str, Any] | None,
    progress: bool,
    layer1: str,
    threads: int | None,
    callback: Callback | None = None,
    executor: Executor | None = None,
    given: Any = None,
    coords: Mapping[str, Any] | None = None,
) -> Draws:
    """Burn in, then keep every ``thin``-th of the following sweeps, for each chain.

    Of an observed node with missing cells, what is kept is `Chain.imputed`. A dict in ``keep``
    gives names to expressions, whose values are kept.
    """
    network, data = bind_indexes(network, data)
    network, held = hold_some(network, given)
    burn_in, draws = check_integer("burn_in", burn_in, 0), check_integer("draws", draws, 1)
    thin, chains = check_integer("thin", thin, 1), check_integer("chains", chains, 1)
    check_callback(callback)
    kept, expressions = read_keep(network, keep)
    labels: Mapping[str, list[Any]] = check_coords(network, coords, network.sizes)
    rows = _Rows(kept, draws, chains, expressions)
    clock = Clock((burn_in + draws * thin) * chains)
    stopped: KeyboardInterrupt | None = None
    with live(progress) as meter, stop_gently() as stop:
        heard = [meter] if callback is None else [meter, callback]

        def sweep(chain: Chain, phase: str, number: int, of: int) -> Event:
            chain.sweep()
            event = Event(chain, 1, phase, number, of, **clock.tick())
            for listener in heard:
                listener(event)
            return event

        try:
            for number in range(chains):
                chain = rows.begin(
                    Chain(network, data, seed, number, None, layer1, threads, executor, held)
                )
                if not number:
                    labels = read_coords(network, data, labels, chain.program.sizes)
                for done in range(1, burn_in + 1):
                    stop.check(sweep(chain, "burn_in", done, burn_in))
                for done in range(1, draws * thin + 1):
                    event = sweep(chain, "collect", done, draws * thin)
                    if done % thin == 0:
                        rows.keep(chain)
                    if event.done < event.total:
                        stop.check(event)
        except KeyboardInterrupt as error:
            if not rows.count:
                raise
            stopped = error
    attributes = {"seed": seed, "burn_in": burn_in, "thin": thin, "layer1": chain.layer1}
    attributes |= {"given": list(network.held)} if network.held else {}
    dims = {n: ("chain", "draw", *(expressions[n] if n in expressions else network.nodes[n]).axes)
            for n in kept}  # fmt: skip
    known: dict[str, Any] = {
        "network": network, "data": dict(chain.program.cells),
        "coords": labels,
    }  # fmt: skip
    if stopped is None:
        return Draws(rows.complete(), dims, attributes, **known)
    notify(
        f"stopped after sweep {clock.done} of {clock.total}: {rows.count} of {draws * chains} "
        "draws were kept"
    )
    at = getattr(stopped, "chain", None)  # None if it was stopped in the middle of a sweep
    if not rows.whole:
        return Draws(rows.rest(), dims, attributes, True, chain=at, **known)
    return Draws(rows.complete(), dims, attributes, True, rows.rest(), at, **known)


def read_keep(network: Network, keep: Any) -> tuple[list[str], dict[str, Deterministic]]:
    """The names to keep, and the expressions among them."""
    if not network.free:
        raise DataError(
            f"given: {', '.join(network.held)} leave nothing to draw; leave one of them out"
        )
    if keep is not None and not np.iterable(keep):
        raise DataError(f"keep={keep!r}: give a list of names of latent nodes")
    if isinstance(keep, Mapping):
        plain = {n: value for n, value in keep.items() if n not in network.nodes}
        expressions = {n: Deterministic(network, n, value) for n, value in plain.items()}
        return list(keep), expressions
    kept = network.free if keep is None else [keep] if isinstance(keep, str) else list(keep)
    for name in kept:
        if name not in network.latent and name not in network.observed:
            raise DataError(
                f"keep: {name!r} is not a latent node.{did_you_mean(name, network.latent)}"
            )
    return kept, {}


class _Rows:
    """The draws that were kept: those of whole chains, and those of the chain that runs."""

    def __init__(
        self,
        names: list[str],
        draws: int,
        chains: int,
        expressions: Mapping[str, Deterministic] | None = None,
    ) -> None:
        self.names, self.draws, self.chains = names, draws, chains
        self.expressions = expressions or {}
        self.readers: dict[str, Callable[[], NDArray[np.float64]]] = {}
        self.whole: list[dict[str, NDArray[np.float64]]] = []
        self.open: dict[str, NDArray[np.float64]] = {}
        self.filled = 0
        self.data: list[str] = []  # the names of observed nodes: their imputed cells are kept

    @property
    def count(self) -> int:
        return len(self.whole) * self.draws + self.filled

    def begin(self, chain: Chain) -> Chain:
        """Make room for the draws of a chain, if there is any."""
        self.data = [name for name in self.names if name in chain.network.observed]
        for name in self.data:
            check_imputed(chain.program, name, "keep")
        if not self.whole:
            sizes = chain.program.sizes
            axes = [(self.expressions.get(n) or chain.network.nodes[n]).axes for n in self.names]
            each = 8 * sum(prod(sizes[dim] for dim in dims) for dims in axes)
            what = f"draws={self.draws}, chains={self.chains} of {', '.join(self.names)}"
            check_bytes(what, each * self.draws * self.chains,
                        "keep fewer draws (draws=, thin=) or nodes (keep=)")  # fmt: skip
        self.open, self.filled = {}, 0
        self.readers = {n: part.reader(chain.program) for n, part in self.expressions.items()}
        return chain

    def keep(self, chain: Chain) -> None:
        plain = [n for n in self.names if n not in self.data and n not in self.expressions]
        values: dict[str, Any] = chain.select(plain)
        values |= {name: chain.imputed(name) for name in self.data}
        for name, part in self.expressions.items():
            chain.refresh(part.names)
            values[name] = self.readers[name]()[0]
        for name, value in values.items():
            if name not in self.open:
                self.open[name] = np.empty((self.draws, *value.shape))
            self.open[name][self.filled] = value
        self.filled += 1
        if self.filled == self.draws:
            self.whole.append(self.open)
            self.open, self.filled = {}, 0

    def complete(self) -> dict[str, NDArray[np.float64]]:
        return {name: np.stack([rows[name] for rows in self.whole]) for name in self.names}

    def rest(self) -> dict[str, NDArray[np.float64]]:
        return {name: rows[None, : self.filled] for name, rows in self.open.items() if self.filled}
