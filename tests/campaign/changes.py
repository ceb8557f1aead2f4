"""Files that once hurt a reader, with some bytes changed; each is read by a child process, since a
reader may end its process."""

from __future__ import annotations

import random
from pathlib import Path

from tests.campaign.corpora import change
from tests.campaign.harness import forked
from tests.fuzz.targets import FOUND, TARGETS

__all__ = ["Changes"]


class Changes:
    """Found files, changed."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.found = [
            (name, path.read_bytes())
            for name in TARGETS
            for path in sorted((FOUND / name).iterdir())
        ]

    def run(self, number: int) -> None:
        choice = random.Random(f"change {number}")
        name, data = choice.choice(self.found)
        for _ in range(choice.randint(0, 3)):
            data = change(choice, data)
        forked(lambda: TARGETS[name](data, self.place))
