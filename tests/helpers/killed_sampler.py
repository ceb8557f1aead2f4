"""Verbs that write, killed and gone on with: run by tests/engine/run/test_sampling.py.

    python -m tests.helpers.killed_sampler FOLDER 900 3 [VERB …]    # 900 kills of each, seed 3

One process imports pgbn, runs every verb once, so that all kernels are loaded, and forks a child for
every kill: a kill costs milliseconds. Each round begins a verb in an empty folder, kills it at
random moments (or in the n-th call of a write), goes on, and compares what comes out at last with
the run that nobody disturbed. A file that has its name must be whole at once. Prints a line of
JSON: kills for each verb, how many came in the middle of a write, and what was wrong.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pgbn
from pgbn.storage.archive import is_archive, read_manifest
from tests.helpers.killed import die_in_call, forked
from tests.helpers.killed_verbs import VERBS, prepare

NEVER = 1e9  # seconds


def files(folder: Path) -> dict[str, str]:
    """Checksums of the files that have their name."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if not path.name.startswith(".") and path.suffix != ".part"
    }


def result(folder: Path) -> str:
    """A checksum of what a folder holds in the end."""
    if not is_archive(folder):
        return json.dumps(files(folder))
    found, hashed = pgbn.load(folder), hashlib.sha256()
    if isinstance(found, pgbn.Draws):
        arrays = [found[name] for name in found]
    elif isinstance(found, pgbn.Chain):
        arrays = [array for _, array in sorted(found.state().items())]
    elif isinstance(found, pgbn.Corpus):
        arrays = [found.counts.toarray()]
    else:
        found = getattr(found, "training_", found)
        deepest = found if isinstance(found, pgbn.TrainedNetwork) else found.deepest
        hashed.update(repr(sorted(deepest.labels.items())).encode())
        arrays = [*deepest.phi, deepest.r, *deepest.state.values()]
    for array in arrays:
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def child(verb: Callable[[Path], None], folder: Path, seconds: float, kill_at: int | None) -> bool:
    """Whether a verb was killed before it was done."""

    def work() -> None:
        if kill_at is not None:
            die_in_call(kill_at)
        verb(folder)

    return forked(work, seconds)


def campaign(name: str, folder: Path, kills: int, moments: random.Random) -> dict[str, Any]:
    """So many kills of one verb; after about five of them it is let go to its end."""
    verb, report = VERBS[name], {"kills": 0, "mid_write": 0, "ends": 0, "wrong": 0}
    shutil.rmtree(folder, ignore_errors=True)
    verb(folder)
    whole, named = result(folder), files(folder)
    shutil.rmtree(folder)
    start = time.monotonic()
    child(verb, folder, NEVER, None)
    seconds, calls = time.monotonic() - start, 60
    while report["kills"] < kills:
        shutil.rmtree(folder, ignore_errors=True)
        for turn in range(5):
            by_call = moments.random() < 0.5
            kill_at = moments.randint(1, calls) if by_call else None
            killed = child(verb, folder, NEVER if by_call else moments.uniform(0, seconds), kill_at)
            report["kills"] += killed
            if not killed:
                calls = kill_at - 1 if kill_at and not turn else calls  # a run makes fewer
                break
            if is_archive(folder):
                known = {"model.json", *read_manifest(folder)["files"]}
                report["mid_write"] += bool({p.name for p in folder.iterdir()} - known)
            elif folder.exists():
                now = files(folder)
                report["mid_write"] += len(list(folder.iterdir())) > len(now)
                if "model" not in "".join(named):  # single files are whole once they have a name
                    report["wrong"] += any(named.get(file) != now[file] for file in now)
        child(verb, folder, NEVER, None)
        report["ends"] += 1
        report["wrong"] += result(folder) != whole
    return report


def main(folder: Path, kills: int, seed: int, verbs: list[str]) -> None:
    found = {}
    prepare(folder.parent)
    for name in verbs or VERBS:
        begun = time.monotonic()
        found[name] = campaign(name, folder, kills, random.Random(f"{seed} {name}"))
        print(name, found[name], f"{time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
