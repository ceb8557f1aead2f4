"""Running chains and keeping draws, with named dims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer
from pgbn.errors import DataError, PgbnError, did_you_mean
from pgbn.memory import check_bytes
from pgbn.progress import Callback, Clock, Event, live, stop_gently

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
    callback: Callback | None = None,
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
    begun = network.chain(data, seed, layer1=layer1, threads=threads)  # checks the arguments
    each = sum(value.nbytes for value in begun.select(kept).values())
    check_bytes(f"draws={draws} of {', '.join(kept)}, chains={chains},", each * draws * chains,
                "keep fewer draws (draws=, thin=) or nodes (keep=)")  # fmt: skip
    clock = Clock((burn_in + draws * thin) * chains)
    chain: Chain | None = None
    with live(progress) as meter, stop_gently() as stop:
        heard = [meter] if callback is None else [meter, callback]

        def sweep(chain: Chain, phase: str, number: int, of: int) -> None:
            chain.sweep()
            event = Event(chain, 1, phase, number, of, **clock.tick())
            for listener in heard:
                listener(event)
            stop.check(event)

        for number in range(chains):
            chain = network.chain(data, seed, number, layer1=layer1, threads=threads)
            for done in range(1, burn_in + 1):
                sweep(chain, "burn_in", done, burn_in)
            rows: dict[str, NDArray[np.float64]] = {}
            for draw in range(draws):
                for done in range(draw * thin + 1, (draw + 1) * thin + 1):
                    sweep(chain, "collect", done, draws * thin)
                for name, value in chain.select(kept).items():
                    if name not in rows:
                        rows[name] = np.empty((draws, *value.shape))
                    rows[name][draw] = value
            for name, array in rows.items():
                out[name].append(array)
    assert chain is not None
    attributes = {"seed": seed, "burn_in": burn_in, "thin": thin, "layer1": chain.layer1}
    dims = {name: ("chain", "draw", *network.nodes[name].axes) for name in kept}
    return Draws({name: np.stack(arrays) for name, arrays in out.items()}, dims, attributes)
