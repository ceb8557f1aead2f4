"""GrownNetwork: what is left of the chain of any network when training ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import listed
from pgbn.errors import DataError
from pgbn.network.network import Network
from pgbn.nodes.base import Latent
from pgbn.training.training_result import Reportable
from pgbn.training.value_checks import check_dicts, check_shapes, check_traces

Arrays = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class GrownNetwork(Reportable):
    """A network of any family, grown to some widths.

    ``layers`` are the dims of the units of its layers, from the data up. ``means`` are the
    posterior means of the latent nodes that all rows share, by name: of proportions, given their
    counts; of others, the values of the last sweeps. ``traces``, ``state``, ``sweeps`` and
    ``draws`` (of the same nodes) are as in `pgbn.TrainedNetwork`, which a belief network has in
    the place of this class. New rows: ``grown.network().infer(data, given=grown.means)``, or
    ``given=grown.draws`` where draws were kept.
    """

    model: Network
    layers: tuple[str, ...]
    means: Arrays
    traces: Arrays = field(default_factory=dict)
    state: Arrays = field(default_factory=dict)
    sweeps: int = 0
    draws: Arrays = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_dicts(self, "means", "traces", "state", "draws")
        dims = listed("GrownNetwork: layers", self.layers, "give the dims of the units")
        object.__setattr__(self, "layers", tuple(dims))
        for dim in self.layers:
            if not isinstance(dim, str) or dim not in self.model.sizes:
                raise DataError(f"GrownNetwork: the network has no dim {dim!r} of a known size")
        means = {}
        sizes = check_shapes("GrownNetwork: means", self.model, self.means)
        for name, value in self.means.items():
            node, array = self.model[name], np.asarray(value)
            complaint = node.refuses(array) if isinstance(node, Latent) else None
            if complaint:
                raise DataError(f"GrownNetwork: means: {name} {complaint}")
            means[name] = array.astype(np.float64, copy=False)
        sizes = check_shapes("GrownNetwork: state", self.model, self.state, sizes)
        check_shapes("GrownNetwork: draws", self.model, self.draws, sizes, before=("draw",))
        check_traces("GrownNetwork", self.traces)
        object.__setattr__(self, "means", means)

    @property
    def depth(self) -> int:
        """The number of layers T."""
        return len(self.layers)

    @property
    def widths(self) -> tuple[int, ...]:
        """(K_1, …, K_T)."""
        return tuple(self.model.sizes[dim] for dim in self.layers)

    def network(self) -> Network:
        """The network of nodes with these widths."""
        return self.model

    def without_state(self) -> GrownNetwork:
        """The same without the hidden units of the rows: small, but not to be trained further."""
        return replace(self, state={})

    def save(self, path: str | Path) -> None:
        """Write everything to a folder, as `pgbn.save` does."""
        from pgbn.storage.folders import save

        save(self, path)

    def __repr__(self) -> str:
        return f"GrownNetwork(widths={self.widths}, observed={self.model.observed})"
