"""What training notes while it runs: traces, and the means of the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.engine.run.chain import Chain
from pgbn.zoo import layers

__all__ = ["Means", "Trace"]


_COLUMNS = ("sweep", "log_likelihood", "width")


@dataclass
class Trace:
    """The log likelihood and the number of active factors of the top layer, now and then."""

    every: int
    sweep: int = 0
    rows: list[tuple[float, float, float]] = field(default_factory=list)

    @classmethod
    def after(cls, every: int, old: Mapping[str, ArrayLike], sweep: int) -> Trace:
        """A trace that goes on where ``old`` ended, ``sweep`` sweeps after its beginning."""
        columns = [np.asarray(old[name], np.float64).tolist() for name in _COLUMNS if name in old]
        rows = list(zip(*columns, strict=False)) if len(columns) == len(_COLUMNS) else []
        return cls(every, max(sweep, int(rows[-1][0]) if rows else 0), rows)

    def note(self, chain: Chain, top: int) -> None:
        self.sweep += 1
        if self.every and self.sweep % self.every == 0:
            width = int((chain.counts[layers.theta(top)].sum(axis=0) > 0).sum())
            self.rows.append((self.sweep, chain.log_likelihood(), width))

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        table = np.array(self.rows).reshape(-1, 3)
        return {name: table[:, i] for i, name in enumerate(_COLUMNS)}


@dataclass
class Means:
    """The sums of E φ^(t) and of r over the last sweeps, and the draws that are kept."""

    phi: list[NDArray[np.float64]] = field(default_factory=list)
    r: Any = 0.0
    draws: list[dict[str, NDArray[np.float64]]] = field(default_factory=list)

    def add(self, chain: Chain, etas: Sequence[float]) -> None:
        counts = chain.counts
        means = [_mean_of(counts[layers.phi(t)], eta) for t, eta in enumerate(etas, 1)]
        self.phi = [a + b for a, b in zip(self.phi, means, strict=True)] if self.phi else means
        self.r = self.r + chain.select([layers.TOP_SHAPE])[layers.TOP_SHAPE]

    def keep(self, chain: Chain, names: Sequence[str]) -> None:
        """Copies of the values that some nodes have now."""
        self.draws.append({n: np.array(value) for n, value in chain.select(names).items()})


def _mean_of(counts: NDArray[np.int64], eta: float) -> NDArray[np.float64]:
    """E φ_k = (η + x_vk) / Σ_v (η + x_vk), a topic a row."""
    shape = counts + eta
    return np.asarray(shape / shape.sum(axis=1, keepdims=True))
