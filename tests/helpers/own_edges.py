"""Operations of a user's own, for tests: one that says what it stands for."""

from __future__ import annotations

from typing import Any, ClassVar

from scipy.sparse import diags

import pgbn as pg

__all__ = ["Moving"]


class Moving(pg.Edge):
    """y_t = Σ_s w_s of_{t−s}, by a sparse constant."""

    tag: ClassVar[str] = "tests.moving"
    positional: ClassVar[tuple[str, ...]] = ("of",)

    of: pg.Slot
    along: str
    size: int
    weights: tuple[float, ...]

    def expand(self) -> Any:
        shifts = [-s for s in range(min(len(self.weights), self.size))]
        band = diags(list(self.weights)[: self.size], shifts, shape=(self.size, self.size))
        before = f"{self.along}_before"
        return pg.Constant(band, dims=(self.along, before)) @ self.of.rename(**{self.along: before})
