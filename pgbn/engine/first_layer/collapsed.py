"""The first layer with φ and θ integrated out: token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.products import blocks_of
from pgbn.engine.first_layer.base import FirstLayer, read_state
from pgbn.engine.first_layer.choice import Pattern, cannot_marginalise, without_scores
from pgbn.engine.steps.gamma_layers import LayerTables, find_mix
from pgbn.errors import DataError
from pgbn.network.steps import Step
from pgbn.network.wiring import Wiring
from pgbn.samplers.contract import contract
from pgbn.samplers.first_layer.collapsed import (
    Labelling,
    allocate_collapsed,
    allocate_rows,
    dense_counts,
    smoothing_of,
    word_topics,
)
from pgbn.samplers.first_layer.given_topics import draw_labels
from pgbn.samplers.first_layer.loadings import draw_phi, loadings_of
from pgbn.samplers.first_layer.tokens import (
    RowPriors,
    WordOrder,
    add_words,
    count_pseudo,
    count_rows,
    count_words,
    expand,
    word_order,
)

TOKEN_BYTES = 20  # of a token that has a label of its own: its word, label and place
_MANY, _FEW = 10**7, 4  # tokens that are not sorted by words as well, and threads that read them


class TokenLabels:
    """The tokens of the data and their labels: the state of the samplers that draw token by
    token."""

    def __init__(self, layer: FirstLayer) -> None:
        self.layer, cells, executor = layer, layer.cells, layer.executor
        self.tokens = expand(cells.indptr, cells.indices, cells.values, executor)
        self.labels = executor.zeros(self.tokens.word.shape, np.uint16)

    def draw(self, key: int) -> None:
        """The first labels, from φ_vk θ_kj and the further terms."""
        layer, executor = self.layer, self.layer.executor
        loadings = loadings_of(layer.program.values[layer.pattern.loadings], executor)
        executor.rows(draw_labels, layer.rows, key, self.tokens, loadings,
                 layer.scores(), self.labels, layer.pseudo(fixed=True))  # fmt: skip

    def count_into(self, m: NDArray[np.int32]) -> None:
        """The counts m_jk of the labels."""
        self.layer.executor.rows(count_rows, len(m), 0, self.tokens.row_start, self.labels, m)

    @cached_property
    def order(self) -> WordOrder:
        """The tokens word by word."""
        return word_order(self.tokens, self.layer.documents, self.layer.vocabulary)

    def count_words(self, n: NDArray[Any]) -> None:
        """The counts n_vk of the labels, word by word. They are computed row by row if blocks of
        labels are read from files, or if there are too many tokens for a second order in memory."""
        layer, executor = self.layer, self.layer.executor
        words = layer.replicates * layer.vocabulary
        in_order = self.labels.size < _MANY or executor.workers > _FEW
        if in_order and executor.memory is None:
            executor.rows(count_words, words, 0, *self.order, self.labels, n)
            return
        n[...] = 0
        ranges = executor.cut(layer.rows, self.tokens, self.labels)
        if n.nbytes * (executor.workers - 1) > self.labels.nbytes or executor.memory is not None:
            for rows in ranges:
                self._add([(rows, part, n) for part in blocks_of(words, executor.workers)])
            return
        apart = [n, *(np.zeros_like(n) for _ in ranges[1:])]  # every thread has counts of its own
        self._add([(rows, (0, words), own) for rows, own in zip(ranges, apart, strict=True)])
        for own in apart[1:]:
            n += own

    def _add(self, parts: Sequence[tuple[tuple[int, int], tuple[int, int], NDArray[Any]]]) -> None:
        """Add ranges of rows, as far as their words are in a range, to counts."""
        self.layer.executor.calls([
            partial(add_words, *rows, *words, self.layer.documents, self.tokens, self.labels, n)
            for rows, words, n in parts
        ])  # fmt: skip

    def count_further(self) -> None:
        """The counts of the further terms."""
        layer = self.layer
        if layer.further.size:
            count_pseudo(self.tokens, self.labels, layer.topics, layer.documents, layer.vocabulary,
                         *layer.further.counts)  # fmt: skip

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        below = self.layer.topics + self.layer.further.size
        self.labels[...] = read_state(state, "labels", self.labels.shape, below)


_BLOCKS = 16  # of rows, if other threads work along with the collapsed sampler


class Collapsed(FirstLayer):
    """P(z = k) ∝ (η + n⁻_vk) / (Vη + n⁻_k) · (m⁻_jk + a_jk)."""

    name = "collapsed"
    is_automatic = True
    token_bytes = TOKEN_BYTES
    tokens: TokenLabels

    @classmethod
    def unsupported_reason(
        cls, wiring: Wiring, pattern: Pattern, patterns: Sequence[Pattern]
    ) -> str:
        loadings = wiring.nodes[pattern.loadings]
        is_free = loadings.name not in wiring.given  # else the schedule does not integrate it out
        if is_free and pattern.topic in wiring.exposures.slot_dims(loadings, "concentration"):
            return f"the concentration of {loadings.name} varies over {pattern.topic}"
        return cannot_marginalise(wiring, pattern, patterns)

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
        """All counts of the labels."""
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
            for low, high in self.executor.cut(self.documents, m):
                self.totals[replicate] += m[low:high].sum(axis=0)
                self.executor.release()
        self.deliver()

    def step(self, key: int) -> None:
        self.step_before(key, ())

    def step_before(self, key: int, tables: Sequence[tuple[LayerTables, int]]) -> None:
        mix = self.mix if self.replicates == 1 else None
        tokens, pseudo, eta = self.tokens.tokens, self.pseudo(fixed=False), self.eta
        eta = eta if isinstance(eta, float) else eta[:, :, 0]
        smoothing = smoothing_of(eta, self.replicates, self.vocabulary)
        labelling = Labelling(self.tokens.labels, self.table, self.totals, self.m)
        if mix is None:
            given = (tokens, labelling, self.prior(), smoothing, pseudo)
            if self.replicates == 1 and self.executor.memory is not None:
                for low, high in self._ranges(()):
                    allocate_rows(np.uint64(key), low, high, *given)
                    self.executor.release()
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

        self.executor.pipeline(before, middle, after, len(ranges))
        for part, _ in tables:
            part.end()
        self._deliver_all(key)

    def _ranges(self, others: Sequence[NDArray[Any]]) -> list[tuple[int, int]]:
        """The blocks of rows of all arrays that are read and written, the labels included."""
        own = (*self.tokens.tokens, self.tokens.labels, self.m, self.shapes, *others)
        ranges = self.executor.cut(self.rows, *own)
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
