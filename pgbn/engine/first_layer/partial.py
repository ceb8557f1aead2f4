"""The first layer with θ integrated out and φ held: token by token, documents independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from pgbn.engine.first_layer.base import FirstLayer
from pgbn.engine.first_layer.labels import TOKEN_BYTES, TokenLabels
from pgbn.engine.first_layer.marginal import why_scores_stay, without_scores
from pgbn.engine.first_layer.pattern import Pattern
from pgbn.engine.first_layer.registry import register_sampler
from pgbn.engine.first_layer.topics import HeldTopics
from pgbn.network.steps import Step
from pgbn.network.wiring import Wiring
from pgbn.samplers.first_layer.partial import allocate_partial
from pgbn.samplers.first_layer.tokens import count_words

__all__ = ["Partial"]


@register_sampler
class Partial(FirstLayer):
    """P(z = k) ∝ φ_vk (m⁻_jk + a_jk)."""

    name = "partial"
    is_automatic = True
    token_bytes = TOKEN_BYTES
    tokens: TokenLabels
    topics_held: HeldTopics

    @classmethod
    def why_not(cls, wiring: Wiring, pattern: Pattern, patterns: Sequence[Pattern]) -> str:
        return why_scores_stay(wiring, pattern, patterns)

    @classmethod
    def why_not_data(cls, is_masked: bool) -> str:
        return "some cells are missing" if is_masked else ""

    @classmethod
    def revise(cls, wiring: Wiring, pattern: Pattern, step: Step) -> Step:
        equation = r"P(z=k) \propto \phi_{vk}(m^{-}_{jk} + a_{jk})"
        return without_scores(wiring, pattern, step, cls.name, equation, loadings=True)

    def start(self, key: int) -> None:
        self.tokens = TokenLabels(self, key)
        self.tokens.count_into(self.m)
        self.topics_held = HeldTopics(self)
        self.deliver()

    def loadings_changed(self, key: int) -> None:
        self.topics_held.take()

    def step(self, key: int) -> None:
        self.executor.rows(allocate_partial, self.rows, key, self.tokens.tokens,
                 self.tokens.labels, self.topics_held.loadings, self.m, self.prior(),
                 self.pseudo(held=False))  # fmt: skip
        self._count_words()
        self.deliver()
        self.deliver_others(key)

    def _count_words(self) -> None:
        self.topics_held.counts_changed()
        self.tokens.count_further()
        if self.is_given:  # it hears nothing
            return
        words = self.replicates * self.vocabulary
        self.executor.rows(count_words, words, 0, *self.tokens.order, self.tokens.labels,
                 self.topics_held.n)  # fmt: skip

    def draw_loadings(self, key: int) -> None:
        self.topics_held.draw(key)

    def show(self) -> None:
        self.topics_held.show()

    def show_counts(self) -> None:
        self.topics_held.show_counts()

    def state(self) -> dict[str, NDArray[Any]]:
        return {"labels": self.tokens.labels, **self.topics_held.state()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.tokens.restore(state)
        self.tokens.count_into(self.m)
        self._count_words()
        self.deliver()
        self.topics_held.restore(state)
