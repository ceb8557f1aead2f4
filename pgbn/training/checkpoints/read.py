"""A training that was stopped, as its last checkpoint tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.engine.run.codec import decode_chain
from pgbn.errors import StorageError
from pgbn.storage.folders import read_folder
from pgbn.training.averages import Means, Trace
from pgbn.training.codec import decode_networks
from pgbn.training.layerwise import Progress

__all__ = ["Checkpoint", "read_checkpoint"]


@dataclass(frozen=True)
class Checkpoint:
    """A training that was stopped: its data, its arguments, and where it stands."""

    data: Any
    arguments: dict[str, Any]
    progress: Progress
    context: dict[str, Any]


def read_checkpoint(path: str | Path, *, threads: int | None = None) -> Checkpoint:
    """The last complete checkpoint in a folder."""

    def read(body: Mapping[str, Any], files: Callable[[str], Any]) -> Checkpoint:
        content = body["content"]
        if body["kind"] != "checkpoint":
            raise StorageError(
                f"{path}: nothing to resume: it holds a finished {body['kind']}; use it with "
                f"pgbn.load({str(path)!r}), or a command such as pgbn topics {path}"
            )
        state = files("state")
        means = Means()
        for t in range(sum(name.startswith("mean/") for name in state) - 1):
            means.phi.append(state.pop(f"mean/{t}"))
        if means.phi:
            means.r = state.pop("mean/r")
        chain = decode_chain(
            content["chain"],
            lambda group: state if group == "state" else files(group),
            threads=threads,
        )
        numbers = {
            name: int(content[name]) for name in ("depth", "sweep", "sweeps", "done", "total")
        }
        trace = content["trace"]
        progress = Progress(
            chain=chain,
            phase=content["phase"],
            seconds=0.0,
            sweep_seconds=0.0,
            networks=decode_networks(content["networks"], files("model"), content.get("names")),
            trace=Trace(trace["every"], trace["sweep"], [tuple(row) for row in trace["rows"]]),
            means=means,
            **numbers,
        )
        return Checkpoint(
            _matrix(chain.program.cells["x"]), dict(content["arguments"]), progress,
            dict(content["context"]),
        )  # fmt: skip

    return read_folder(path, read)


def _matrix(cells: Any) -> Any:
    """The data as they were given: sparse, or masked where cells are missing."""
    if cells.missing is not None:
        unknown = cells.dense(cells.missing)[0]
        return np.ma.masked_array(cells.dense()[0], mask=unknown)
    return sp.csr_array((cells.values, cells.indices, cells.indptr), shape=cells.shape)
