"""Long work in a folder that survives a stop: one lock, one format, one way to continue.

    with Runner(folder, "run", settings, Timing(minutes=5)) as runner:
        at = runner.resume() if runner.committed else ...
        while ...:
            ...                                               # a piece of the work
            runner.rhythms[0].tick(lambda: runner.commit(place, arrays))
        save(result, folder)

A commit is a manifest (`pgbn.storage.archive`) whose content has two entries, ``settings``, its
arguments, and ``object``, its position. Its arrays are groups of files. A process that is killed at
any moment leaves the last commit.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgbn.checks import check_integer, check_place, is_finite_number
from pgbn.errors import DataError, StorageError, notify
from pgbn.storage.archive import Group, is_archive, read_manifest
from pgbn.storage.arrays import InParts
from pgbn.storage.atomic_files import busy
from pgbn.storage.writing import as_json, still_there, write, writing


@dataclass(frozen=True)
class Timing:
    """When checkpoints are written: every ``minutes``, or once in ``every`` sweeps.

    Writing takes at most ``share`` > 0 of the time: the next checkpoint waits if the last one took
    long. A share of more than 1 sets no limit.
    """

    minutes: float | None = 5.0
    every: int | None = None
    share: float = 0.05

    def __post_init__(self) -> None:
        minutes = self.minutes
        number = is_finite_number(minutes) or (isinstance(minutes, float) and minutes > 0)
        if minutes is not None and not (number and float(minutes) >= 0.0):
            raise DataError(
                f"minutes={minutes!r:.60}: give a number of at least 0, or None for no checkpoints "
                "by time"
            )
        if self.every is not None:
            check_integer("every", self.every, 1)
        if not is_finite_number(self.share) or not self.share > 0:
            raise DataError(
                f"share={self.share!r}: give the part of the time that writing may take, above 0"
            )


class Rhythm:
    """Writes checkpoints when they are due. A full disk does not end a long run: the next one may
    succeed."""

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self.written, self.cost, self.count = time.monotonic(), 0.0, 0
        self._took = math.inf  # the last one
        self.failed = False  # the last time

    def tick(self, save: Callable[[], None], stopping: bool = False) -> None:
        """Call ``save`` after a piece of work, if it is due. The last one, when the work is
        ``stopping``, must not fail."""
        self.count += 1
        if stopping:
            self.now(save)
        if stopping or not self._due():
            return
        try:
            self.now(save)
        except StorageError as error:
            self.written, self.failed = time.monotonic(), True
            notify(f"no checkpoint was written, the run continues: {error}")

    def now(self, save: Callable[[], None]) -> None:
        """Call ``save`` and record its cost: the smaller one of the last two. A process may be
        suspended while it writes (docker pause); that time alone would delay the next checkpoint
        for days."""
        start = time.monotonic()
        save()
        self.count, self.written, self.failed = 0, time.monotonic(), False
        took = self.written - start
        self.cost, self._took = min(took, self._took), took

    def _due(self) -> bool:
        waited = time.monotonic() - self.written
        if waited * self.timing.share < self.cost:
            return False
        minutes, every = self.timing.minutes, self.timing.every
        late = minutes is not None and waited >= 60 * minutes
        return late or (every is not None and self.count >= every)


class Runner:
    """The folder of some work; it is locked against other writers between enter and exit.

    Invariant: the folder holds the last commit, or its earlier content before the first one.
    """

    def __init__(
        self,
        path: str | Path,
        kind: str,
        settings: Mapping[str, Any] | None = None,
        timing: Timing = Timing(),
    ) -> None:
        """``settings`` default to those of the work in the folder."""
        self.path, self.kind = check_place("path", path), kind
        self.settings = None if settings is None else json.loads(as_json(settings))
        self.rhythms: dict[int, Rhythm] = defaultdict(lambda: Rhythm(timing))  # one for each chain
        self.groups: dict[str, str] = {}
        self.body: Mapping[str, Any] | None = None  # of the first content of the folder

    def __enter__(self) -> Runner:
        with ExitStack() as opened:
            opened.enter_context(writing(self.path, self.kind))
            opened.enter_context(_once(self.path))
            if is_archive(self.path):
                self.body = read_manifest(self.path)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._opened.close()

    @property
    def committed(self) -> bool:
        """Whether the folder had unfinished work of this kind."""
        return self.body is not None and self.body["kind"] == self.kind

    def other_setting(self) -> str | None:
        """The name of a setting that differs in the folder's work; "" if the work has no settings,
        or more than these. None means that it is the same work."""
        assert self.body is not None
        assert self.settings is not None
        content = self.body["content"]
        record = content.get("record")  # a result has the settings of its work here
        found = content.get("settings") or (isinstance(record, dict) and record.get(self.kind))
        found = found if isinstance(found, dict) else {}
        if found == self.settings:
            return None
        others = (key for key in self.settings if found.get(key) != self.settings[key])
        return next(others, "") if found else ""

    def resume(self) -> dict[str, Any]:
        """The position of the last commit. The next commits keep its arrays."""
        assert self.body is not None
        content = self.body["content"]
        if self.settings is None:
            self.settings = content["settings"]
        self.groups = dict(self.body["groups"])
        return dict(content["object"])

    def commit(
        self,
        place: Mapping[str, Any],
        arrays: Mapping[str, Group | InParts],
        lasting: Mapping[str, Callable[[], Group | InParts]] | None = None,
    ) -> None:
        """Replace the last commit. Groups that are not in ``arrays`` keep their files. ``lasting``
        makes the groups that never change, if their files are missing or were removed."""
        kept = {group: file for group, file in self.groups.items() if group not in arrays}
        there = still_there(self.path, kept)
        new = {g: make() for g, make in (lasting or {}).items() if g not in (*there, *arrays)}
        for group in kept.keys() - there.keys() - new.keys():
            raise StorageError(f"{self.path}: the file {kept[group]} of this run is missing")
        content = {"settings": self.settings, "object": place}
        self.groups = write(self.path, self.kind, content, {**arrays, **new}, there)


_running: set[tuple[int, str]] = set()  # processes and folders


@contextmanager
def _once(folder: Path) -> Iterator[None]:
    """The lock of a folder admits the same thread again, to save; a second runner is rejected."""
    mine = os.getpid(), os.path.realpath(folder)
    if mine in _running:
        raise StorageError(busy(folder))
    _running.add(mine)
    try:
        yield
    finally:
        _running.remove(mine)
