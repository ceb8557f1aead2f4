"""The first layer with θ integrated out and φ held: token by token, documents independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.first_layer.base import FirstLayer
from pgbn.engine.first_layer.blocked import HeldTopics
from pgbn.engine.first_layer.collapsed import TOKEN_BYTES, TokenLabels
from pgbn.engine.first_layer.pattern import Pattern, cannot_marginalise, without_scores
from pgbn.engine.steps.gamma_layers import find_mix
from pgbn.network.steps import Step
from pgbn.network.wiring import Wiring
from pgbn.samplers.content import ContentKeyed
from pgbn.samplers.contract import contract
from pgbn.samplers.first_layer.one_layer import allocate_shared
from pgbn.samplers.first_layer.partial import allocate_partial
from pgbn.samplers.first_layer.tokens import RowPriors
from pgbn.samplers.first_layer.value_lists import prior_sums


class Partial(FirstLayer):
    """P(z = k) ∝ φ_vk (m⁻_jk + a_jk)."""

    name = "partial"
    is_automatic = True
    by_rows = True
    token_bytes = TOKEN_BYTES
    tokens: TokenLabels
    topics_held: HeldTopics

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
        self.topics_held = HeldTopics(self, quick=True, begun=begun, coded=self.shares_prior())

    def make_room(self) -> None:
        self.tokens = TokenLabels(self)

    def prior(self) -> RowPriors:
        """a = φ·θ of the layer above, row by row, where that is its form; else as all have it."""
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
        """Whether all rows of a replicate have the same a_k, whatever the data say."""
        program, scores = self.program, self.pattern.scores
        varies = program.slot(scores, self.pattern.slot).dims
        alone = len(program.wiring.sources[scores]) == 1
        return alone and varies.isdisjoint(program.storage[scores][:-1])

    def loadings_changed(self, key: int) -> None:
        self.topics_held.take()

    def step(self, key: int) -> None:
        loadings, prior, tokens = self.topics_held.loadings, self.prior(), self.tokens
        given = (tokens.tokens, tokens.labels, loadings, self.m, prior)
        pseudo = self.pseudo(held=False)
        if loadings.byte.size:
            known = prior_sums(loadings, prior, self.documents, self.executor)
            self.executor.rows(allocate_shared, self.rows, key, *given, known, pseudo)
        else:
            self.executor.rows(allocate_partial, self.rows, key, *given, pseudo)
        self._count_words()
        self.deliver()
        self.deliver_others(key)

    def _count_words(self) -> None:
        self.topics_held.counts_changed()
        self.tokens.count_further()
        if not self.is_given:  # else it hears nothing
            self.tokens.count_words(self.topics_held.n)

    def draw_loadings(self, key: int) -> None:
        self.topics_held.draw(key)

    def show(self) -> None:
        self.topics_held.show()

    def show_counts(self) -> None:
        self.topics_held.show_counts()

    def state(self) -> dict[str, NDArray[Any]]:
        return {**self.row_state(), **self.shared_state()}

    def shared_state(self) -> dict[str, NDArray[Any]]:
        return self.topics_held.state()

    def row_state(self) -> dict[str, NDArray[Any]]:
        return {"labels": self.tokens.labels}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.restore_rows(state)
        self.restore_shared(state)

    def restore_rows(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.tokens.restore(state)
        self.tokens.count_into(self.m)
        self._count_words()
        self.deliver()

    def restore_shared(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.topics_held.restore(state)
