"""What a sampler of the first layer is, and what all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.first_layer.pattern import Pattern
from pgbn.engine.fused.gamma_layers import LayerTables
from pgbn.errors import DataError
from pgbn.network.steps import Step
from pgbn.network.wiring import Wiring
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.expression import Constant
from pgbn.samplers.executor import Executor
from pgbn.samplers.first_layer.tokens import RowPriors
from pgbn.storage.memory import check_bytes

__all__ = ["FirstLayer", "read_state", "without_scores"]


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


class FirstLayer(ABC):
    """A way to draw the counts of a first layer x ~ Pois(φ·θ), around a kernel.

    The arrays of φ and its counts are (R, V, K), those of θ and its counts ``m`` (R·documents, K):
    `storage_order` puts the topics last. A class says, before any array exists, what its step
    reads and integrates out (`revise`), what a sweep costs (`nanoseconds`), and how many bytes it
    keeps for a token.
    """

    name: ClassVar[str] = ""
    is_automatic: ClassVar[bool] = False  # may be taken by "auto"; those that mix best come first
    token_bytes: ClassVar[int] = 0

    def __init__(self, program: Program, pattern: Pattern) -> None:
        self.program, self.pattern, self.observed = program, pattern, pattern.observed
        self.replicates, self.vocabulary, self.topics = program.shape[pattern.loadings]
        self.rows = int(np.prod(program.shape[pattern.scores][:-1], dtype=np.int64))
        self.documents = self.rows // self.replicates  # that share a value of φ
        node = program.network.nodes[pattern.loadings]
        assert isinstance(node, Dirichlet)
        self.eta = 1.0  # not read where φ is given
        if isinstance(node.concentration, Constant) and not node.concentration.value.ndim:
            self.eta = float(node.concentration.value)
        self._prior = program.slot(pattern.scores, pattern.slot).get
        # There are fewer than 2^31 tokens (`choice`), and counts of four bytes are read faster.
        self.m = np.zeros((self.rows, self.topics), np.int32)
        if self.token_bytes:
            tokens = int(program.cells[self.observed].values.sum())
            check_bytes(f"{self.observed}: labels of {tokens} tokens", self.token_bytes * tokens,
                        "use layer1='blocked', which needs no labels")  # fmt: skip

    # ---- what is known before any array -----------------------------------------------

    @classmethod
    def revise(cls, wiring: Wiring, pattern: Pattern, step: Step) -> Step:
        """The step of the counts as this sampler draws them: given φ and θ unless it says more."""
        return step

    @classmethod
    def nanoseconds(
        cls, counts: NDArray[np.integer], documents: int, vocabulary: int, topics: int
    ) -> float:
        """What a sweep costs on one core, within a factor of two; ``counts`` are those of the
        non-zero cells. Fitted to times that were measured (docs/performance.md)."""
        return inf

    # ---- sampling ---------------------------------------------------------------------

    @abstractmethod
    def start(self, key: int) -> None:
        """Begin with the current φ and θ."""

    def loadings_changed(self, key: int) -> None:
        """Go on with another value of φ, which is given."""
        self.start(key)

    @abstractmethod
    def step(self, key: int) -> None:
        """Draw the counts of the data."""

    def step_before(self, key: int, tables: Sequence[tuple[LayerTables, int]]) -> None:
        """Draw the counts and, as the next steps, the tables of the layers above, with keys."""
        self.step(key)
        for part, own_key in tables:
            part(own_key)

    def joins(self, part: LayerTables) -> bool:
        """Whether tables have the rows of the scores, so that they can follow row by row."""
        stored = self.program.storage
        return stored[part.node][:-1] == stored[self.pattern.scores][:-1]

    @abstractmethod
    def draw_loadings(self, key: int) -> None:
        """Draw φ given its counts."""

    @abstractmethod
    def show(self) -> None:
        """Bring φ and its counts, where they are kept in another form, into the program."""

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """What the next step reads, beside the values that the program has."""

    @abstractmethod
    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a `state`, which is checked: kernels do not look before they index."""

    # ---- arrays -----------------------------------------------------------------------

    @property
    def executor(self) -> Executor:
        return self.program.executor

    def prior(self) -> RowPriors:
        """a_jk as a matrix, and how many rows share a line of it."""
        value = np.asarray(self._prior(), np.float64)
        if value.ndim == 0:
            value = value.reshape(1, 1, 1, 1)
        shared = value.shape[1] == value.shape[2] == 1
        first = value.shape[0]
        if shared:
            full = np.broadcast_to(value, (first, 1, 1, self.topics))
            lines = np.ascontiguousarray(full.reshape(-1, self.topics))
            return RowPriors(lines, self.rows // first)
        shape = self.program.shape4[self.pattern.scores]
        full = np.ascontiguousarray(np.broadcast_to(value, shape))
        return RowPriors(full.reshape(-1, self.topics), 1)

    def scores(self) -> NDArray[np.float64]:
        """θ, a row for each document."""
        return self.program.values[self.pattern.scores].reshape(self.rows, self.topics)

    def deliver(self) -> None:
        """Hand the counts of the scores to the program."""
        shape = self.program.shape[self.pattern.scores]
        self.program.counts[self.observed, self.pattern.scores] = self.m.reshape(shape)


def without_scores(
    wiring: Wiring, pattern: Pattern, step: Step, method: str, equation: str, loadings: bool
) -> Step:
    """The step of the counts with θ integrated out, and φ too unless ``loadings`` are held."""
    reads = wiring.reads.of_slot(wiring.nodes[pattern.scores], pattern.slot)
    out = {pattern.scores: frozenset[str]()}
    if loadings:
        reads |= {read for read in step.reads if read.name == pattern.loadings}
    else:
        out[pattern.loadings] = frozenset()
    marginalises = {**step.marginalises, **out}
    return replace(
        step, reads=frozenset(reads), marginalises=marginalises, equation=equation, method=method
    )
