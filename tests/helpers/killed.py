"""Processes that are killed while they write, and what they leave.

    python -m tests.helpers.killed FOLDER              # the runner, killed in each call of its commits
    python -m tests.helpers.killed FOLDER 900 3        # 900 kills of every method that writes, seed 3

One process imports pgbn and forks a child for every kill, so that a kill costs milliseconds. After
a kill the folder holds a complete commit, and the work that is continued ends in the same files as
the work that nobody disturbed. Prints a line of JSON.
"""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import pgbn
from pgbn import zoo
from pgbn.storage import build
from pgbn.storage.archive import is_archive, read_arrays, read_manifest
from pgbn.storage.runner import Runner
from pgbn.training import checkpoints

NEVER = 1e6  # seconds
NETWORK = zoo.pgbn([6, 4])
OFTEN: dict[str, Any] = {"every": 2, "share": 1e9, "threads": 1, "progress": False}


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


def forked(work: Callable[[], Any], seconds: float = NEVER) -> bool:
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
        if not select.select([ended], [], [], seconds)[0]:
            os.kill(process, signal.SIGKILL)
    finally:
        os.close(ended)
    _, status = os.waitpid(process, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a child failed")
    return os.WIFSIGNALED(status)


# ---- the runner -----------------------------------------------------------------------------


def count(folder: Path, most: int) -> None:
    """Work that counts, with a commit of each number."""
    with Runner(folder, "count", {"step": 1}) as runner:
        number = runner.resume()["number"] if runner.committed else 0
        while number < most:
            number += 1
            state = {"a": np.full(9, number)}
            runner.commit({"number": number}, {"state": state}, {"data": lambda: {"b": np.ones(3)}})


def committed(folder: Path) -> int:
    """The number of the last commit, which is complete."""
    if not is_archive(folder):
        return 0
    body = read_manifest(folder)
    number = body["content"]["object"]["number"]
    assert (read_arrays(folder, body, "state")["a"] == number).all()
    assert (read_arrays(folder, body, "data")["b"] == 1).all()
    return int(number)


def kill_runner(folder: Path) -> dict[str, Any]:
    """Two commits more after each kill, so that there is an older one to lose."""
    kills, before, killed = 0, 0, True
    while killed:
        kills += 1
        most, at = before + 2, kills
        killed = forked(lambda: (die_in_call(at), count(folder, most)), 60.0)  # noqa: B023
        now = committed(folder)
        assert before <= now <= most, (before, now, most)
        before = now
    left = sorted(path.name for path in folder.iterdir() if path.suffix == ".part")
    return {"kills": kills - 1, "number": before, "of": most, "left": left}


# ---- methods that write: each begins in an empty folder, or continues what is there ----------


def data() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.poisson(rng.gamma(0.3, 1, (40, 5)) @ rng.dirichlet([0.1] * 60, 5) * 10)


def kind_of(folder: Path) -> str:
    return str(read_manifest(folder)["kind"]) if is_archive(folder) else ""


def sample(folder: Path, parallel: int = 1) -> None:
    if kind_of(folder) == "run":
        pgbn.resume(folder, threads=1, progress=False)
    elif not kind_of(folder):
        NETWORK.sample({"x": data()}, 6, 4, chains=2, keep=("theta1", "r", "phi2"), seed=7, threads=1,
                       parallel=parallel, progress=False, save=folder, minutes=1e-9)  # fmt: skip


def train(folder: Path) -> None:
    few = {"burn_in": 6, "sweeps": 4, "seed": 5, "min_width": 1}
    if kind_of(folder) == "checkpoint":
        checkpoints.resume(folder, **OFTEN)
    elif not kind_of(folder):
        checkpoints.train_with_checkpoints(data(), folder, 8, 2, **OFTEN, **few)


def train_minibatch(folder: Path) -> None:
    pgbn.train_minibatch(data(), [6, 4], batch_size=16, steps=6, average=3, local_burn_in=2,
                         local_draws=1, threads=1, progress=False, save=folder,
                         minutes=1e-9)  # fmt: skip


def save(folder: Path) -> None:
    """A chain that is saved again and again."""
    chain = pgbn.load(folder) if is_archive(folder) else NETWORK.chain({"x": data()}, threads=1)
    while chain.sweeps < 12:
        pgbn.save(chain.sweep(2), folder)


def build_corpus(folder: Path) -> None:
    pgbn.Corpus.build(sparse.csr_array(data()), folder, block_rows=4)


def write_files(folder: Path) -> None:
    """Pages, pictures and rows; a file that has its name is complete."""
    folder.mkdir(exist_ok=True)
    if not MADE:
        MADE.append(pgbn.train_layerwise(data(), 8, 1, burn_in=3, sweeps=2, seed=5, progress=False))
    (trained,) = MADE
    for number in range(2):
        trained.report(folder / f"page{number}.html")
        NETWORK.plot().save(folder / f"picture{number}.svg")
    trained.deepest.transform(data(), folder / "rows.npy", burn_in=2, draws=2, threads=1)


MADE: list[pgbn.LayerwiseTraining] = []
METHODS: dict[str, Callable[[Path], None]] = {
    "sample": sample,
    "sample in parallel": lambda folder: sample(folder, 2),
    "train": train,
    "train_minibatch": train_minibatch,
    "save": save,
    "build": build_corpus,
    "files": write_files,
}


def result(folder: Path) -> dict[str, bytes]:
    """What has its name in a folder: of an archive, the files of the manifest."""
    names = read_manifest(folder)["files"] if is_archive(folder) else sorted(os.listdir(folder))
    return {
        name: (folder / name).read_bytes()
        for name in names
        if not name.startswith(".") and not name.endswith(".part")
    }


def campaign(method: Callable[[Path], None], folder: Path, kills: int, choice: Any) -> int:
    """At least this many kills, at random moments and in calls of a write; after at most five the
    work is finished and compared."""
    done, most = 0, 40
    method(folder)
    complete = result(folder)
    begun = time.monotonic()
    shutil.rmtree(folder)
    forked(lambda: method(folder))
    seconds = time.monotonic() - begun
    while done < kills:
        shutil.rmtree(folder)
        for _ in range(5):
            at = choice.randint(1, most)
            if choice.random() < 0.5:
                killed = forked(lambda: method(folder), choice.uniform(0, seconds))
            else:
                killed = forked(lambda: (die_in_call(at), method(folder)))  # noqa: B023
                most = most if killed else max(2, at - 1)  # a run makes fewer
            done += killed
            if folder.exists() and not is_archive(folder) and method is write_files:
                assert result(folder).items() <= complete.items()
        forked(lambda: method(folder))
        assert result(folder) == complete
    return done


def kill_methods(folder: Path, kills: int, seed: int) -> dict[str, int]:
    build.COMMIT_ROWS = 8
    warnings.simplefilter("ignore", pgbn.PgbnWarning)
    return {name: campaign(method, folder / name, kills, random.Random(f"{seed} {name}"))
            for name, method in METHODS.items()}  # fmt: skip


if __name__ == "__main__":
    place, *numbers = sys.argv[1:]
    Path(place).mkdir(exist_ok=True)
    found = kill_methods(Path(place), *map(int, numbers)) if numbers else kill_runner(Path(place))
    print(json.dumps(found))
