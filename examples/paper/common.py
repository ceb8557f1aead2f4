"""What the experiments share: the command line, the file of results, and work that resumes.

An experiment is many pieces of work: a layer to train, features to infer, a classifier to fit.
Each leaves a file when it is done, and a piece whose file is there is not done again:

    OUT/networks/NAME-K128-seed0-T1         a trained network (pgbn.load), OUT/networks/….json
                                            and the seconds it took
    OUT/features/NAME-K128-seed0-T1-train.npy   the features of documents, and their seconds
    OUT/NAME.json                           the results
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from logistic import STRENGTHS, classify

import pgbn

MIN_WIDTH = 4  # no layer is put on top of one as narrow as this
STAGES = ("train", "features", "classify")


def arguments(
    description: str,
    widths: list[int],
    depth: int,
    argv: Sequence[str] | None = None,
    more: Callable[[Any], None] | None = None,
) -> argparse.Namespace:
    """The command line of an experiment."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the corpus, an .npz file")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of results")
    parser.add_argument("--widths", type=int, nargs="+", default=widths, help="K1max")
    parser.add_argument("--depth", type=int, default=depth, help="layers at most")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--minutes", type=float, default=float("inf"),
                        help="begin nothing new after so many minutes")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="a tiny version, to see it run")
    if more is not None:
        more(parser)
    options = parser.parse_args(argv)
    if not options.data.is_file():
        parser.error(f"--data {options.data}: there is no such file")
    if options.quick:
        options.widths, options.depth, options.seeds = [10], min(options.depth, 2), [0]
        options.out = options.out / "quick"
    options.deadline = time.monotonic() + 60 * options.minutes
    options.stages = getattr(options, "stages", STAGES)
    for folder in ("networks", "features"):
        (options.out / folder).mkdir(parents=True, exist_ok=True)
    return options


def add_stages(parser: Any) -> None:
    parser.add_argument(
        "--stages", nargs="+", choices=STAGES, default=STAGES, help="do only this, as far as it can"
    )
    parser.add_argument("--classify", type=int, nargs="+", default=None, metavar="T",
                        help="features and classes of these depths only")  # fmt: skip


