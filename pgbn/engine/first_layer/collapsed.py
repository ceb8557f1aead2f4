"""The first layer with φ and θ integrated out: token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.splitting import blocks_of
from pgbn.engine.first_layer.base import FirstLayer, read_state
from pgbn.engine.first_layer.labels import TOKEN_BYTES, TokenLabels
from pgbn.engine.first_layer.marginal import why_scores_stay, without_scores
from pgbn.engine.first_layer.pattern import Pattern
from pgbn.engine.first_layer.registry import register_sampler
from pgbn.engine.fused.gamma_layers import LayerTables, find_mix
from pgbn.errors import DataError
from pgbn.network.steps import Step
from pgbn.network.wiring import Wiring
from pgbn.samplers.executor import cut_rows, keeps_rows, let_go
from pgbn.samplers.first_layer.collapsed import (
    Labelling,
    allocate_collapsed,
    allocate_rows,
    smoothing_of,
)
from pgbn.samplers.first_layer.loadings import draw_phi
from pgbn.samplers.first_layer.tokens import RowPriors
from pgbn.samplers.first_layer.word_topics import dense_counts, word_topics
from pgbn.samplers.simd.contract import contract

__all__ = ["Collapsed"]

_BLOCKS = 16  # of rows, where other threads work beside the collapsed sampler


@register_sampler
class Collapsed(FirstLayer):
    """P(z = k) ∝ (η + n⁻_vk) / (Vη + n⁻_k) · (m⁻_jk + a_jk)."""

    name = "collapsed"
    is_automatic = True
    token_bytes = TOKEN_BYTES
    tokens: TokenLabels

    @classmethod
    def why_not(cls, wiring: Wiring, pattern: Pattern, patterns: Sequence[Pattern]) -> str:
        loadings = wiring.nodes[pattern.loadings]
        is_free = loadings.name not in wiring.held  # else the schedule refuses to integrate it out
        if is_free and pattern.topic in wiring.exposures.slot_dims(loadings, "concentration"):
            return f"the concentration of {loadings.name} varies over {pattern.topic}"
        return why_scores_stay(wiring, pattern, patterns)

    @classmethod
    def why_not_data(cls, is_masked: bool) -> str:
        return "some cells are missing" if is_masked else ""

    @classmethod
    def revise(cls, wiring: Wiring, pattern: Pattern, step: Step) -> Step:
        equation = (
            r"P(z=k) \propto \frac{\eta + n^{-}_{vk}}{V\eta + n^{-}_{k}}(m^{-}_{jk} + a_{jk})"
        )
        return without_scores(wiring, pattern, step, cls.name, equation, loadings=False)

    @classmethod
    def nanoseconds(
        cls, counts: NDArray[np.integer], documents: int, vocabulary: int, topics: int
    ) -> float:
        """It draws a label for every token."""
        tokens = float(counts.sum(dtype=np.float64))
        return tokens * (25.0 + 0.05 * topics) + float(counts.size) * (20.0 + 0.05 * topics)

    def start(self, key: int) -> None:
        self.tokens = TokenLabels(self)
        self.tokens.draw(key)
        self._begin()

    def _begin(self) -> None:
        """All that is counted from the labels."""
        self.tokens.count_into(self.m)
        self.table = word_topics(self.tokens.tokens, self.tokens.labels, self.documents,
                                 self.vocabulary, self.topics, self.tokens.order)  # fmt: skip
        shape = (self.replicates, self.documents, self.topics)
        self.mix = find_mix(self.program, self.program.network.nodes[self.pattern.scores],
                            self.pattern.slot)  # fmt: skip
        self.shapes = self.program.pool.empty(
            shape if self.mix is not None else (0, 0, 0), np.float32
        )
        self.totals = np.zeros((self.replicates, self.topics), np.int64)
        for replicate, m in enumerate(self.m.reshape(shape)):
            for low, high in cut_rows(self.executor, self.documents, m):
                self.totals[replicate] += m[low:high].sum(axis=0)
                let_go(self.executor)
        self.deliver()

    def step(self, key: int) -> None:
        self.step_before(key, ())

    def step_before(self, key: int, tables: Sequence[tuple[LayerTables, int]]) -> None:
        mix = self.mix if self.replicates == 1 else None
        tokens, pseudo, eta = self.tokens.tokens, self.pseudo(held=False), self.eta
        eta = eta if isinstance(eta, float) else eta[:, :, 0]
        smoothing = smoothing_of(eta, self.replicates, self.vocabulary)
        labelling = Labelling(self.tokens.labels, self.table, self.totals, self.m)
        if mix is None:
            given = (tokens, labelling, self.prior(), smoothing, pseudo)
            if self.replicates == 1 and keeps_rows(self.executor):
                for low, high in self._ranges(()):
                    allocate_rows(np.uint64(key), low, high, *given)
                    let_go(self.executor)
            else:
                self.executor.rows(allocate_collapsed, self.replicates, key, *given)
            self._deliver_all(key)
            for part, own_key in tables:
                part(own_key)
            return
        values, shapes = self.program.values, self.shapes
        theta = values[mix.theta].reshape(1, self.rows, mix.topics)
        phi = values[mix.phi] if mix.coefficient == 1.0 else mix.coefficient * values[mix.phi]
        others = self.other_counts()
        self.deliver()
        for part, own_key in tables:
            part.begin(own_key)
        ranges = self._ranges([array for part, _ in tables for array in part.arrays()])

        def before(block: int) -> None:
            contract(np.uint64(0), *ranges[block], theta, phi, shapes, np.float32)
            if others is not None:
                rows = slice(*ranges[block])
                shapes[0, rows] += others[rows]

        def middle(block: int) -> None:
            allocate_rows(np.uint64(key), *ranges[block], tokens, labelling,
                          RowPriors(shapes[0], 1), smoothing, pseudo)  # fmt: skip

        def after(block: int) -> None:
            for part, _ in tables:
                part.rows(*ranges[block])

        self.executor.behind(before, middle, after, len(ranges))
        for part, _ in tables:
            part.end()
        self._deliver_all(key)

    def _ranges(self, others: Sequence[NDArray[Any]]) -> list[tuple[int, int]]:
        """The blocks of rows, those of all that is read and written beside the labels included."""
        own = (*self.tokens.tokens, self.tokens.labels, self.m, self.shapes, *others)
        ranges = cut_rows(self.executor, self.rows, *own)
        few = 1 < len(ranges) < _BLOCKS
        return blocks_of(self.rows, min(self.rows, _BLOCKS)) if few else ranges

    def _deliver_all(self, key: int) -> None:
        self.deliver()
        self.tokens.count_further()
        self.deliver_others(key)

    def _places(self) -> NDArray[np.int64]:
        """Where the lists of the words are in the table, one after the other."""
        length = self.table.length.astype(np.int64)
        ends = np.cumsum(length)
        return np.arange(length.sum()) + np.repeat(self.table.start - ends + length, length)

    def state(self) -> dict[str, NDArray[Any]]:
        # The order of a word's topics decides which of them a random number picks.
        listed = self.table.topic[self._places()]
        return {"labels": self.tokens.labels, "topics_of_words": listed}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.tokens.restore(state)
        self._begin()
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

    def draw_loadings(self, key: int) -> None:
        out = np.empty((self.replicates, self.vocabulary, self.topics))
        phi = draw_phi(key, self._dense(), self.eta, out, self.executor)
        self.program.values[self.pattern.loadings] = phi

    def show(self) -> None:
        self.show_counts()

    def show_counts(self) -> None:
        self.program.counts[self.observed, self.pattern.loadings] = self._dense().astype(np.int64)
