"""What ``verbose`` of scikit-learn prints while an estimator is trained."""

from __future__ import annotations

from typing import Any

from pgbn.engine.run.meters import Silent, choose_meter
from pgbn.errors import DataError, tell
from pgbn.network.layers import layers_above
from pgbn.training.growing import Progress

__all__ = ["Reporter"]


class Reporter:
    """With verbose=1 the live line of the command line, in a terminal or a notebook; elsewhere, as
    in a log, a line for every layer and phase, and from verbose=2 on one for every 50 sweeps."""

    def __init__(self, verbose: Any) -> None:
        try:
            self.verbose = int(verbose or 0)
        except (ValueError, TypeError, OverflowError):
            raise DataError(f"verbose={verbose!r} must be 0, 1 or 2") from None
        self.live = self.verbose == 1 and not isinstance(choose_meter(), Silent)

    def __call__(self, progress: Progress) -> None:
        if self.verbose < 1 or self.live:
            return
        if progress.sweep == progress.sweeps or (self.verbose > 1 and progress.sweep % 50 == 0):
            network = progress.chain.network
            top = layers_above(network, network.observed[0])[-1]
            where = f"{progress.phase} {progress.sweep}/{progress.sweeps}"
            line = f"[pgbn] layer {progress.depth}, {where}, width {network.sizes[top.dim]}"
            tell(line)
