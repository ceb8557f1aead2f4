"""Work that survives a stop: its folder, and when a commit is written."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn.storage.archive import read_arrays, read_manifest
from pgbn.storage.runner import Rhythm, Runner, Timing


def test_every_so_many_sweeps() -> None:
    rhythm, written = Rhythm(Timing(minutes=None, every=3, share=1e9)), []
    for sweep in range(1, 11):
        rhythm.tick(lambda sweep=sweep: written.append(sweep))  # type: ignore[misc]
    assert written == [3, 6, 9]


@pytest.mark.parametrize(("timing", "took", "ticks", "times"), [
    (Timing(minutes=1.0, share=0.1), {1: 30.0}, 100, 4),
    # SIGSTOP, then SIGCONT: it counted as the cost of writing, and no checkpoint came for days.
    (Timing(minutes=5.0), {1: 1.0, 3: 30_000.0, 4: 1.0}, 200, 6),
])  # fmt: skip
def test_every_so_many_minutes_and_at_most_a_share(
    monkeypatch: pytest.MonkeyPatch, timing: Timing, took: dict[int, float], ticks: int, times: int
) -> None:
    clock, written = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    rhythm = Rhythm(timing)

    def save() -> None:
        written.append(clock[0])
        clock[0] += next(took[n] for n in range(len(written), 0, -1) if n in took)

    for _ in range(ticks):
        clock[0] += 10.0
        rhythm.tick(save)
    waited = [b - a for a, b in pairwise(written)]
    assert len(written) == times
    assert written[0] == 60.0 * float(timing.minutes or 0)
    assert min(waited) >= took[1] / timing.share
    assert max(waited) < max(took.values()) + 400.0


def test_a_failure_is_told_and_the_next_time_comes() -> None:
    rhythm, tries = Rhythm(Timing(every=1, share=1e9)), []

    def save() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise pgbn.StorageError("full")

    with pytest.warns(pgbn.PgbnWarning, match="the run continues: full"):
        rhythm.tick(save)
    assert rhythm.failed
    rhythm.tick(save)
    assert not rhythm.failed
    with pytest.raises(ZeroDivisionError):
        rhythm.now(lambda: 1 // 0)  # type: ignore[arg-type,return-value]


def committed(folder: Path) -> Runner:
    with Runner(folder, "work", {"a": 1, "b": [2]}) as runner:
        runner.commit({"at": 1}, {"state": {"x": np.ones(2)}, "data": {"y": np.zeros(3)}})
    return runner


def test_a_commit_is_continued(tmp_path: Path) -> None:
    """Groups that are not written again keep their files."""
    committed(tmp_path)
    with Runner(tmp_path, "work") as runner:
        assert runner.committed
        assert runner.resume() == {"at": 1}
        assert runner.settings == {"a": 1, "b": [2]}
        before = runner.groups["data"]
        runner.commit({"at": 2}, {"state": {"x": np.full(2, 5)}})
    body = read_manifest(tmp_path)
    assert body["content"] == {"settings": {"a": 1, "b": [2]}, "object": {"at": 2}}
    assert body["groups"]["data"] == before
    assert (read_arrays(tmp_path, body, "state")["x"] == 5).all()


@pytest.mark.parametrize(
    ("settings", "other"),
    [({"a": 1, "b": (2,)}, None), ({"a": 3, "b": [2]}, "a"), ({"a": 1}, ""), ({"c": None}, "")],
)
def test_other_work_is_told_by_its_settings(
    tmp_path: Path, settings: dict[str, object], other: str | None
) -> None:
    committed(tmp_path)
    with Runner(tmp_path, "work", settings) as runner:
        assert runner.other_setting() == other


def test_a_lost_file_is_made_again_or_named(tmp_path: Path) -> None:
    committed(tmp_path)
    with Runner(tmp_path, "work") as runner:
        runner.resume()
        lost = tmp_path / runner.groups["data"]
        lost.unlink()
        with pytest.raises(pgbn.StorageError, match=f"{lost.name} of this run is missing"):
            runner.commit({"at": 2}, {})
        runner.commit({"at": 2}, {}, {"data": lambda: {"y": np.zeros(3)}})
    assert lost.exists()


def test_a_second_runner_is_rejected_by_the_same_thread_too(tmp_path: Path) -> None:
    with (
        Runner(tmp_path, "work", {}),
        pytest.raises(pgbn.StorageError, match="another process is writing"),
        Runner(tmp_path, "work", {}),
    ):
        pytest.fail("two runners")
    committed(tmp_path)
