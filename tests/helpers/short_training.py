"""A training of a few sweeps, to be refused or to be cut off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn

X = np.random.default_rng(0).poisson(1.0, (60, 30))


QUICK: dict[str, Any] = {"burn_in": 6, "sweeps": 5, "progress": False, "threads": 1,
                         "trace_every": 2, "min_width": 1}  # fmt: skip


def no_work(event: Any) -> None:
    pytest.fail("refused only after a sweep")


NAMES, OTHERS = (tuple(f"{letter}{v}" for v in range(30)) for letter in "wz")


def cut_at(done: int) -> Any:
    def cut(event: pgbn.Event) -> None:
        if event.done == done:
            raise RuntimeError("power cut")

    return cut
