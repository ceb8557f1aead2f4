"""LayerwiseTraining: the networks of a training, from one layer to the deepest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pgbn.errors import DataError
from pgbn.training.trained import TrainedNetwork
from pgbn.training.verbs import Reportable

__all__ = ["LayerwiseTraining"]


@dataclass(frozen=True)
class LayerwiseTraining(Reportable):
    """The networks of depth 1, 2, …, and why training stopped.

    ``training[2]`` is the network of two layers; ``for network in training`` goes through all.
    """

    networks: tuple[TrainedNetwork, ...]
    stopped: str

    @property
    def deepest(self) -> TrainedNetwork:
        """The network of most layers, the last that was trained; only it can be trained further,
        unless ``keep_states`` was asked for."""
        return self.networks[-1]

    @property
    def widths(self) -> tuple[int, ...]:
        """(K_1, …, K_T) of the deepest network."""
        return self.deepest.widths

    def __iter__(self) -> Iterator[TrainedNetwork]:
        return iter(self.networks)

    def __len__(self) -> int:
        return len(self.networks)

    def __getitem__(self, depth: int) -> TrainedNetwork:
        """The network of so many layers."""
        for network in self.networks:
            if network.depth == depth:
                return network
        known = [network.depth for network in self.networks]
        raise DataError(f"there is no network of depth {depth!r}; trained depths: {known}")

    def with_vocabulary(self, names: Sequence[str] | None) -> LayerwiseTraining:
        """The same with names of the terms; None: it stays as it is."""
        named = (replace(network, vocabulary=names) for network in self.networks)
        return self if names is None else replace(self, networks=tuple(named))

    def __repr__(self) -> str:
        return f"LayerwiseTraining(widths={self.widths}, stopped={self.stopped!r})"
