"""The live lines of chains that run side by side, one each, and how well they agree.

R̂ (`pgbn.diagnostics`) compares what does not depend on how topics are numbered: of every node that
is kept, the mean over its entries, or of shares that sum to one, the mean of their squares.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.diagnostics import split_rhat
from pgbn.engine.run.meters import Meter, live_text
from pgbn.engine.run.progress import Event

__all__ = ["ManyLines", "label_free", "worst_rhat"]

Traces = Mapping[str, Sequence[float]]


def label_free(value: NDArray[Any], simplex: bool) -> float:
    """A number that is the same however the entries of a node are ordered."""
    return float(np.mean(np.square(value) if simplex else value)) if value.size else 0.0


def worst_rhat(traces: Sequence[Traces]) -> tuple[float, str] | None:
    """The largest R̂ and its node, over the draws that all chains have; None as long as they are
    too few."""
    found = []
    for name in traces[0] if traces else ():
        length = min(len(each.get(name, ())) for each in traces)
        rhat = split_rhat([list(each[name])[:length] for each in traces]) if length else np.nan
        if np.isfinite(rhat):
            found.append((float(rhat), name))
    return max(found) if found else None


class ManyLines:
    """Shows the latest sweep of every chain, through the meter of one line."""

    def __init__(self, meter: Meter, chains: int) -> None:
        self.meter = meter
        self.lines: dict[int, str] = {}
        self.traces: dict[int, Traces] = {}
        self.shown: dict[int, float] = {}
        self.chains = chains

    def hear(self, event: Event, trace: Traces) -> None:
        number, now = event.chain.number, time.monotonic()
        self.traces[number] = trace
        last = event.phase == "collect" and event.sweep == event.sweeps
        waited = now - self.shown.get(number, -math.inf)
        if self.meter.lost or (waited < self.meter.every and not last):
            return
        self.shown[number] = now
        self.lines[number] = f"chain {number}: {live_text(event, event.sweep_seconds, None)}"
        first, *others = self.text()
        self.meter.put(first, event.done / event.total, *others)

    def text(self) -> list[str]:
        """A line for each chain that has begun, and R̂ of all."""
        lines = [self.lines[number] for number in sorted(self.lines)]
        if len(self.traces) == self.chains and (worst := worst_rhat(list(self.traces.values()))):
            lines.append(f"R-hat at most {worst[0]:.3f} ({worst[1]})")
        return lines
