"""Verbs that write, for tests/helpers/killed_sampler.py: each begins in an empty folder, or goes on."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from scipy import sparse

import pgbn
from pgbn import checkpoint, zoo
from pgbn.cli import run_command
from pgbn.cli.models import save_features, save_rows
from pgbn.cli.train import has_duplicates, merge_duplicates, to_merge
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.run_plan import RunPlan
from pgbn.engine.run.sampling import resume_sampling, sample_saved
from pgbn.evaluation import layer_quality
from pgbn.report.page import write_report
from pgbn.storage import build
from pgbn.storage.archive import is_archive, read_manifest
from pgbn.storage.runner import Timing

__all__ = ["VERBS", "prepare"]

OFTEN = Timing(sweeps=2, share=1e9)
NETWORK = zoo.pgbn([6, 4])
TRAINING = {"burn_in": 6, "collect": 4, "seed": 5, "min_width": 1}
build.COMMIT_ROWS = 8
layer_quality.LEAST_TERMS, layer_quality.SWEEPS = 10, 4


def data() -> np.ndarray:
    random_state = np.random.default_rng(0)
    topics = random_state.dirichlet([0.1] * 60, 5)
    return random_state.poisson(random_state.gamma(0.3, 1, (40, 5)) @ topics * 10)


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
        return Chain.of_data(NETWORK, {"x": data()}, 7, number, threads=threads, executor=executor)

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


def train_on(folder: Path) -> None:
    """A layer more, on top of a model that is saved in another folder."""
    options: dict[str, Any] = {"sweeps": 2, "share": 1e9, "threads": 1, "progress": False}
    if is_archive(folder) and read_manifest(folder)["kind"] != "checkpoint":
        return  # killed when all was done
    if is_archive(folder):
        checkpoint.resume(folder, **options)
    else:
        start = folder.with_name("start")
        checkpoint.train(data(), folder, 8, 3, start_from=start, **options, **TRAINING)


def merge_twins(folder: Path) -> None:
    """What `pgbn fit` and `pgbn resume` do when a training is done."""
    if not is_archive(folder):
        record = {"arguments": {"seed": 5}, **to_merge(True)}
        pgbn.save(MODEL["training"], folder, data=data(), record=record)
    if has_duplicates(folder):
        with redirect_stderr(io.StringIO()):
            merge_duplicates(folder, 1)


def fit_on(folder: Path) -> None:
    """An estimator that is saved after every `fit`, and goes on from there."""
    if is_archive(folder):
        estimator = pgbn.load(folder)
    else:
        estimator = pgbn.PGBN(6, depth=1, burn_in=2, collect=2, n_jobs=1, random_state=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pgbn.PgbnWarning)
        while getattr(estimator, "n_iter_", 0) < 12:
            estimator.set_params(warm_start=True).fit(data())
            pgbn.save(estimator, folder)


def label(folder: Path) -> None:
    """`pgbn label`, again and again."""
    if not is_archive(folder):
        pgbn.save(MODEL["trained"], folder)
    for number in range(4):
        with redirect_stdout(io.StringIO()):
            assert run_command(["label", str(folder), f"1/{number}=name {number}"]) == 0


def save_draws(folder: Path) -> None:
    """Draws in the place of others."""
    for draws in (*MODEL["draws"], MODEL["draws"][0]):
        draws.save(folder)


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


def report_of_a_run(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(2):
        MODEL["draws"][number].report(folder / f"page{number}.html")


def picture(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(8):
        NETWORK.plot().save(folder / f"picture{number}.svg")


def features(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    rows = MODEL["trained"].phi[0]
    names = [
        [f"{letter}{n}" for n in range(size)]
        for letter, size in zip("kd", rows.shape[::-1], strict=True)
    ]
    for number in range(4):
        for kind in ("csv", "npy"):
            save_features(folder / f"rows{number}.{kind}", rows, *names)


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
    "train on": train_on,
    "merge twins": merge_twins,
    "fit on": fit_on,
    "label": label,
    "save draws": save_draws,
    "train_minibatch": minibatches,
    "save": save_often,
    "merge": merge,
    "corpus build": build_corpus,
    "transform_to": transform_to,
    "report": report,
    "report of a run": report_of_a_run,
    "picture": picture,
    "features": features,
    "table": table,
}


def prepare(place: Path) -> None:
    """What the verbs read."""
    place.mkdir(parents=True, exist_ok=True)
    training = pgbn.train_layerwise(data(), 8, 2, threads=1, progress=False, **TRAINING)
    MODEL["training"], MODEL["trained"] = training, training.deepest
    pgbn.save(training, place / "start")
    MODEL["draws"] = [
        NETWORK.sample({"x": data()}, 3, 3, seed=seed, threads=1, progress=False)
        for seed in range(2)
    ]
    scipy.io.mmwrite(place / "x.mtx", sparse.csr_matrix(data()))
    pgbn.Corpus.build(place / "x.mtx", place / "corpus", block_rows=4, overwrite=True)
