"""A label for every token: the state of the samplers that draw token by token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.first_layer.base import FirstLayer, read_state
from pgbn.samplers.executor import SERIAL
from pgbn.samplers.first_layer.blocked import draw_labels
from pgbn.samplers.first_layer.loadings import loadings_of
from pgbn.samplers.first_layer.pseudo import count_pseudo
from pgbn.samplers.first_layer.tokens import count_rows, expand, word_order

__all__ = ["TOKEN_BYTES", "TokenLabels"]

TOKEN_BYTES = 20  # of a token that has a label of its own: its word, label and place


class TokenLabels:
    """The tokens of the data and their labels, drawn first from φ_vk θ_kj and the further terms."""

    def __init__(self, layer: FirstLayer, key: int) -> None:
        program = layer.program
        cells = program.cells[layer.observed]
        self.layer = layer
        self.tokens = expand(cells.indptr, cells.indices, cells.values)
        self.order = word_order(self.tokens, layer.documents, layer.vocabulary)
        self.labels: NDArray[Any] = np.zeros(self.tokens.word.size, np.uint16)
        loadings = loadings_of(program.values[layer.pattern.loadings].copy(), program.executor)
        program.executor.rows(draw_labels, layer.rows, key, self.tokens, loadings,
                 layer.scores(), self.labels, layer.pseudo(held=True))  # fmt: skip

    def count_into(self, m: NDArray[np.int32]) -> None:
        """The counts m_jk of the labels."""
        SERIAL.rows(count_rows, len(m), 0, self.tokens.row_start, self.labels, m)

    def count_further(self) -> None:
        """The counts of the further terms."""
        layer = self.layer
        if layer.further.size:
            count_pseudo(self.tokens, self.labels, layer.topics, layer.documents, layer.vocabulary,
                         *layer.further.counts)  # fmt: skip

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        below = self.layer.topics + self.layer.further.size
        self.labels = read_state(state, "labels", self.labels.shape, below).astype(np.uint16)
