"""When a run that is saved now and then writes its next checkpoint: for trainings and sampling."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from pgbn.checks import check_integer, is_finite_number
from pgbn.errors import DataError, StorageError, notify

__all__ = ["Rhythm", "Timing"]


@dataclass(frozen=True)
class Timing:
    """When checkpoints are written: every ``minutes``, or every ``sweeps``.

    Writing takes at most ``share`` > 0 of the time: where a checkpoint took long, the next one
    waits; a share of more than 1 sets no limit.
    """

    minutes: float | None = 5.0
    sweeps: int | None = None
    share: float = 0.05

    def __post_init__(self) -> None:
        minutes = self.minutes
        number = is_finite_number(minutes) or (isinstance(minutes, float) and minutes > 0)
        if minutes is not None and not (number and float(minutes) >= 0.0):
            raise DataError(
                f"minutes={minutes!r:.60}: give a number of at least 0, or None for no checkpoints "
                "by time"
            )
        if self.sweeps is not None:
            check_integer("sweeps", self.sweeps, 1)
        if not is_finite_number(self.share) or not self.share > 0:
            raise DataError(
                f"share={self.share!r}: give the part of the time that writing may take, above 0"
            )


class Rhythm:
    """Writes when it is time to. A disk that is full ends no long run: the next one may succeed."""

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self.written, self.cost, self.count = time.monotonic(), 0.0, 0
        self._took = math.inf  # the last one
        self.failed = False  # the last time

    def tick(self, save: Callable[[], None]) -> None:
        """After a sweep: ``save`` if it is due."""
        self.count += 1
        if not self._due():
            return
        try:
            self.now(save)
        except StorageError as error:
            self.written, self.failed = time.monotonic(), True
            notify(f"no checkpoint was written, the run goes on: {error}")

    def now(self, save: Callable[[], None]) -> None:
        """``save``, whether it is due or not, and note what it cost: the less of the last two. One
        in which the process was stopped for the night (docker pause, a suspended job) would put
        off the next for days."""
        start = time.monotonic()
        save()
        self.count, self.written, self.failed = 0, time.monotonic(), False
        took = self.written - start
        self.cost, self._took = min(took, self._took), took

    def _due(self) -> bool:
        waited = time.monotonic() - self.written
        if waited * self.timing.share < self.cost:
            return False
        minutes, sweeps = self.timing.minutes, self.timing.sweeps
        late = minutes is not None and waited >= 60 * minutes
        return late or (sweeps is not None and self.count >= sweeps)
