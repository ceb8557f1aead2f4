"""An executor that is no part of pgbn: one row after the other, from the last to the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pgbn.extend import Executor
from pgbn.samplers.executor import Work


class Backwards(Executor):
    """Runs everything in this thread, in blocks of one row and in the wrong order."""

    workers = 3

    def __init__(self) -> None:
        self.used = {"rows": 0, "calls": 0, "pipeline": 0}

    def rows(self, kernel: Callable[..., Any], rows: int, key: int, *args: Any) -> None:
        self.used["rows"] += 1
        for row in reversed(range(rows)):
            kernel(np.uint64(key), row, row + 1, *args)

    def calls(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        self.used["calls"] += 1
        return [call() for call in reversed(calls)][::-1]

    def pipeline(self, before: Work, middle: Work, after: Work, number: int) -> None:
        self.used["pipeline"] += 1
        for i in reversed(range(number)):
            before(i)
        for i in range(number):
            middle(i)
        for i in reversed(range(number)):
            after(i)
