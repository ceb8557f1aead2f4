"""Which files a call visits: ``python -m benchmarks.ways`` counts them for four ways through pgbn.

For each way: the files in which a function ran, by room, and the calls from room to room. Going up
there are only ``verbs.py``, called by users and never from inside, and functions handed down.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import pgbn

PACKAGE = Path(pgbn.__file__).parent
X = np.random.default_rng(0).poisson(0.3, (60, 40))


class Visits:
    """The files of pgbn in which Python code runs, and the calls from room to room."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.calls: Counter[tuple[str, str]] = Counter()
        self.verbs: Counter[tuple[str, str]] = Counter()  # calls of verbs from inside pgbn

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        file = _file_of(frame)
        if not file:
            return
        self.files.add(file)
        caller = frame.f_back
        while caller is not None and not _file_of(caller):
            caller = caller.f_back
        if caller is None:
            return
        if file.endswith("/verbs.py") and _file_of(caller) != file:
            self.verbs[_file_of(caller), file] += 1
        if _room(_file_of(caller)) != _room(file):
            self.calls[_room(_file_of(caller)), _room(file)] += 1


def _file_of(frame: FrameType) -> str:
    path = frame.f_code.co_filename
    return path[len(str(PACKAGE)) + 1 :] if path.startswith(str(PACKAGE)) else ""


def _room(file: str) -> str:
    return file.partition("/")[0] if "/" in file else "top"


def visits(way: Callable[[], Any]) -> Visits:
    """What a call visits once everything is imported and compiled."""
    way()
    seen = Visits()
    sys.setprofile(seen)
    try:
        way()
    finally:
        sys.setprofile(None)
    return seen


def main() -> None:
    """Print what the four ways visit."""
    with tempfile.TemporaryDirectory() as folder:
        for name, way in four_ways(folder).items():
            seen = visits(way)
            rooms = Counter(_room(file) for file in seen.files)
            print(f"{name}: {len(seen.files)} files in {len(rooms)} rooms")
            print("   ", ", ".join(f"{room} {n}" for room, n in rooms.most_common()))
            print("   ", ", ".join(f"{a}→{b}" for a, b in sorted(seen.calls)))


def four_ways(folder: str) -> dict[str, Callable[[], Any]]:
    """Small runs of the four; files go to ``folder``."""
    from pgbn.cli import run_command

    network = pgbn.zoo.pgbn([5, 4])
    quick = {"burn_in": 2, "collect": 2, "random_state": 0, "min_width": 1}
    fitted = pgbn.PGBN(5, 2, transform_burn_in=2, transform_samples=2, **quick).fit(X)
    np.savetxt(texts := Path(folder) / "texts.txt", X, fmt="%d")
    words = ["fit", str(texts), "-o", f"{folder}/model", "--overwrite", "--burn-in", "2",
             "--collect", "2", "--depth", "1", "--min-df", "1", "--max-df", "1.0",
             "--max-width", "5", "--token-pattern", "[0-9]"]  # fmt: skip
    return {
        "net.sample": lambda: network.sample({"x": X}, 2, 2, progress=False),
        "PGBN().fit": lambda: pgbn.PGBN(5, 2, **quick).fit(X),
        "transform": lambda: fitted.transform(X),
        "pgbn fit": lambda: run_command(words),
    }


if __name__ == "__main__":
    main()
