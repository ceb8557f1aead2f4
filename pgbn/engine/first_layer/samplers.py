"""The samplers of the first layer that hold φ, around their kernels; and all three by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.first_layer.base import Labelled, Sampler, read_state
from pgbn.engine.first_layer.choice import Pattern, find_pattern
from pgbn.engine.first_layer.collapsed import Collapsed
from pgbn.samplers.first_layer.blocked import split_all_cells
from pgbn.samplers.first_layer.loadings import (
    draw_loadings,
    empty_loadings,
    loadings_of,
    rebuild_loadings,
)
from pgbn.samplers.first_layer.partial import allocate_partial
from pgbn.samplers.first_layer.tokens import count_words
from pgbn.samplers.sparse import SparseCounts
from pgbn.samplers.threads import run_rows

__all__ = ["Blocked", "Partial", "make_sampler"]


class WithLoadings(Sampler):
    """Samplers that hold φ, as gammas with their scales and lists (see `Loadings`)."""

    n: NDArray[np.int32]

    def start(self, key: int) -> None:
        super().start(key)
        self.n = np.zeros((self.replicates, self.vocabulary, self.topics), np.int32)
        self.loadings = loadings_of(self.program.values[self.pattern.loadings].copy(), self.threads)
        cells = self.program.cells[self.observed]
        words = cells.total(cells.values, (cells.dims[-1],))
        self._room = empty_loadings(words, self.topics, self.eta)
        self._key: int | None = None  # that of the draw of φ given n, while it holds

    def draw(self, name: str) -> Callable[[int], None] | None:
        if name != self.pattern.loadings:
            return None

        def run(key: int) -> None:
            self.loadings = draw_loadings(key, self.n, self.eta, self._room, self.threads)
            self._key = int(key)

        return run

    def state(self) -> dict[str, NDArray[Any]]:
        state, held = super().state(), self.loadings
        if self._key is not None:  # φ can be drawn again: its key is smaller than φ itself
            return {**state, "key": np.array(self._key, np.uint64)}
        return {**state, "value": held.value, "scale": held.scale, "bound": held.bound}

    def recount(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Bring the counts n and m to those of a state."""
        raise NotImplementedError

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().restore(state)
        self.recount(state)
        self.deliver()
        shape = (self.replicates, self.vocabulary, self.topics)
        draw, self._key = self.draw(self.pattern.loadings), None
        if draw is not None and "key" in state:
            draw(int(read_state(state, "key", (), 2**64)))
        else:
            self.loadings = rebuild_loadings(
                read_state(state, "value", shape),
                read_state(state, "scale", (shape[0], shape[2])),
                read_state(state, "bound", (shape[0] * shape[1],)),
            )

    def show(self) -> None:
        phi = self.loadings.value * self.loadings.scale[:, None, :]
        self.program.values[self.pattern.loadings] = phi
        self.program.counts[self.observed, self.pattern.loadings] = self.n.astype(np.int64)


class Partial(WithLoadings, Labelled):
    def step(self, key: int) -> None:
        run_rows(allocate_partial, self.rows, self.threads, key, self.tokens, self.labels,
                 self.loadings, self.m, self.prior())  # fmt: skip
        self.recount()
        self.deliver()

    def recount(self, state: Mapping[str, NDArray[Any]] | None = None) -> None:
        self._key = None
        words = self.replicates * self.vocabulary
        run_rows(count_words, words, self.threads, 0, *self.order, self.labels, self.n)


class Blocked(WithLoadings):
    def step(self, key: int) -> None:
        cells = self.program.cells[self.observed]
        counts = SparseCounts(cells.indptr, cells.indices, cells.values)
        split_all_cells(key, counts, self.loadings, self.scores(), self.n, self.m, self.threads)
        self._key = None
        self.deliver()

    def state(self) -> dict[str, NDArray[Any]]:
        return {**super().state(), "n": self.n, "m": self.m}

    def recount(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.n[...] = read_state(state, "n", self.n.shape, 2**31)
        self.m[...] = read_state(state, "m", self.m.shape, 2**31)


def make_sampler(program: Program, layer1: str) -> Sampler | None:
    """The kernels of the first layer, or None where the general rules are used."""
    if layer1 == "composed":
        return None
    pattern = find_pattern(program.wiring)
    assert isinstance(pattern, Pattern)
    kinds: dict[str, type[Sampler]] = {
        "collapsed": Collapsed,
        "partial": Partial,
        "blocked": Blocked,
    }
    return kinds[layer1](program, pattern)
