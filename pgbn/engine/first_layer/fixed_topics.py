"""The first layer with φ fixed while counts are drawn: cell by cell, or token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.data.cells import GROUP, Cells
from pgbn.engine.first_layer.base import FirstLayer, read_state
from pgbn.engine.first_layer.choice import Pattern, cannot_marginalise, without_scores
from pgbn.engine.first_layer.collapsed import TOKEN_BYTES, TokenLabels
from pgbn.engine.plan import LatentCounts, Run
from pgbn.engine.steps.gamma_layers import find_mix
from pgbn.network.steps import Step
from pgbn.network.wiring import Wiring
from pgbn.nodes.bernoulli_poisson import draws_ones
from pgbn.samplers.contract import contract
from pgbn.samplers.first_layer.given_topics import (
    WordWeights,
    allocate_partial,
    allocate_shared,
    cell_sums,
    padded_topics,
    split_all_cells,
    weigh_words,
    word_weights,
)
from pgbn.samplers.first_layer.loadings import (
    Loadings,
    draw_loadings,
    empty_loadings,
    loadings_of,
    rebuild_loadings,
)
from pgbn.samplers.first_layer.tokens import RowPriors
from pgbn.samplers.random import ContentKeyed
from pgbn.samplers.thinning import SparseCounts


class FixedTopics:
    """Topics that are fixed while counts are drawn: φ as gammas with their scales and lists, its
    counts ``n`` and, while φ is the draw given n, the key of that draw."""

    _key: int | None

    def __init__(
        self, layer: FirstLayer, quick: bool = False, begun: bool = True, listed: bool = True
    ) -> None:
        """``quick``: see `draw_loadings`, ``listed``: `Loadings`. Unless the chain has ``begun``, φ
        will be passed in later."""
        self.layer, self.quick, self.listed = layer, quick, listed
        self.shape = (layer.replicates, layer.vocabulary, layer.topics)
        self.n = np.zeros(self.shape, layer.count_type)
        if begun:
            self.take()

    @cached_property
    def _room(self) -> Loadings:
        """The array that φ is drawn into."""
        layer = self.layer
        words = layer.cells.totals().astype(np.int64)
        return empty_loadings(words, layer.topics, layer.typical_eta, self.quick, self.listed)

    def take(self) -> None:
        """φ as the program has it."""
        value = self.layer.program.values[self.layer.pattern.loadings]
        self.loadings, self._key = loadings_of(value, self.layer.executor, self.listed), None

    def hand_over(self, loadings: Loadings) -> None:
        """φ as it was drawn elsewhere."""
        self.loadings, self._key = loadings, None

    def draw(self, key: int) -> None:
        """φ_k ~ Dir(η + n_k)."""
        layer = self.layer
        self.loadings = draw_loadings(
            key, self.n, layer.eta, self._room, layer.executor, self.quick
        )
        self._key = int(key)

    def counts_changed(self) -> None:
        """φ is no longer the draw given n."""
        self._key = None

    def state(self) -> dict[str, NDArray[Any]]:
        """φ can be drawn again, and its key is smaller than φ itself."""
        if self._key is not None:
            return {"key": np.array(self._key, np.uint64)}
        own = self.loadings
        return {"value": own.value, "scale": own.scale, "bound": own.bound}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """φ again, after n."""
        self._key = None
        if "key" in state:
            self.draw(int(read_state(state, "key", (), 2**64)))
            return
        self.loadings = rebuild_loadings(
            read_state(state, "value", self.shape),
            read_state(state, "scale", (self.shape[0], self.shape[2])),
            read_state(state, "bound", (self.shape[0] * self.shape[1],)),
            self.listed,
        )

    def show(self) -> None:
        """Bring φ and n into the program."""
        layer, name = self.layer, self.layer.pattern.loadings
        if not layer.is_given:
            layer.program.values[name] = self.loadings.value * self.loadings.scale[:, None, :]
        self.show_counts()

    def show_counts(self) -> None:
        """Bring n into the program."""
        layer, name = self.layer, self.layer.pattern.loadings
        if not layer.is_given:
            layer.program.counts[layer.observed, name] = self.n.astype(np.int64)


class HoldsTopics(FirstLayer):
    """A sampler with φ fixed. A part of the rows can be drawn by itself."""

    is_automatic = True
    by_rows = True
    fixed_topics: FixedTopics

    def loadings_changed(self, key: int) -> None:
        self.fixed_topics.take()

    def draw_loadings(self, key: int) -> None:
        self.fixed_topics.draw(key)

    def show(self) -> None:
        self.fixed_topics.show()

    def show_counts(self) -> None:
        self.fixed_topics.show_counts()

    def state(self) -> dict[str, NDArray[Any]]:
        return {**self.row_state(), **self.shared_state()}

    def shared_state(self) -> dict[str, NDArray[Any]]:
        return self.fixed_topics.state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.restore_rows(state)
        self.restore_shared(state)

    def restore_shared(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.fixed_topics.restore(state)


class Blocked(HoldsTopics):
    """(x_vj1, x_vj2, …) ~ Mult(x_vj; ∝ φ_vk θ_kj), with θ fixed too. Counts behind data, and those
    of missing cells, are drawn before."""

    name = "blocked"
    _behind: Run | None
    _weighed: tuple[NDArray[Any], NDArray[np.float64] | None] | None

    @classmethod
    def nanoseconds(
        cls, counts: NDArray[np.integer], documents: int, vocabulary: int, topics: int
    ) -> float:
        """It splits every cell, token by token up to 4 K of them and by binomials beyond, and
        draws φ and θ."""
        drawn = float(np.minimum(counts, 4 * topics).sum(dtype=np.float64))
        return (
            drawn * (10.0 + 0.04 * topics)
            + float(counts.size) * (70.0 + 0.1 * topics)
            + 11.0 * topics * (documents + vocabulary)
        )

    def start(self, key: int) -> None:
        self.hold()
        self.make_room()

    def hold(self, begun: bool = True) -> None:
        self.fixed_topics = FixedTopics(self, begun=begun)

    def make_room(self) -> None:
        self._behind = self._weighed = None
        if draws_ones(self.program.network.nodes[self.observed]) and not self.is_masked:
            self._behind = self._draw_ones
        elif self.draws_counts or self.is_masked:
            self._behind = LatentCounts(self.program, self.observed, self._rates, self._split,
                                         GROUP)  # fmt: skip

    def step(self, key: int) -> None:
        if self._behind is not None:
            self._behind(key)
        else:
            cells = self.cells
            self._split(key, cells, cells.values)

    def _draw_ones(self, key: int) -> None:
        """Counts behind ones, and their topics, in one pass."""
        cells = self.program.cells[self.observed]
        counts = np.empty(cells.values.size, np.int64)
        phi = padded_topics(self.fixed_topics.loadings, np.float32)
        self._weighed = (phi, self.row_scale.get())
        self._split(key, cells, counts)
        self.program.latent_counts[self.observed] = counts

    def _rates(self, cells: Cells) -> NDArray[np.float64]:
        """The total rate at every cell."""
        out, phi = np.empty(cells.values.size), padded_topics(self.fixed_topics.loadings)
        sparse = SparseCounts(cells.indptr, cells.indices, cells.values)
        self.executor.rows(cell_sums, cells.rows, 0, sparse, self.documents, self.vocabulary, phi,
                           self.scores(), self.pseudo(fixed=True), out)  # fmt: skip
        self._weighed = (phi, None)
        return out * np.repeat(self.row_scale.get(), np.diff(cells.indptr))

    def _split(self, key: int, cells: Cells, counts: NDArray[np.int64]) -> None:
        topics = self.fixed_topics
        sparse = SparseCounts(cells.indptr, cells.indices, counts)
        further = self.further.counts if self.further.size else None
        split_all_cells(key, sparse, topics.loadings, self.scores(), topics.n, self.m,
                        self.executor, self.pseudo(fixed=True), further, self._weighed)  # fmt: skip
        self._weighed = None
        topics.counts_changed()
        self.deliver()
        self.deliver_others(key)

    def shared_state(self) -> dict[str, NDArray[Any]]:
        return {**super().shared_state(), "n": self.fixed_topics.n}

    def row_state(self) -> dict[str, NDArray[Any]]:
        return {"m": self.m}

    def restore_rows(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.m[...] = read_state(state, "m", self.m.shape, self._most)
        self.deliver()

    def restore_shared(self, state: Mapping[str, NDArray[Any]]) -> None:
        topics = self.fixed_topics
        topics.n[...] = read_state(state, "n", topics.n.shape, self._most)
        super().restore_shared(state)

    @property
    def _most(self) -> int:
        return int(2 ** (8 * self.count_type.itemsize - 1))


class Partial(HoldsTopics):
    """P(z = k) ∝ φ_vk (m⁻_jk + a_jk), with θ integrated out: documents are independent."""

    name = "partial"
    token_bytes = TOKEN_BYTES
    tokens: TokenLabels

    @classmethod
    def unsupported_reason(
        cls, wiring: Wiring, pattern: Pattern, patterns: Sequence[Pattern]
    ) -> str:
        return cannot_marginalise(wiring, pattern, patterns)

    @classmethod
    def why_not_data(cls, is_masked: bool) -> str:
        return "some cells are missing" if is_masked else ""

    @classmethod
    def revise(cls, wiring: Wiring, pattern: Pattern, step: Step) -> Step:
        equation = r"P(z=k) \propto \phi_{vk}(m^{-}_{jk} + a_{jk})"
        return without_scores(wiring, pattern, step, cls.name, equation, loadings=True)

    def start(self, key: int) -> None:
        self.make_room()
        self.tokens.draw(key)
        self.tokens.count_into(self.m)
        self.hold()
        self.deliver()

    def hold(self, begun: bool = True) -> None:
        self.fixed_topics = FixedTopics(
            self, quick=True, begun=begun, listed=not self.shares_prior()
        )

    def make_room(self) -> None:
        self.tokens = TokenLabels(self)

    def prior(self) -> RowPriors:
        """a = φ·θ of the layer above, row by row, if it has this form; else as in all samplers."""
        program, pattern = self.program, self.pattern
        mix = find_mix(program, program.network.nodes[pattern.scores], pattern.slot)
        if mix is None or self.replicates > 1 or isinstance(self.executor, ContentKeyed):
            return super().prior()
        theta = program.values[mix.theta].reshape(1, self.rows, mix.topics)
        shapes = program.pool.empty((1, self.rows, self.topics), np.float32)
        self.executor.rows(contract, self.rows, 0, theta, mix.coefficient * program.values[mix.phi],
                           shapes, np.float32)  # fmt: skip
        others = self.other_counts()
        if others is not None:
            shapes[0] += others
        return RowPriors(shapes[0], 1)

    def shares_prior(self) -> bool:
        """Whether all rows of a replicate have the same a_k, whatever the data."""
        program, scores = self.program, self.pattern.scores
        varies = program.slot(scores, self.pattern.slot).dims
        alone = len(program.wiring.sources[scores]) == 1
        return alone and set(varies).isdisjoint(program.storage[scores][:-1])

    def step(self, key: int) -> None:
        loadings, prior, tokens = self.fixed_topics.loadings, self.prior(), self.tokens
        given = (tokens.tokens, tokens.labels, loadings, self.m, prior)
        pseudo = self.pseudo(fixed=False)
        if self.fixed_topics.listed:
            self.executor.rows(allocate_partial, self.rows, key, *given, pseudo)
        else:
            words = weigh_words(loadings, prior, self.documents, self._word_weights, self.executor)
            self.executor.rows(allocate_shared, self.rows, key, *given, words, pseudo)
        self._count_words()
        self.deliver()
        self.deliver_others(key)

    @cached_property
    def _word_weights(self) -> WordWeights:
        """The weights of words, which every sweep writes again."""
        return word_weights(self.replicates * self.vocabulary, self.topics)

    def _count_words(self) -> None:
        self.fixed_topics.counts_changed()
        self.tokens.count_further()
        if not self.is_given:  # else it receives nothing
            self.tokens.count_words(self.fixed_topics.n)

    def row_state(self) -> dict[str, NDArray[Any]]:
        return {"labels": self.tokens.labels}

    def restore_rows(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.tokens.restore(state)
        self.tokens.count_into(self.m)
        self._count_words()
        self.deliver()
