"""Operations of a user's own, for tests: one that says what it stands for, one that does the same
by itself."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import diags

import pgbn as pg
from pgbn.samplers import share_out

__all__ = ["Carried", "Moving"]


class Moving(pg.extend.Edge):
    """y_t = Σ_s w_s of_{t−s}, by a sparse constant."""

    tag: ClassVar[str] = "tests.moving"

    of: pg.extend.Slot
    along: str
    size: int
    weights: tuple[float, ...]

    def expand(self) -> Any:
        shifts = [-s for s in range(min(len(self.weights), self.size))]
        band = diags(list(self.weights)[: self.size], shifts, shape=(self.size, self.size))
        before = f"{self.along}_before"
        return pg.Constant(band, dims=(self.along, before)) @ self.of.rename(**{self.along: before})


class Carried(pg.extend.Edge):
    """The same, evaluated, shared out and exposed by itself; ``axis`` of the operand is the time,
    from 1 on."""

    tag: ClassVar[str] = "tests.carried"
    positive: ClassVar[bool] = True

    of: pg.extend.Slot
    axis: int
    weights: tuple[float, ...]

    def independent_dims(self, of: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dim for number, dim in enumerate(of, 1) if number != self.axis)

    def _late(self, array: Any, s: int) -> Any:
        moved = np.moveaxis(array, self.axis, 0)
        out = np.zeros_like(moved)
        out[s:] = moved[: len(moved) - s]
        return np.moveaxis(out, 0, self.axis)

    def _early(self, array: Any, s: int) -> Any:
        moved = np.moveaxis(array, self.axis, 0)
        out = np.zeros_like(moved)
        out[: len(moved) - s] = moved[s:]
        return np.moveaxis(out, 0, self.axis)

    def _lags(self, array: Any) -> Any:
        return list(enumerate(self.weights))[: array.shape[self.axis]]

    def evaluate(self, of: Any) -> Any:
        return sum(w * self._late(of, s) for s, w in self._lags(of))

    def split(self, stream: Any, count: Any, of: Any) -> dict[str, Any]:
        shares = share_out(stream, count, [w * self._late(of, s) for s, w in self._lags(of)])
        return {"of": sum(self._early(share, s) for s, share in enumerate(shares))}

    def expose(self, slot: str, exposure: Any, shape: tuple[int, ...]) -> Any:
        return sum(w * self._early(exposure, s) for s, w in self._lags(exposure))
