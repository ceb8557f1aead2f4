"""Verbs that write, killed and gone on with: run by tests/engine/run/test_sampling.py.

One process imports pgbn and forks a child for every kill, so that a kill costs milliseconds. Each
round begins a verb in an empty folder, kills it at random moments (or in the n-th call of a write),
goes on, and compares what comes out at last with the run that nobody disturbed. Prints a line of
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
from pgbn import checkpoint, zoo
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.run_store import RunPlan
from pgbn.engine.run.sampling import resume_sampling, sample_saved
from pgbn.engine.run.saving import Timing
from pgbn.storage.archive import is_archive, read_manifest
from tests.helpers.killed_trainer import data, die_in_call, forked

OFTEN = Timing(sweeps=2, share=1e9)
NETWORK = zoo.pgbn([6, 4])
TRAINING = {"burn_in": 30, "collect": 10, "seed": 5, "min_width": 1}


def sample(folder: Path, chains: int, parallel: int) -> None:
    keep = ("theta1", "r", "phi2")
    plan = RunPlan(60, 40, 2, chains, 7, keep, parallel)
    if is_archive(folder) and read_manifest(folder)["kind"] == "run":
        resume_sampling(folder, OFTEN, 1, False)
        return
    if is_archive(folder):  # killed when all was done
        return
    sample_saved(plan, lambda n: Chain(NETWORK, {"x": data()}, 7, n, threads=1), folder, OFTEN, 1,
                 False)  # fmt: skip


def train(folder: Path) -> None:
    options: dict[str, Any] = {"sweeps": 2, "share": 1e9, "threads": 1, "progress": False}
    if is_archive(folder):
        checkpoint.resume(folder, **options)
    else:
        checkpoint.train(data(), folder, 10, 2, **options, **TRAINING)


def save_often(folder: Path) -> None:
    """A chain that is saved again and again; the folder holds one of its states at any time."""
    chain = pgbn.load(folder) if is_archive(folder) else NETWORK.chain({"x": data()}, threads=1)
    while chain.sweeps < 60:
        pgbn.save(chain.sweep(2), folder)


VERBS: dict[str, Callable[[Path], None]] = {
    "sample": lambda folder: sample(folder, 2, 1),
    "sample side by side": lambda folder: sample(folder, 2, 2),
    "train": train,
    "save": save_often,
}


def result(folder: Path) -> str:
    """A checksum of what a folder holds in the end."""
    found, hashed = pgbn.load(folder), hashlib.sha256()
    if isinstance(found, pgbn.Draws):
        arrays = [found[name] for name in found]
    elif isinstance(found, pgbn.Chain):
        arrays = [array for _, array in sorted(found.state().items())]
    else:
        arrays = [*found.deepest.phi, found.deepest.r, *found.deepest.state.values()]
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
    start = time.monotonic()
    child(verb, folder, 1e9, None)
    whole, seconds = result(folder), time.monotonic() - start
    while report["kills"] < kills:
        shutil.rmtree(folder, ignore_errors=True)
        for _ in range(5):
            by_call = moments.random() < 0.5
            kill_at = moments.randint(1, 60) if by_call else None
            killed = child(verb, folder, 1e9 if by_call else moments.uniform(0, seconds), kill_at)
            report["kills"] += killed
            if killed and is_archive(folder):
                named = read_manifest(folder)["files"]
                report["mid_write"] += bool(
                    {p.name for p in folder.iterdir()} - {"model.json", *named}
                )
            if not killed:
                break
        child(verb, folder, 1e9, None)
        report["ends"] += 1
        report["wrong"] += result(folder) != whole
    return report


def main(folder: Path, kills: int, seed: int) -> None:
    moments = random.Random(seed)
    print(json.dumps({name: campaign(name, folder, kills, moments) for name in VERBS}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
