"""What ``verbose`` of scikit-learn prints while an estimator is trained."""

from __future__ import annotations

from typing import Any

from pgbn.errors import DataError, printable
from pgbn.network.layers import layers_above
from pgbn.training.growing import Progress

__all__ = ["Reporter"]


class Reporter:
    """One line for every layer and phase, or, from verbose=2 on, for every 50 sweeps."""

    def __init__(self, verbose: Any) -> None:
        try:
            self.verbose = int(verbose or 0)
        except (ValueError, TypeError, OverflowError):
            raise DataError(f"verbose={verbose!r} must be 0, 1 or 2") from None

    def __call__(self, progress: Progress) -> None:
        if self.verbose < 1:
            return
        if progress.sweep == progress.sweeps or (self.verbose > 1 and progress.sweep % 50 == 0):
            network = progress.chain.network
            top = layers_above(network, network.observed[0])[-1]
            where = f"{progress.phase} {progress.sweep}/{progress.sweeps}"
            line = f"[pgbn] layer {progress.depth}, {where}, width {network.sizes[top.dim]}"
            print(printable(line, one_line=True))
