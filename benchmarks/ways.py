"""Which files a call visits: ``python -m benchmarks.ways`` counts them for five ways through pgbn.

For each way: the files in which a function ran, by folder, the classes that are defined in these
files, and the calls from folder to folder. ``python -m benchmarks.ways files`` lists the files.
"""

from __future__ import annotations

import ast
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
    """The files of pgbn in which Python code runs, and the calls from folder to folder."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.calls: Counter[tuple[str, str]] = Counter()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        file = _file_of(frame)
        if event != "call" or not file:
            return
        self.files.add(file)
        caller = frame.f_back
        while caller is not None and not _file_of(caller):
            caller = caller.f_back
        if caller is not None and _folder(_file_of(caller)) != _folder(file):
            self.calls[_folder(_file_of(caller)), _folder(file)] += 1

    def classes(self) -> int:
        """How many classes are defined in the files."""
        trees = [ast.parse((PACKAGE / file).read_text("utf-8")) for file in self.files]
        return sum(isinstance(node, ast.ClassDef) for tree in trees for node in ast.walk(tree))


def _file_of(frame: FrameType) -> str:
    path = frame.f_code.co_filename
    return path[len(str(PACKAGE)) + 1 :] if path.startswith(str(PACKAGE)) else ""


def _folder(file: str) -> str:
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
    """Print what the five ways visit."""
    with tempfile.TemporaryDirectory() as folder:
        for name, way in five_ways(folder).items():
            seen = visits(way)
            folders = Counter(_folder(file) for file in seen.files)
            print(f"{name}: {len(seen.files)} files, {seen.classes()} classes")
            print("   ", ", ".join(f"{each} {n}" for each, n in folders.most_common()))
            print("   ", ", ".join(f"{a}→{b}" for a, b in sorted(seen.calls)))
            if "files" in sys.argv:
                print("   ", "\n    ".join(sorted(seen.files)))


def five_ways(folder: str) -> dict[str, Callable[[], Any]]:
    """Small runs of the five; files go to ``folder``."""
    from pgbn.cli import run_command

    network = pgbn.zoo.pgbn([5, 4])
    quick = {"burn_in": 2, "sweeps": 2, "random_state": 0, "min_width": 1}
    fitted = pgbn.PGBN(5, 2, transform_burn_in=2, transform_draws=2, **quick).fit(X)
    np.savetxt(texts := Path(folder) / "texts.txt", X, fmt="%d")
    words = ["fit", str(texts), "-o", f"{folder}/model", "--overwrite", "--burn-in", "2",
             "--sweeps", "2", "--depth", "1", "--min-df", "1", "--max-df", "1.0",
             "--max-width", "5", "--token-pattern", "[0-9]"]  # fmt: skip
    chain = network.chain({"x": X})
    return {
        "one sweep": chain.sweep,
        "net.sample": lambda: network.sample({"x": X}, 2, 2, progress=False),
        "PGBN().fit": lambda: pgbn.PGBN(5, 2, **quick).fit(X),
        "transform": lambda: fitted.transform(X),
        "pgbn fit": lambda: run_command(words),
    }


if __name__ == "__main__":
    main()
