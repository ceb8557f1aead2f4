"""Train, be killed, resume: run by tests/training/checkpoints/test_kill.py in a process of its own.

One process imports pgbn and forks a child for every run, so that a kill costs milliseconds.
Prints a line of JSON: how many kills there were, how many of them in the middle of a write, and
whether every checkpoint was a state of the uninterrupted chain.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import select
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np

import pgbn
from pgbn import checkpoint
from pgbn.training import Progress

CALLS = 18  # at least as many as a write makes
ARGUMENTS = {
    "burn_in": 200,
    "collect": 60,
    "average": 3,
    "seed": 5,
    "min_width": 1,
    "trace_every": 4,
}


def data() -> np.ndarray:
    random_state = np.random.default_rng(0)
    topics = random_state.dirichlet([0.1] * 60, 5)
    return random_state.poisson(random_state.gamma(0.3, 1, (40, 5)) @ topics * 10)


def place(progress: Progress) -> str:
    return f"{progress.depth} {progress.phase} {progress.sweep}"


def digest(progress: Progress) -> str:
    hashed = hashlib.sha256(place(progress).encode())
    for name, array in sorted(progress.chain.state().items()):
        hashed.update(name.encode() + np.ascontiguousarray(array).tobytes())
    hashed.update(repr(progress.trace.rows).encode())
    return hashed.hexdigest()


def final(result: pgbn.LayerwiseTraining) -> str:
    hashed = hashlib.sha256()
    for network in result.networks:
        for array in (*network.phi, network.r, network.c, *network.state.values()):
            hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def child(folder: Path, fresh: bool, kill_at: int | None) -> None:
    """Train with a checkpoint after every sweep; ``kill_at``: die in that system call."""
    if kill_at is not None:
        die_in_call(kill_at)
    options = {"sweeps": 1, "share": 1e9, "threads": 1, "progress": False}
    if fresh:
        checkpoint.train(data(), folder, 10, 2, **options, **ARGUMENTS)
    else:
        checkpoint.resume(folder, **options)


def die_in_call(number: int) -> None:
    """Replace the calls that a write is made of by ones that kill the process at the n-th."""
    calls = 0

    def deadly(function):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    os.fsync, os.replace, Path.unlink = map(deadly, (os.fsync, os.replace, Path.unlink))
    np.memmap.flush = deadly(np.memmap.flush)


def forked(work: Callable[[], None], seconds: float) -> bool:
    """Whether a child that does some work was killed before it was done."""
    process = os.fork()
    if process == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    ended = os.pidfd_open(process)
    try:
        if not select.select([ended], [], [], min(seconds, 1e6))[0]:
            os.kill(process, signal.SIGKILL)
    finally:
        os.close(ended)
    _, status = os.waitpid(process, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a child failed")
    return os.WIFSIGNALED(status)


def run(folder: Path, fresh: bool, seconds: float, kill_at: int | None = None) -> bool:
    """Whether a training was killed before it was done."""
    return forked(lambda: child(folder, fresh, kill_at), seconds)


def main(folder: Path, kills: int, seed: int) -> None:
    reference: dict[str, str] = {}

    def note(progress: Progress) -> None:
        reference[place(progress)] = digest(progress)

    result = pgbn.train_layerwise(
        data(), 10, 2, callback=note, threads=1, progress=False, **ARGUMENTS
    )
    expected, moments = final(result), random.Random(seed)
    report = {"kills": 0, "mid_write": 0, "loaded": 0, "none_yet": 0, "finished": 0, "wrong": []}

    def check() -> bool:
        """Whether there is something to resume; what there is must be right."""
        if not (folder / "model.json").exists():
            report["none_yet"] += 1
            return False
        body = pgbn.storage.archive.read_manifest(folder)
        extra = {p.name for p in folder.iterdir()} - {"model.json", *body["files"]}
        report["mid_write"] += bool(extra)
        if body["kind"] != "checkpoint":
            good = final(pgbn.load(folder)) == expected
            report["finished"] += 1
            if not good:
                report["wrong"].append("the result")
            return False
        at = checkpoint.read_checkpoint(folder, threads=1)
        report["loaded"] += 1
        if digest(at.progress) != reference[place(at.progress)]:
            report["wrong"].append(place(at.progress))
        return True

    def begin() -> None:
        """A training with a checkpoint or more."""
        shutil.rmtree(folder, ignore_errors=True)
        seconds = 0.2
        while not (folder / "model.json").exists():
            run(folder, True, seconds)
            seconds *= 1.5

    resumable = False
    for number in range(1, CALLS + kills + 1):
        # First in every call that a write makes, with an older checkpoint at stake; then at random.
        kill_at = number if number <= CALLS else None
        if not resumable and kill_at:
            begin()
            resumable = check()
        elif not resumable:
            shutil.rmtree(folder, ignore_errors=True)
        seconds = 60.0 if kill_at else moments.uniform(0.02, 0.8)
        report["kills"] += run(folder, not resumable, seconds, kill_at)
        resumable = check()
    if not resumable:
        shutil.rmtree(folder, ignore_errors=True)
    run(folder, not resumable, 1e9)
    check()
    report["positions"] = len(reference)
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
