"""LayerwiseTraining: the networks of a training, from one layer to the deepest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError
from pgbn.training.verbs import Reportable

__all__ = ["LayerwiseTraining"]


@dataclass(frozen=True)
class LayerwiseTraining(Reportable):
    """The networks of depth 1, 2, …, each a `TrainedNetwork` or, of a family other than the belief
    network, a `GrownNetwork`; and why training stopped.

    ``training[2]`` is the network of two layers; ``for network in training`` goes through all.
    """

    networks: tuple[Any, ...]
    stopped: str

    @property
    def deepest(self) -> Any:
        """The network of most layers, the last that was trained; only it can be trained further,
        unless ``keep_states`` was asked for."""
        return self.networks[-1]

    @property
    def widths(self) -> tuple[int, ...]:
        """(K_1, …, K_T) of the deepest network."""
        return tuple(self.deepest.widths)

    @property
    def traces(self) -> Mapping[str, NDArray[np.float64]]:
        """Those of the deepest network, from the beginning of its top layer on: arrays "sweep",
        "log_likelihood" and "width", the units of that layer with counts."""
        return dict(self.deepest.traces)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.networks)

    def __len__(self) -> int:
        return len(self.networks)

    def __getitem__(self, depth: int) -> Any:
        """The network of so many layers."""
        for network in self.networks:
            if network.depth == depth:
                return network
        known = [network.depth for network in self.networks]
        raise DataError(f"there is no network of depth {depth!r}; trained depths: {known}")

    def with_vocabulary(self, names: Sequence[str] | None) -> LayerwiseTraining:
        """The same with names of the terms; None: it stays as it is."""
        if names is None:
            return self
        named = (replace(network, vocabulary=names) for network in self.networks)
        return replace(self, networks=tuple(named))

    def __repr__(self) -> str:
        return f"LayerwiseTraining(widths={self.widths}, stopped={self.stopped!r})"
