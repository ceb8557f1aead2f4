"""Topics that are held while counts are drawn: φ as gammas with their scales and lists."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.first_layer.base import FirstLayer, read_state
from pgbn.samplers.first_layer.loadings import draw_loadings
from pgbn.samplers.first_layer.value_lists import (
    Loadings,
    empty_loadings,
    loadings_of,
    rebuild_loadings,
)

__all__ = ["HeldTopics"]


class HeldTopics:
    """φ, its counts ``n`` and, while φ is the draw given n, the key of that draw."""

    _key: int | None

    def __init__(
        self, layer: FirstLayer, quick: bool = False, begun: bool = True, coded: bool = False
    ) -> None:
        """``quick``: see `draw_loadings`, ``coded``: `Loadings`; unless it has ``begun``, φ will be
        handed over."""
        self.layer, self.quick, self.coded = layer, quick, coded
        self.shape = (layer.replicates, layer.vocabulary, layer.topics)
        self.n = np.zeros(self.shape, layer.count_type)
        if begun:
            self.take()

    @cached_property
    def _room(self) -> Loadings:
        """Where φ is drawn to."""
        layer = self.layer
        words = layer.cells.totals().astype(np.int64)
        return empty_loadings(words, layer.topics, layer.typical_eta, self.quick, self.coded)

    def take(self) -> None:
        """φ as the program has it."""
        value = self.layer.program.values[self.layer.pattern.loadings]
        self.loadings, self._key = loadings_of(value, self.layer.executor, self.coded), None

    def hand_over(self, loadings: Loadings) -> None:
        """φ as it was drawn elsewhere."""
        self.loadings, self._key = loadings, None

    def draw(self, key: int) -> None:
        """φ_k ~ Dir(η + n_k)."""
        layer = self.layer
        self.loadings = draw_loadings(
            key, self.n, layer.eta, self._room, layer.executor, self.quick
        )
        self._key = int(key)

    def counts_changed(self) -> None:
        """φ is no longer the draw given n."""
        self._key = None

    def state(self) -> dict[str, NDArray[Any]]:
        """φ can be drawn again, and its key is smaller than φ itself."""
        if self._key is not None:
            return {"key": np.array(self._key, np.uint64)}
        held = self.loadings
        return {"value": held.value, "scale": held.scale, "bound": held.bound}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """φ again, after n."""
        self._key = None
        if "key" in state:
            self.draw(int(read_state(state, "key", (), 2**64)))
            return
        self.loadings = rebuild_loadings(
            read_state(state, "value", self.shape),
            read_state(state, "scale", (self.shape[0], self.shape[2])),
            read_state(state, "bound", (self.shape[0] * self.shape[1],)),
            self.coded,
        )

    def show(self) -> None:
        """Bring φ and n into the program."""
        layer, name = self.layer, self.layer.pattern.loadings
        if not layer.is_given:
            layer.program.values[name] = self.loadings.value * self.loadings.scale[:, None, :]
        self.show_counts()

    def show_counts(self) -> None:
        """Bring n into the program."""
        layer, name = self.layer, self.layer.pattern.loadings
        if not layer.is_given:
            layer.program.counts[layer.observed, name] = self.n.astype(np.int64)
