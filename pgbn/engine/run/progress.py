"""Progress: what callbacks get after every sweep, and the live line.

    def log(event: pgbn.Event) -> None:
        print(event.sweep, event.widths, event.log_likelihood)

    network.sample(data, callback=log)

An `Event` computes its costly parts when they are asked for. The line (see `meters`) is shown in
a terminal or a notebook; elsewhere there is none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from pgbn.checks import check_flag
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.compiling import compiling
from pgbn.engine.run.meters import Silent, choose_meter
from pgbn.errors import DataError
from pgbn.network.layers import layers_above

__all__ = ["Callback", "Clock", "Event", "check_callback", "live"]


@dataclass(frozen=True)
class Event:
    """The end of a sweep: number ``sweep`` of ``sweeps`` in this ``phase``, ``done`` of ``total``
    in all, ``sweep_seconds`` long, ``seconds`` after the start. ``depth`` counts the layers."""

    chain: Chain
    depth: int
    phase: str
    sweep: int
    sweeps: int
    done: int
    total: int
    seconds: float
    sweep_seconds: float

    @cached_property
    def tokens(self) -> int:
        """The total count of the data; of reals, the number of cells that are not zero."""
        cells = self.chain.program.cells.values()
        return sum(c.sum() if c.is_whole else c.size for c in cells)

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / max(self.sweep_seconds, 1e-9)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The factors with counts in each layer of positive scores, from the data up (those above
        the first data node); empty if the network has none. Scores that sum to one, as in a plain
        topic model, share a budget that is given."""
        program, network, widths = self.chain.program, self.chain.network, []
        for layer in layers_above(network, network.observed[0]):
            heard = [counts for pair, counts in program.counts.items() if pair[1] == layer.scores]
            if not heard or network[layer.scores].simplex is not None:
                break
            axis = program.storage[layer.scores].index(layer.dim) + 1
            others = tuple(i for i in range(heard[0].ndim) if i != axis)
            widths.append(int((sum(counts.sum(axis=others) for counts in heard) > 0).sum()))
        return tuple(widths)

    @property
    def stage(self) -> str:
        """What the live line calls the part of the run that this sweep belongs to."""
        return self.phase.replace("_", "-")

    @property
    def noted_likelihood(self) -> float | None:
        """A recent `log_likelihood` that was computed anyway, if there is one."""
        return None

    @cached_property
    def log_likelihood(self) -> float:
        """The log density of the data given the latent values, for each token."""
        return self.chain.log_likelihood() / max(self.tokens, 1)


class Callback(Protocol):
    """Anything that takes an event; what it raises stops the chain after this sweep."""

    def __call__(self, event: Any, /) -> None: ...


def check_callback(callback: Any) -> None:
    """What is called after every sweep must be a function."""
    if callback is not None and not callable(callback):
        raise DataError(f"callback={callback!r}: give a function of one argument, a pgbn.Event")


class Clock:
    """Counts sweeps and seconds of a run."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.start = self.last = time.monotonic()

    def tick(self) -> dict[str, Any]:
        """One sweep more: the fields of an `Event` that count and time."""
        now = time.monotonic()
        took, self.last = now - self.last, now
        self.done += 1
        return {"done": self.done, "total": self.total, "seconds": now - self.start,
                "sweep_seconds": took}  # fmt: skip


# ---- the live line --------------------------------------------------------------------


@contextmanager
def live(show: bool = True, kernels: int = 0) -> Iterator[Callback]:
    """A callback that shows where a run stands, or does nothing where nobody would see it; a first
    run compiles about so many ``kernels``."""
    meter = choose_meter() if check_flag("progress", show) else Silent()
    meter.put("preparing", 0.0)
    try:
        with compiling(lambda text: meter.put(text, 0.0), kernels):
            yield meter
    finally:
        meter.end()
