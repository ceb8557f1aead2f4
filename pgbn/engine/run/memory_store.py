"""The draws of a run in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.data.coords import Coords
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.progress import Clock
from pgbn.engine.run.run_plan import RunningChain, RunPlan, about_draws
from pgbn.engine.run.stopping import Stop
from pgbn.errors import notify

__all__ = ["MemoryStore"]


class MemoryStore:
    """``make(number)`` begins a chain; its draws are rows of one array for each name."""

    def __init__(self, plan: RunPlan, make: Callable[[int], Chain], coords: Coords) -> None:
        self.plan, self.make, self.coords = plan, make, coords
        self.first: Chain | None = None
        self.running: RunningChain | None = None  # the chain that was opened last
        self.done = [0] * plan.chains  # sweeps
        self.values: dict[str, NDArray[np.float64]] = {}

    def open(self, number: int) -> RunningChain:
        """A chain at its beginning."""
        at = self.running = RunningChain(self.make(number), self.plan)
        if self.first is None:
            self.first, sizes = at.chain, at.chain.program.sizes
            shape = (self.plan.chains, self.plan.draws)
            self.values = {name: np.empty((*shape, *at.keep.shape(name, sizes)))
                           for name in self.plan.keep}  # fmt: skip
        return at

    def sweeps(self, number: int) -> int:
        """How far a chain is."""
        return self.done[number]

    def after_sweep(self, at: RunningChain) -> None:
        """Take the draw of this sweep, if there is one."""
        number = at.chain.number
        self.done[number] = at.chain.sweeps
        last = self.plan.kept_after(at.chain.sweeps) - 1
        for name, rows in at.waiting.items():
            self.values[name][number, last] = rows[-1]
        at.taken()

    commit = after_sweep

    def finish(self) -> Draws:
        """All draws of all chains."""
        return self._draws(self.values)

    def interrupted(self, stop: Stop, clock: Clock, whole: bool = True) -> Draws:
        """What was kept before a stop, if there is any. ``whole``: the sweep came to its end."""
        kept = [self.plan.kept_after(sweeps) for sweeps in self.done]
        where = f"stopped after sweep {clock.done} of {clock.total}"
        if self.plan.parallel > 1:
            return self._of_all(stop, where, kept)
        chain = self.running.chain if self.running is not None and whole else None
        if not sum(kept):
            raise stop.interrupted(
                f"{where}; this exception has the chain: pgbn.save(error.chain, path) keeps it, "
                "and error.chain.sweep(n) goes on", chain,
            )  # fmt: skip
        notify(f"{where}: {sum(kept)} of {self.plan.draws * self.plan.chains} draws were kept")
        return self._of_whole(kept, chain)

    def _of_all(self, stop: Stop, where: str, kept: list[int]) -> Draws:
        """Of chains side by side, the draws that all of them have."""
        if not min(kept):
            raise stop.interrupted(f"{where}, before every chain had a draw")
        notify(f"{where}; the draws that all chains have are kept")
        found = {name: value[:, : min(kept)] for name, value in self.values.items()}
        return self._draws(found, interrupted=True)

    def _of_whole(self, kept: list[int], chain: Chain | None) -> Draws:
        """Of chains one after another, those that are whole, and the rest; if none is, the rest."""
        whole = kept.count(self.plan.draws)
        rest = {}
        if sum(kept[whole:]):
            rest = {name: value[whole : whole + 1, : kept[whole]]
                    for name, value in self.values.items()}  # fmt: skip
        if not whole:
            return self._draws(rest, interrupted=True, chain=chain)
        found = {name: value[:whole] for name, value in self.values.items()}
        return self._draws(found, interrupted=True, unfinished=rest, chain=chain)

    def _draws(self, values: dict[str, NDArray[np.float64]], **more: Any) -> Draws:
        chain = self.first
        assert chain is not None
        known = about_draws(chain, self.plan, self.coords)
        dims = {name: tuple(dims) for name, dims in known["dims"].items()}
        return Draws(values, dims, known["attributes"], network=chain.network,
                     data=dict(chain.program.cells), coords=self.coords,
                     given=dict(chain.given.stacks), **more)  # fmt: skip
