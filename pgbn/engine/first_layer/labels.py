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
from pgbn.samplers.first_layer.tokens import count_rows, expand, word_order

__all__ = ["TOKEN_BYTES", "TokenLabels"]

TOKEN_BYTES = 20  # of a token that has a label of its own: its word, label and place


class TokenLabels:
    """The tokens of the data and their labels, drawn first from φ_vk θ_kj."""

    def __init__(self, layer: FirstLayer, key: int) -> None:
        program = layer.program
        cells = program.cells[layer.observed]
        self.topics = layer.topics
        self.tokens = expand(cells.indptr, cells.indices, cells.values)
        self.order = word_order(self.tokens, layer.documents, layer.vocabulary)
        self.labels: NDArray[Any] = np.zeros(self.tokens.word.size, np.uint16)
        loadings = loadings_of(program.values[layer.pattern.loadings].copy(), program.executor)
        program.executor.rows(draw_labels, layer.rows, key, self.tokens, loadings,
                 layer.scores(), self.labels)  # fmt: skip

    def count_into(self, m: NDArray[np.int32]) -> None:
        """The counts m_jk of the labels."""
        SERIAL.rows(count_rows, len(m), 0, self.tokens.row_start, self.labels, m)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.labels = read_state(state, "labels", self.labels.shape, self.topics).astype(np.uint16)
