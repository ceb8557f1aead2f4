"""The first layer with φ and θ marginalised, around its kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.splitting import blocks_of
from pgbn.engine.first_layer.base import Labelled, read_state
from pgbn.engine.fused.gamma_layers import Tables, find_mix
from pgbn.errors import DataError
from pgbn.samplers.first_layer.collapsed import (
    Labelling,
    allocate_collapsed,
    allocate_rows,
    dense_counts,
    word_topics,
)
from pgbn.samplers.first_layer.loadings import draw_phi
from pgbn.samplers.first_layer.tokens import RowPriors
from pgbn.samplers.simd.contract import contract
from pgbn.samplers.threads import run_behind, run_rows

__all__ = ["Collapsed"]

_BLOCKS = 16  # of rows, where other threads work beside the collapsed sampler


class Collapsed(Labelled):
    def begin(self) -> None:
        super().begin()
        self.table = word_topics(
            self.tokens, self.labels, self.documents, self.vocabulary, self.topics, self.order
        )
        shape = (self.replicates, self.documents, self.topics)
        self.mix = find_mix(self.program, self.program.network.nodes[self.pattern.scores],
                            self.pattern.slot)  # fmt: skip
        self.shapes = np.empty(shape if self.mix is not None else (0, 0, 0), np.float32)
        self.totals = np.ascontiguousarray(self.m.reshape(shape).sum(axis=1))
        self.deliver()

    def step(self, key: int) -> None:
        self.step_before(key, ())

    def step_before(self, key: int, tables: Sequence[tuple[Tables, int]]) -> None:
        mix = self.mix if self.replicates == 1 else None
        labelling = Labelling(self.labels, self.table, self.totals, self.m)
        if mix is None:
            run_rows(allocate_collapsed, self.replicates, self.threads, key, self.tokens,
                     labelling, self.prior(), self.eta)  # fmt: skip
            self.deliver()
            for part, own_key in tables:
                part(own_key)
            return
        values, shapes = self.program.values, self.shapes
        theta = values[mix.theta].reshape(1, self.rows, mix.topics)
        phi = values[mix.phi] if mix.coefficient == 1.0 else mix.coefficient * values[mix.phi]
        ranges = blocks_of(self.rows, min(self.rows, _BLOCKS) if self.threads > 1 else 1)
        self.deliver()
        for part, own_key in tables:
            part.begin(own_key)

        def before(block: int) -> None:
            contract(np.uint64(0), *ranges[block], theta, phi, shapes, np.float32)

        def middle(block: int) -> None:
            allocate_rows(np.uint64(key), *ranges[block], self.tokens, labelling,
                          RowPriors(shapes[0], 1), self.eta)  # fmt: skip

        def after(block: int) -> None:
            for part, _ in tables:
                part.rows(*ranges[block])

        run_behind(self.threads, before, middle, after, len(ranges))
        for part, _ in tables:
            part.end()

    def _places(self) -> NDArray[np.int64]:
        """Where the lists of the words are in the table, one after the other."""
        length = self.table.length.astype(np.int64)
        ends = np.cumsum(length)
        return np.arange(length.sum()) + np.repeat(self.table.start - ends + length, length)

    def state(self) -> dict[str, NDArray[Any]]:
        # The order of a word's topics decides which of them a random number picks.
        return {**super().state(), "topics_of_words": self.table.topic[self._places()]}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().restore(state)
        places, table = self._places(), self.table
        listed = read_state(state, "topics_of_words", places.shape, self.topics)
        word = np.repeat(np.arange(table.length.size), table.length) * self.topics
        now, then = np.argsort(word + table.topic[places]), np.argsort(word + listed)
        if not np.array_equal((word + table.topic[places])[now], (word + listed)[then]):
            raise DataError("the state of the chain contradicts itself: topics_of_words, labels")
        count = table.count[places]
        table.topic[places] = listed
        table.count[places[then]] = count[now]

    def _dense(self) -> NDArray[np.int32]:
        counts = np.zeros((self.replicates, self.vocabulary, self.topics), np.int32)
        dense_counts(self.table, counts)
        return counts

    def draw(self, name: str) -> Callable[[int], None] | None:
        if name != self.pattern.loadings:
            return None

        def run(key: int) -> None:
            out = np.empty((self.replicates, self.vocabulary, self.topics))
            self.program.values[name] = draw_phi(key, self._dense(), self.eta, out, self.threads)

        return run

    def show(self) -> None:
        self.program.counts[self.observed, self.pattern.loadings] = self._dense().astype(np.int64)
