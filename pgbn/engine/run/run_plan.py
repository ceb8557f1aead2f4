"""How long a run of chains is and what it keeps, and a chain of it that runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, check_seed
from pgbn.engine.data.coords import Coords
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.keep import Keep
from pgbn.engine.run.side_by_side import label_free
from pgbn.network.network import Network
from pgbn.storage.memory import check_bytes

__all__ = ["RunPlan", "RunningChain", "about_draws"]

_CHAIN_BYTES = 10_000  # that is noted of a chain, at least


@dataclass(frozen=True)
class RunPlan:
    """How many sweeps, draws and chains, and what is kept of them: names, and those of them that
    are ``expressions``, as JSON."""

    burn_in: int
    draws: int
    thin: int
    chains: int
    seed: int
    keep: tuple[str, ...]
    parallel: int = 1
    expressions: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("burn_in", "draws", "thin", "chains", "parallel"):
            least = 0 if name == "burn_in" else 1
            object.__setattr__(self, name, check_integer(name, getattr(self, name), least))
        check_bytes(f"chains={self.chains}", _CHAIN_BYTES * self.chains, "give fewer chains")
        object.__setattr__(self, "seed", check_seed(self.seed))
        object.__setattr__(self, "keep", tuple(self.keep))
        object.__setattr__(self, "parallel", min(self.parallel, self.chains))

    @property
    def sweeps(self) -> int:
        """Those of one chain."""
        return self.burn_in + self.draws * self.thin

    def kept_after(self, sweeps: int) -> int:
        """The draws that a chain has after so many sweeps."""
        return max(0, sweeps - self.burn_in) // self.thin

    def kept(self, network: Network) -> Keep:
        """What is kept of a chain of ``network``."""
        return Keep.from_json(network, self.keep, self.expressions)


class RunningChain:
    """A chain, the draws that wait to be taken, and its label-free trace."""

    def __init__(
        self, chain: Chain, plan: RunPlan, trace: dict[str, list[float]] | None = None
    ) -> None:
        self.chain, self.plan = chain, plan
        self.keep = plan.kept(chain.network)
        self.trace: dict[str, list[float]] = trace or {}
        self.waiting: dict[str, list[NDArray[np.float64]]] = {}
        self.bytes = 0
        self._read: Callable[[], dict[str, NDArray[np.float64]]] = self.keep.reader(chain)

    def keep_draw(self) -> None:
        """Keep the state after this sweep, if it is one of those that are kept."""
        after = self.chain.sweeps - self.plan.burn_in
        if after <= 0 or after % self.plan.thin:
            return
        for name, row in self._read().items():
            self.waiting.setdefault(name, []).append(row)
            self.bytes += row.nbytes
            number = label_free(row, self.keep.is_simplex(name))
            self.trace.setdefault(name, []).append(number)

    def taken(self) -> None:
        """The draws that waited are kept elsewhere."""
        self.waiting, self.bytes = {}, 0


def about_draws(chain: Chain, plan: RunPlan, coords: Coords) -> dict[str, Any]:
    """What `Draws` has beside its values."""
    keep = plan.kept(chain.network)
    given = {"given": list(chain.network.held)} if chain.network.held else {}
    attributes = {"seed": plan.seed, "burn_in": plan.burn_in, "thin": plan.thin,
                  "layer1": chain.layer1, **given}  # fmt: skip
    dims = {name: ["chain", "draw", *keep.axes(name)] for name in plan.keep}
    return {"dims": dims, "attributes": attributes, "coords": dict(coords)}
