"""Work that writes, disturbed: killed, interrupted, or on a disk that fails.

Every case forks a child that works. It is disturbed a few times. Then another child finishes, and
the files must be those of the work that nobody disturbed.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
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
from tests.campaign.harness import forked

__all__ = ["Commits", "Faults", "Interrupts", "Kills"]

NETWORK = zoo.pgbn([6, 4])
OFTEN: dict[str, Any] = {"every": 2, "share": 1e9, "threads": 1, "progress": False}


# ---- disturbances -------------------------------------------------------------------------------


def break_call(number: int, end: Callable[[], None]) -> None:
    """Replace the calls that a write is made of by ones of which the n-th ends otherwise."""
    calls = 0

    def breaking(function):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == number:
                end()
            return function(*arguments, **options)

        return call

    os.fsync, os.replace, Path.unlink = map(breaking, (os.fsync, os.replace, Path.unlink))
    np.memmap.flush = breaking(np.memmap.flush)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail(code: int) -> None:
    raise OSError(code, os.strerror(code))


def refused(work: Callable[[], Any]) -> None:
    """Work that ends, or is ended by an error of pgbn."""
    with suppress(pgbn.PgbnError):
        work()


# ---- the runner: a commit is complete whatever call of it is killed ------------------------------


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


class Commits:
    """Two commits, of which a call is killed, and two more."""

    def __init__(self, place: Path) -> None:
        self.folder = place / "count"

    def run(self, number: int) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        forked(lambda: (break_call(number % 20 + 1, die), count(self.folder, 2)), 60.0)
        before = committed(self.folder)
        assert 0 <= before <= 2
        forked(lambda: (break_call((number // 20) % 20 + 1, die), count(self.folder, 4)), 60.0)
        assert before <= committed(self.folder) <= 4
        forked(partial(count, self.folder, 5))
        assert committed(self.folder) == 5
        assert not list(self.folder.glob("*.part"))


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
    """What has its name in a folder: of an archive, the files of the manifest. Draws are compared
    as arrays, since an interrupt may divide them among other files."""
    if kind_of(folder) == "draws":
        draws = pgbn.load(folder)
        return {name: draws[name].tobytes() for name in draws}
    names = read_manifest(folder)["files"] if is_archive(folder) else sorted(os.listdir(folder))
    return {
        name: (folder / name).read_bytes()
        for name in names
        if not name.startswith(".") and not name.endswith(".part")
    }


class Disturbed:
    """Case after case: a method that writes, disturbed up to three times, and finished."""

    def __init__(self, place: Path) -> None:
        build.COMMIT_ROWS = 8
        self.place = place
        self.undisturbed: dict[str, tuple[dict[str, bytes], float]] = {}

    def run(self, number: int) -> None:
        name = list(METHODS)[number % len(METHODS)]
        method, folder = METHODS[name], self.place / name
        complete, seconds = self.complete(name)
        shutil.rmtree(folder, ignore_errors=True)
        choice = random.Random(f"{type(self).__name__} {number}")
        for _ in range(choice.randint(1, 3)):
            self.disturb(partial(method, folder), choice, seconds)
            if folder.exists() and not is_archive(folder) and method is write_files:
                assert result(folder).items() <= complete.items()
        forked(partial(method, folder))
        assert result(folder) == complete, name

    def complete(self, name: str) -> tuple[dict[str, bytes], float]:
        """The files of a method that nobody disturbs, and its seconds."""
        if name not in self.undisturbed:
            folder = self.place / "undisturbed"
            METHODS[name](folder)  # compiles, so that the children need not
            found = result(folder)
            shutil.rmtree(folder)
            begun = time.monotonic()
            forked(partial(METHODS[name], folder))
            self.undisturbed[name] = found, time.monotonic() - begun
            shutil.rmtree(folder)
        return self.undisturbed[name]

    def disturb(self, work: Callable[[], Any], choice: random.Random, seconds: float) -> None:
        raise NotImplementedError


class Kills(Disturbed):
    """SIGKILL at random moments, and in the calls of a write."""

    def disturb(self, work: Callable[[], Any], choice: random.Random, seconds: float) -> None:
        if choice.random() < 0.5:
            forked(work, choice.uniform(0, seconds))
        else:
            at = choice.randint(1, 20)
            forked(lambda: (break_call(at, die), work()))


class Faults(Disturbed):
    """A call of a write that fails, as on a full disk or after a lost mount."""

    CODES = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.ESTALE)

    def disturb(self, work: Callable[[], Any], choice: random.Random, seconds: float) -> None:
        at, code = choice.randint(1, 20), choice.choice(self.CODES)
        forked(lambda: (break_call(at, partial(fail, code)), refused(work)))


class Interrupts(Disturbed):
    """Ctrl-C, SIGTERM and SIGHUP at random moments."""

    def disturb(self, work: Callable[[], Any], choice: random.Random, seconds: float) -> None:
        sent = choice.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        forked(work, choice.uniform(0, seconds), sent)
