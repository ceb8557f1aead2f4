"""The first layer with φ and θ held: cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.first_layer.base import FirstLayer, read_state
from pgbn.engine.first_layer.registry import register_sampler
from pgbn.engine.first_layer.topics import HeldTopics
from pgbn.samplers.first_layer.blocked import split_all_cells
from pgbn.samplers.sparse import SparseCounts

__all__ = ["Blocked"]


@register_sampler
class Blocked(FirstLayer):
    """(x_vj1, x_vj2, …) ~ Mult(x_vj; ∝ φ_vk θ_kj)."""

    name = "blocked"
    is_automatic = True
    topics_held: HeldTopics

    @classmethod
    def nanoseconds(
        cls, counts: NDArray[np.integer], documents: int, vocabulary: int, topics: int
    ) -> float:
        """It splits every cell, token by token up to 4 K of them and by binomials beyond, and
        draws φ and θ."""
        drawn = float(np.minimum(counts, 4 * topics).sum(dtype=np.float64))
        return (
            drawn * (10.0 + 0.04 * topics)
            + float(counts.size) * (70.0 + 0.1 * topics)
            + 11.0 * topics * (documents + vocabulary)
        )

    def start(self, key: int) -> None:
        self.topics_held = HeldTopics(self)

    def loadings_changed(self, key: int) -> None:
        self.topics_held.take()

    def step(self, key: int) -> None:
        cells, held = self.program.cells[self.observed], self.topics_held
        counts = SparseCounts(cells.indptr, cells.indices, cells.values)
        split_all_cells(key, counts, held.loadings, self.scores(), held.n, self.m, self.executor)
        held.counts_changed()
        self.deliver()

    def draw_loadings(self, key: int) -> None:
        self.topics_held.draw(key)

    def show(self) -> None:
        self.topics_held.show()

    def state(self) -> dict[str, NDArray[Any]]:
        return {**self.topics_held.state(), "n": self.topics_held.n, "m": self.m}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        held = self.topics_held
        held.n[...] = read_state(state, "n", held.n.shape, 2**31)
        self.m[...] = read_state(state, "m", self.m.shape, 2**31)
        self.deliver()
        held.restore(state)
