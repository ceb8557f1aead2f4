"""Running chains and keeping draws, with named dims."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer
from pgbn.errors import DataError, PgbnError, did_you_mean

if TYPE_CHECKING:
    from pgbn.chain import Chain
    from pgbn.network import Network

__all__ = ["Draws", "sample"]


@dataclass(frozen=True)
class Draws:
    """Posterior draws: ``values[name]`` has the dims ("chain", "draw", *dims of the node)."""

    values: dict[str, NDArray[np.float64]]
    dims: dict[str, tuple[str, ...]]
    attributes: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self.values:
            raise PgbnError(f"no draws of {name!r} were kept.{did_you_mean(name, self.values)}")
        return self.values[name]

    def mean(self, name: str) -> NDArray[np.float64]:
        """The posterior mean of a node."""
        return np.asarray(self[name].mean(axis=(0, 1)))

    def to_xarray(self) -> Any:
        """An `xarray.Dataset` (needs the extra ``pgbn[arviz]``)."""
        xarray = _need("xarray")
        data = {name: (self.dims[name], value) for name, value in self.values.items()}
        return xarray.Dataset(data, attrs=self.attributes)

    def to_arviz(self) -> Any:
        """The draws as ArviZ takes them (needs the extra ``pgbn[arviz]``)."""
        arviz = _need("arviz_base", "arviz")
        dims = {name: list(dims[2:]) for name, dims in self.dims.items()}
        if hasattr(arviz, "convert_to_inference_data") and arviz.__name__ == "arviz":
            return arviz.from_dict(posterior=self.values, dims=dims)
        return arviz.from_dict({"posterior": self.values}, dims=dims)

    def __repr__(self) -> str:
        rows = [f"  {n}{list(self.dims[n])} {v.shape}" for n, v in self.values.items()]
        return "\n".join(["Draws", *rows])


def _need(*names: str) -> Any:
    from importlib import import_module

    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise PgbnError(f"this needs {names[0]}: pip install 'pgbn[arviz]'")


def sample(
    network: Network,
    data: Mapping[str, Any],
    burn_in: int,
    draws: int,
    thin: int,
    chains: int,
    seed: int,
    keep: Iterable[str] | None,
    progress: bool,
    layer1: str,
    threads: int | None,
) -> Draws:
    """Burn in, then keep every ``thin``-th of the following sweeps, for each chain."""
    burn_in, draws = check_integer("burn_in", burn_in, 0), check_integer("draws", draws, 1)
    thin, chains = check_integer("thin", thin, 1), check_integer("chains", chains, 1)
    if not isinstance(keep, Iterable | None):
        raise DataError(f"keep={keep!r}: give a list of names of latent nodes")
    kept = list(network.latent) if keep is None else [keep] if isinstance(keep, str) else list(keep)
    for name in kept:
        if name not in network.latent:
            raise DataError(
                f"keep: {name!r} is not a latent node.{did_you_mean(name, network.latent)}"
            )
    out: dict[str, list[NDArray[np.float64]]] = {name: [] for name in kept}
    meter = _Meter((burn_in + draws * thin) * chains, progress)
    chain: Chain | None = None
    for number in range(chains):
        chain = network.chain(data, seed, number, layer1=layer1, threads=threads)
        for _ in range(burn_in):
            chain.sweep()
            meter.tick()
        rows: dict[str, NDArray[np.float64]] = {}
        for draw in range(draws):
            for _ in range(thin):
                chain.sweep()
                meter.tick()
            for name, value in chain.select(kept).items():
                if name not in rows:
                    rows[name] = np.empty((draws, *value.shape))
                rows[name][draw] = value
        for name, array in rows.items():
            out[name].append(array)
    meter.close()
    assert chain is not None
    attributes = {"seed": seed, "burn_in": burn_in, "thin": thin, "layer1": chain.layer1}
    dims = {name: ("chain", "draw", *network.nodes[name].axes) for name in kept}
    return Draws({name: np.stack(arrays) for name, arrays in out.items()}, dims, attributes)


class _Meter:
    """One line of progress on a terminal; nothing elsewhere."""

    def __init__(self, total: int, show: bool) -> None:
        self.total, self.done = total, 0
        self.show = show and sys.stderr.isatty()
        self.start = self.shown = time.monotonic()

    def tick(self) -> None:
        self.done += 1
        now = time.monotonic()
        if self.show and (now - self.shown > 0.2 or self.done == self.total):
            self.shown = now
            left = (now - self.start) * (self.total - self.done) / self.done
            sys.stderr.write(f"\rsweep {self.done}/{self.total}, {left:.0f} s left   ")
            sys.stderr.flush()

    def close(self) -> None:
        if self.show:
            sys.stderr.write("\n")
