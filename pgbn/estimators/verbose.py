"""What ``verbose`` of scikit-learn prints while an estimator is trained."""

from __future__ import annotations

from typing import Any

from pgbn.errors import DataError
from pgbn.training.growing import Progress
from pgbn.zoo.layers import topic

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
            print(f"[pgbn] layer {progress.depth}, {progress.phase} "
                  f"{progress.sweep}/{progress.sweeps}, "
                  f"width {progress.chain.network.sizes[topic(progress.depth)]}")  # fmt: skip