class Results:
    """Records by key in a JSON file, written whole after each one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = read_json(path)

    def __contains__(self, key: str) -> bool:
        return key in self.records

    def add(self, key: str, **record: Any) -> None:
        # Read again: another process may have added results of other networks.
        self.records = read_json(self.path) | {key: record | {"commit": commit()}}
        write_json(self.path, self.records)
        shown = {name: value for name, value in record.items() if np.isscalar(value)}
        print(f"{key}: {shown}", flush=True)


def read_json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """The old file or the new one, never half of it."""
    partial = path.with_name(f"{path.name}.part")
    partial.write_text(json.dumps(content, indent=1))
    partial.replace(path)


def check_results(folder: Path, names: Sequence[str]) -> None:
    """Stop where there are no results: what is made of nothing would replace what is there."""
    if not any((folder / f"{name}.json").is_file() for name in names):
        raise SystemExit(
            f"--out {folder}: there are no results (none of {', '.join(names)} .json); give the "
            "folder of an experiment, or --out docs/results for those of the page"
        )


def beside(path: Path) -> Path:
    """Where the facts about a file are kept."""
    return path.with_name(f"{path.name}.json")


def commit() -> str:
    try:
        command = ["git", "-C", os.path.dirname(__file__), "rev-parse", "--short", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def work(
    options: argparse.Namespace, task: Callable[..., Any], *inputs: Any, **settings: Any
) -> tuple[Any, dict[str, Any]]:
    """What the task returns, and what it cost; past the deadline no task is begun."""
    if time.monotonic() > options.deadline:
        print("time is up: the same command continues from here", flush=True)
        raise SystemExit(0)
    began, cpu = time.monotonic(), time.process_time()
    value = task(*inputs, **settings)
    cost = {"seconds": round(time.monotonic() - began, 2),
            "cpu_seconds": round(time.process_time() - cpu, 2)}  # fmt: skip
    return value, cost | {"commit": commit()}


# ---- training -------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """A network in a folder, read when it is needed, and the facts about its training."""

    path: Path
    facts: dict[str, Any]

    @cached_property
    def network(self) -> pgbn.TrainedNetwork:
        return pgbn.load(self.path)


def train_depths(
    X: sp.csr_array,
    width: int,
    options: argparse.Namespace,
    name: str,
    seed: int,
    *,
    burn_in: list[int],
    sweeps: int,
    eta: float,
    callback: Callable[[pgbn.Event], None] | None = None,
    measure: Mapping[str, Callable[[], Any]] | None = None,
) -> Iterator[Trained]:
    """The networks of 1, 2, … layers.

    A network that was saved is used as it is. ``measure`` are further facts, taken when a layer
    is trained: where they are missing, it must be trained again.
    """
    measure = measure or {}
    if options.quick:
        burn_in, sweeps = [20] * options.depth, getattr(options, "sweeps", None) or 20
    below: Path | None = None
    for depth in range(1, options.depth + 1):
        path = options.out / "networks" / f"{name}-K{width}-seed{seed}-T{depth}"
        facts = read_json(beside(path))
        if not (path / "model.json").exists() or measure.keys() - facts.keys():
            if "train" not in options.stages:
                return
            training, cost = work(
                options, pgbn.train_layerwise, X, width, depth, eta=eta, burn_in=burn_in[:depth],
                sweeps=sweeps, seed=seed, threads=options.threads, trace_every=50,
                callback=callback, start_from=below,
            )  # fmt: skip
            facts = cost | shape_of(training.deepest)
            facts |= {fact: ask() for fact, ask in measure.items()}
            # The facts first: where there is a network, there are its facts.
            write_json(beside(path), facts)
            training.deepest.save(path)
        elif "widths" not in facts:  # trained by other means: perhaps nobody knows how long it took
            facts |= shape_of(pgbn.load(path))
            write_json(beside(path), facts)
        yield Trained(path, facts)
        if facts["widths"][-1] <= MIN_WIDTH:
            return
        below = path


def shape_of(network: pgbn.TrainedNetwork) -> dict[str, Any]:
    return {"widths": list(network.widths), "sweeps": network.sweeps}


# ---- features and classes -------------------------------------------------------------


def features(
    trained: Trained, X: sp.csr_array, part: str, seed: int, options: argparse.Namespace
) -> tuple[np.ndarray, float] | None:
    """The posterior means of θ^(1)/θ^(1)_·, 500 samples after 500 of burn-in, and their seconds;
    None if they are not there and not to be inferred now."""
    path = options.out / "features" / f"{trained.path.name}-{part}.npy"
    if not path.exists():
        if "features" not in options.stages:
            return None
        sweeps = 20 if options.quick else 500
        units, cost = work(
            options, trained.network.infer, X, layers=1, burn_in=sweeps, draws=sweeps,
            seed=seed, threads=options.threads, units=False,
        )  # fmt: skip
        write_json(beside(path), cost)
        partial = path.with_suffix(".part")
        with partial.open("wb") as file:
            np.save(file, units.features(1).astype(np.float32))
        partial.replace(path)
    return np.load(path).astype(np.float64), read_json(beside(path)).get("seconds", 0.0)


def classify_depths(
    corpus: dict[str, Any],
    layers: Iterator[Trained],
    key: str,
    seed: int,
    results: Results,
    options: argparse.Namespace,
    **about: Any,
) -> None:
    """The test accuracy of each network in ``layers``; ``about`` goes into the records."""
    cpu_seconds: list[float | None] = []  # of each layer so far; None if nobody noted them
    for depth, trained in enumerate(layers, 1):
        cpu_seconds.append(trained.facts.get("cpu_seconds"))
        name = f"{key} T={depth} seed={seed}"
        if name in results or depth not in (options.classify or [depth]):
            continue
        if set(options.stages) == {"train"}:
            continue
        train = features(trained, corpus["train"], "train", seed, options)
        test = features(trained, corpus["test"], "test", seed, options)
        if train is None or test is None or "classify" not in options.stages:
            continue
        (accuracy, strength), cost = work(
            options, classify, train[0], corpus["train_labels"], test[0], corpus["test_labels"],
            STRENGTHS[::5] if options.quick else STRENGTHS,
        )  # fmt: skip
        results.add(
            name, accuracy=accuracy, C=strength, depth=depth, seed=seed, **about,
            widths=trained.facts["widths"], sweeps=trained.facts["sweeps"],
            training_seconds=trained.facts.get("seconds"), cpu_seconds=list(cpu_seconds),
            training_commit=trained.facts.get("commit", "unknown"),
            feature_seconds=train[1] + test[1], classifier_seconds=cost["seconds"],
        )  # fmt: skip
