"""The three samplers of the first layer, around their kernels; see `pgbn.layer1` for the choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError
from pgbn.fused import Tables, find_mix
from pgbn.layer1 import Pattern, find_pattern
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.expression import Constant
from pgbn.program import Program
from pgbn.samplers.allocate_blocked import draw_labels, split_cells
from pgbn.samplers.allocate_collapsed import (
    allocate_collapsed,
    allocate_rows,
    dense_counts,
    word_topics,
)
from pgbn.samplers.allocate_partial import allocate_partial
from pgbn.samplers.contract import contract
from pgbn.samplers.dirichlet_columns import (
    draw_loadings,
    draw_phi,
    empty_loadings,
    listed_loadings,
    loadings_of,
)
from pgbn.samplers.threads import run_behind, run_rows
from pgbn.samplers.tokens import Tokens, count_rows, count_words, expand, word_order
from pgbn.splitting import blocks_of

__all__ = ["make_sampler"]

_BLOCKS = 16  # of rows, where other threads work beside the collapsed sampler


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


class _Sampler:
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
        self.m = np.zeros((self.rows, self.topics), np.int64)

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

    def prior(self) -> tuple[NDArray[np.float64], int]:
        """a_jk as a matrix, and how many rows share a line of it."""
        value = np.asarray(self._prior(), np.float64)
        if value.ndim == 0:
            value = value.reshape(1, 1, 1, 1)
        shared = value.shape[1] == value.shape[2] == 1
        first = value.shape[0]
        if shared:
            full = np.broadcast_to(value, (first, 1, 1, self.topics))
            share = self.documents if first == self.replicates > 1 else self.rows
            return np.ascontiguousarray(full.reshape(-1, self.topics)), share
        shape = self.program.shape4[self.pattern.scores]
        return np.ascontiguousarray(np.broadcast_to(value, shape)).reshape(-1, self.topics), 1

    def scores(self) -> NDArray[np.float64]:
        return self.program.values[self.pattern.scores].reshape(self.rows, self.topics)

    def deliver(self) -> None:
        """Hand the counts of the scores to the program."""
        shape = self.program.shape[self.pattern.scores]
        self.program.counts[self.observed, self.pattern.scores] = self.m.reshape(shape)


class _Labelled(_Sampler):
    """Samplers whose state is a label for every token."""

    tokens: Tokens
    labels: NDArray[Any]

    def start(self, key: int) -> None:
        cells = self.program.cells[self.observed]
        self.tokens = expand(cells.indptr, cells.indices, cells.values)
        self.labels = np.zeros(self.tokens.word.size, np.uint16)
        loadings = loadings_of(self.program.values[self.pattern.loadings].copy(), self.threads)
        run_rows(draw_labels, self.rows, self.threads, key, self.documents, *self.tokens, loadings,
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


class _Collapsed(_Labelled):
    def begin(self) -> None:
        super().begin()
        self.table = word_topics(
            self.tokens, self.labels, self.documents, self.vocabulary, self.topics, self.order
        )
        shape = (self.replicates, self.documents, self.topics)
        self.mix = find_mix(self.program, self.program.network.nodes[self.pattern.scores],
                            self.pattern.slot)  # fmt: skip
        self.shapes = np.empty(shape if self.mix is not None else (0, 0, 0))
        self.totals = np.ascontiguousarray(self.m.reshape(shape).sum(axis=1))
        self.deliver()

    def step(self, key: int) -> None:
        self.step_before(key, ())

    def step_before(self, key: int, tables: Sequence[tuple[Tables, int]]) -> None:
        mix = self.mix if self.replicates == 1 else None
        shared = (*self.tokens, self.labels, self.table, self.totals, self.m)
        if mix is None:
            prior, share = self.prior()
            run_rows(allocate_collapsed, self.replicates, self.threads, key, self.documents,
                     *shared, prior, share, self.eta)  # fmt: skip
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
            allocate_rows(np.uint64(key), *ranges[block], self.documents, *shared, shapes[0], 1,
                          self.eta)  # fmt: skip

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


class _WithLoadings(_Sampler):
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
            self.loadings = listed_loadings(
                read_state(state, "value", shape),
                read_state(state, "scale", (shape[0], shape[2])),
                read_state(state, "bound", (shape[0] * shape[1],)),
            )

    def show(self) -> None:
        phi = self.loadings.value * self.loadings.scale[:, None, :]
        self.program.values[self.pattern.loadings] = phi
        self.program.counts[self.observed, self.pattern.loadings] = self.n.astype(np.int64)


class _Partial(_WithLoadings, _Labelled):
    def step(self, key: int) -> None:
        prior, share = self.prior()
        run_rows(allocate_partial, self.rows, self.threads, key, self.documents, *self.tokens,
                 self.labels, self.loadings, self.m, prior, share)  # fmt: skip
        self.recount()
        self.deliver()

    def recount(self, state: Mapping[str, NDArray[Any]] | None = None) -> None:
        self._key = None
        words = self.replicates * self.vocabulary
        run_rows(count_words, words, self.threads, 0, *self.order, self.labels, self.n)


class _Blocked(_WithLoadings):
    def step(self, key: int) -> None:
        cells = self.program.cells[self.observed]
        split_cells(key, self.documents, cells.indptr, cells.indices, cells.values, self.loadings,
                    self.scores(), self.n, self.m, self.threads)  # fmt: skip
        self._key = None
        self.deliver()

    def state(self) -> dict[str, NDArray[Any]]:
        return {**super().state(), "n": self.n, "m": self.m}

    def recount(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.n[...] = read_state(state, "n", self.n.shape, 2**31)
        self.m[...] = read_state(state, "m", self.m.shape, 2**63)


def make_sampler(program: Program, layer1: str) -> _Sampler | None:
    """The kernels of the first layer, or None where the general rules are used."""
    if layer1 == "composed":
        return None
    pattern = find_pattern(program.wiring)
    assert isinstance(pattern, Pattern)
    kinds: dict[str, type[_Sampler]] = {
        "collapsed": _Collapsed,
        "partial": _Partial,
        "blocked": _Blocked,
    }
    return kinds[layer1](program, pattern)
