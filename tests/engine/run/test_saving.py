"""When a checkpoint is written."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

import pgbn
from pgbn.engine.run.stopping import Rhythm, Timing


def test_every_so_many_sweeps() -> None:
    rhythm, written = Rhythm(Timing(minutes=None, sweeps=3, share=1e9)), []
    for sweep in range(1, 11):
        rhythm.tick(lambda sweep=sweep: written.append(sweep))  # type: ignore[misc]
    assert written == [3, 6, 9]


def test_every_so_many_minutes_and_at_most_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, written = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    rhythm = Rhythm(Timing(minutes=1.0, share=0.1))

    def save() -> None:
        written.append(clock[0])
        clock[0] += 30.0

    for _ in range(100):
        clock[0] += 10.0
        rhythm.tick(save)
    assert written[0] == 60.0
    assert min(b - a for a, b in pairwise(written)) >= 300.0


def test_a_night_in_the_middle_of_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGSTOP, then SIGCONT: it counted as the cost of writing, and no checkpoint came for days."""
    clock, written = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    rhythm = Rhythm(Timing(minutes=5.0))

    def save() -> None:
        written.append(clock[0])
        clock[0] += 30_000.0 if len(written) == 3 else 1.0

    for _ in range(200):
        clock[0] += 10.0
        rhythm.tick(save)
    assert max(b - a for a, b in pairwise(written)) < 30_400.0
    assert len(written) == 6


def test_a_failure_is_told_and_the_next_time_comes() -> None:
    rhythm, tries = Rhythm(Timing(sweeps=1, share=1e9)), []

    def save() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise pgbn.StorageError("full")

    with pytest.warns(pgbn.PgbnWarning, match="the run goes on: full"):
        rhythm.tick(save)
    assert rhythm.failed
    rhythm.tick(save)
    assert not rhythm.failed
    with pytest.raises(ZeroDivisionError):
        rhythm.now(lambda: 1 // 0)  # type: ignore[arg-type,return-value]
