"""A label for every token: the state of the samplers that draw token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.splitting import blocks_of
from pgbn.engine.first_layer.base import FirstLayer, read_state
from pgbn.samplers.executor import cut_rows, keeps_rows, rows_array
from pgbn.samplers.first_layer.blocked import draw_labels
from pgbn.samplers.first_layer.pseudo import count_pseudo
from pgbn.samplers.first_layer.tokens import (
    WordOrder,
    add_words,
    count_rows,
    count_words,
    expand,
    word_order,
)
from pgbn.samplers.first_layer.value_lists import loadings_of

__all__ = ["TOKEN_BYTES", "TokenLabels"]

TOKEN_BYTES = 20  # of a token that has a label of its own: its word, label and place
_MANY, _FEW = 10**7, 4  # tokens that are not sorted by words as well, and threads that read them


class TokenLabels:
    """The tokens of the data and their labels."""

    def __init__(self, layer: FirstLayer) -> None:
        program = layer.program
        cells = layer.cells
        self.layer = layer
        executor = program.executor
        self.tokens = expand(cells.indptr, cells.indices, cells.values, executor)
        self.labels = rows_array(executor, self.tokens.word.shape, np.uint16)

    def draw(self, key: int) -> None:
        """The first labels, from φ_vk θ_kj and the further terms."""
        layer, executor = self.layer, self.layer.executor
        loadings = loadings_of(layer.program.values[layer.pattern.loadings], executor)
        executor.rows(draw_labels, layer.rows, key, self.tokens, loadings,
                 layer.scores(), self.labels, layer.pseudo(held=True))  # fmt: skip

    def count_into(self, m: NDArray[np.int32]) -> None:
        """The counts m_jk of the labels."""
        self.layer.executor.rows(count_rows, len(m), 0, self.tokens.row_start, self.labels, m)

    @cached_property
    def order(self) -> WordOrder:
        """The tokens word by word."""
        return word_order(self.tokens, self.layer.documents, self.layer.vocabulary)

    def count_words(self, n: NDArray[Any]) -> None:
        """The counts n_vk of the labels: word by word or, where blocks of labels are read from
        files, or there are too many tokens to keep them in another order too, row by row."""
        layer, executor = self.layer, self.layer.executor
        words = layer.replicates * layer.vocabulary
        in_order = self.labels.size < _MANY or executor.workers > _FEW
        if in_order and not keeps_rows(executor):
            executor.rows(count_words, words, 0, *self.order, self.labels, n)
            return
        n[...] = 0
        ranges = cut_rows(executor, layer.rows, self.tokens, self.labels)
        if n.nbytes * (executor.workers - 1) > self.labels.nbytes or keeps_rows(executor):
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
