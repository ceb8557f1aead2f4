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
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from scipy import sparse

import pgbn
from pgbn import checkpoint, zoo
from pgbn.cli.tables import save_rows
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.run_store import RunPlan
from pgbn.engine.run.sampling import resume_sampling, sample_saved
from pgbn.engine.run.saving import Timing
from pgbn.report.page import write_report
from pgbn.storage import build
from pgbn.storage.archive import is_archive, read_manifest
from tests.helpers.killed_trainer import data, die_in_call, forked

OFTEN = Timing(sweeps=2, share=1e9)
NETWORK = zoo.pgbn([6, 4])
TRAINING = {"burn_in": 6, "collect": 4, "seed": 5, "min_width": 1}
NEVER = 1e9  # seconds
build.COMMIT_ROWS = 8


# ---- folders --------------------------------------------------------------------------------


def sample(folder: Path, chains: int, parallel: int, executor: Any = None) -> None:
    keep = ("theta1", "r", "phi2")
    plan = RunPlan(6, 4, 2, chains, 7, keep, parallel)
    if is_archive(folder) and read_manifest(folder)["kind"] == "run":
        resume_sampling(folder, OFTEN, 1, False)
        return
    if is_archive(folder):  # killed when all was done
        return

    def chain(number: int) -> Chain:
        threads = 1 if executor is None else None
        return Chain(NETWORK, {"x": data()}, 7, number, threads=threads, executor=executor)

    sample_saved(plan, chain, folder, OFTEN, 1, False)


def on_disk(folder: Path) -> None:
    """The arrays of rows are in files of another folder."""
    sample(folder, 1, 1, pgbn.Disk(folder.with_name("rows"), "1MB", threads=1))


def train(folder: Path) -> None:
    options: dict[str, Any] = {"sweeps": 2, "share": 1e9, "threads": 1, "progress": False}
    if is_archive(folder) and read_manifest(folder)["kind"] != "checkpoint":
        return  # killed when all was done
    if is_archive(folder):
        checkpoint.resume(folder, **options)
    else:
        checkpoint.train(data(), folder, 8, 2, **options, **TRAINING)


def minibatches(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pgbn.PgbnWarning)
        pgbn.train_minibatch(data(), [6, 4], batch_size=16, steps=6, collect=3, local_burn_in=2,
                             local_samples=1, threads=1, progress=False, save=folder,
                             minutes=1e-9)  # fmt: skip


def save_often(folder: Path) -> None:
    """A chain that is saved again and again; the folder holds one of its states at any time."""
    chain = pgbn.load(folder) if is_archive(folder) else NETWORK.chain({"x": data()}, threads=1)
    while chain.sweeps < 12:
        pgbn.save(chain.sweep(2), folder)


def merge(folder: Path) -> None:
    """A model, and in its place the one with two topics made one, until three are left."""
    model = pgbn.load(folder) if is_archive(folder) else MODEL["trained"]
    pgbn.save(model, folder)
    while model.widths[0] > 3:
        model = pgbn.merge_topics(model, [(0, 1)])
        pgbn.save(model, folder)


def build_corpus(folder: Path) -> None:
    pgbn.Corpus.build(folder.with_name("x.mtx"), folder, block_rows=4)


# ---- files ----------------------------------------------------------------------------------


def transform_to(folder: Path) -> None:
    corpus = pgbn.Corpus.open(folder.with_name("corpus"))
    folder.mkdir(exist_ok=True)
    pgbn.transform_to(
        MODEL["trained"], corpus, folder / "rows.npy", burn_in=2, samples=2, threads=1
    )


def report(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(2):
        write_report(MODEL["trained"], folder / f"page{number}.html")


def table(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(8):
        save_rows(folder / f"table{number}.csv", ("a", "b"), [(n, n * 0.1) for n in range(2000)])


MODEL: dict[str, Any] = {}
VERBS: dict[str, Callable[[Path], None]] = {
    "sample": lambda folder: sample(folder, 2, 1),
    "sample side by side": lambda folder: sample(folder, 2, 2),
    "sample on disk": on_disk,
    "train": train,
    "train_minibatch": minibatches,
    "save": save_often,
    "merge": merge,
    "corpus build": build_corpus,
    "transform_to": transform_to,
    "report": report,
    "table": table,
}


def prepare(place: Path) -> None:
    """What the verbs read."""
    place.mkdir(parents=True, exist_ok=True)
    MODEL["trained"] = pgbn.train_layerwise(
        data(), 8, 2, threads=1, progress=False, **TRAINING
    ).deepest
    scipy.io.mmwrite(place / "x.mtx", sparse.csr_matrix(data()))
    pgbn.Corpus.build(place / "x.mtx", place / "corpus", block_rows=4, overwrite=True)


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
        deepest = found if isinstance(found, pgbn.TrainedNetwork) else found.deepest
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
