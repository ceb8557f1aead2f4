"""What the samplers of the first layer share; see `choice` for the choice between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.first_layer.choice import Pattern
from pgbn.engine.fused.gamma_layers import Tables
from pgbn.errors import DataError
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.expression import Constant
from pgbn.samplers.first_layer.blocked import draw_labels
from pgbn.samplers.first_layer.loadings import loadings_of
from pgbn.samplers.first_layer.tokens import RowPriors, Tokens, count_rows, expand, word_order
from pgbn.samplers.threads import run_rows

__all__ = ["Labelled", "Sampler", "read_state"]


def read_state(
    state: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...], below: int = 0
) -> NDArray[Any]:
    """An array of a state: integers from 0 to ``below`` − 1, or finite positive reals."""
    array = np.array(state.get(name, np.empty((0, 0, 0, 0))))
    good = array.shape == shape and array.dtype.kind in ("iu" if below else "f")
    if good and array.size:
        least, most = array.min(), array.max()
        good = bool(least >= 0 and (int(most) < below if below else np.isfinite(most)))
    if not good:
        raise DataError(
            f"restore: {name!r} of the state has the shape {array.shape} or values that do not "
            f"fit this chain (expected {shape}); is it of the same network and data?"
        )
    return array


class Sampler:
    """What the three samplers share. The arrays of φ and its counts are (R, V, K), those of θ
    and its counts (R·documents, K): `storage_order` puts the topics last."""

    def __init__(self, program: Program, pattern: Pattern) -> None:
        self.program, self.pattern, self.observed = program, pattern, pattern.observed
        self.replicates, self.vocabulary, self.topics = program.shape[pattern.loadings]
        self.documents = int(np.prod(program.shape[pattern.scores][1:-1], dtype=np.int64))
        self.rows = self.replicates * self.documents
        node = program.network.nodes[pattern.loadings]
        assert isinstance(node, Dirichlet)
        assert isinstance(node.concentration, Constant)
        self.eta = float(node.concentration.value)
        self._prior = program.slot(pattern.scores, pattern.slot).get
        # There are fewer than 2^31 tokens (`choose`), and counts of four bytes are read faster.
        self.m = np.zeros((self.rows, self.topics), np.int32)

    @property
    def threads(self) -> int:
        return self.program.threads

    def start(self, key: int) -> None:
        """Begin with the current φ and θ."""

    def step(self, key: int) -> None:
        """Draw the counts of the data."""
        raise NotImplementedError

    def step_before(self, key: int, tables: Sequence[tuple[Tables, int]]) -> None:
        """Draw the counts and, as the next steps, the tables of the layers above, with keys."""
        self.step(key)
        for part, own_key in tables:
            part(own_key)

    def joins(self, part: Tables) -> bool:
        """Whether tables have the rows of the scores, so that they can follow row by row."""
        stored = self.program.storage
        return stored[part.node][:-1] == stored[self.pattern.scores][:-1]

    def draw(self, name: str) -> Callable[[int], None] | None:
        """How ``name`` is drawn, if not by the general rule."""
        return None

    def show(self) -> None:
        """Bring φ and its counts, where they are kept in another form, into the program."""

    def state(self) -> dict[str, NDArray[Any]]:
        """What the next step reads, beside the values that the program has."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a `state`, which is checked: kernels do not look before they index."""

    def prior(self) -> RowPriors:
        """a_jk as a matrix, and how many rows share a line of it."""
        value = np.asarray(self._prior(), np.float64)
        if value.ndim == 0:
            value = value.reshape(1, 1, 1, 1)
        shared = value.shape[1] == value.shape[2] == 1
        first = value.shape[0]
        if shared:
            full = np.broadcast_to(value, (first, 1, 1, self.topics))
            share = self.documents if first == self.replicates > 1 else self.rows
            return RowPriors(np.ascontiguousarray(full.reshape(-1, self.topics)), share)
        shape = self.program.shape4[self.pattern.scores]
        full = np.ascontiguousarray(np.broadcast_to(value, shape))
        return RowPriors(full.reshape(-1, self.topics), 1)

    def scores(self) -> NDArray[np.float64]:
        return self.program.values[self.pattern.scores].reshape(self.rows, self.topics)

    def deliver(self) -> None:
        """Hand the counts of the scores to the program."""
        shape = self.program.shape[self.pattern.scores]
        self.program.counts[self.observed, self.pattern.scores] = self.m.reshape(shape)


class Labelled(Sampler):
    """Samplers whose state is a label for every token."""

    tokens: Tokens
    labels: NDArray[Any]

    def start(self, key: int) -> None:
        cells = self.program.cells[self.observed]
        self.tokens = expand(cells.indptr, cells.indices, cells.values)
        self.labels = np.zeros(self.tokens.word.size, np.uint16)
        loadings = loadings_of(self.program.values[self.pattern.loadings].copy(), self.threads)
        run_rows(draw_labels, self.rows, self.threads, key, self.tokens, loadings,
                 self.scores(), self.labels)  # fmt: skip
        self.begin()

    def begin(self) -> None:
        """Count the labels."""
        run_rows(count_rows, self.rows, 1, 0, self.tokens.row_start, self.labels, self.m)
        self.order = word_order(self.tokens, self.documents, self.vocabulary)

    def state(self) -> dict[str, NDArray[Any]]:
        return {**super().state(), "labels": self.labels}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.labels = read_state(state, "labels", self.labels.shape, self.topics).astype(np.uint16)
        self.begin()
        super().restore(state)
