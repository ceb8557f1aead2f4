"""What the experiments share: corpora, a results file, training that resumes, the classifier."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import pgbn

MIN_WIDTH = 4  # no layer is put on top of one as narrow as this


def arguments(
    description: str, widths: list[int], depth: int, more: Callable[[Any], None] | None = None
) -> argparse.Namespace:
    """The command line of an experiment."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, required=True, help="the corpus, an .npz file")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of results")
    parser.add_argument("--widths", type=int, nargs="+", default=widths, help="K1max")
    parser.add_argument("--depth", type=int, default=depth, help="layers at most")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--quick", action="store_true", help="a tiny version, to see it run")
    if more is not None:
        more(parser)
    options = parser.parse_args()
    if not options.data.is_file():
        parser.error(f"--data {options.data}: there is no such file")
    if options.quick:
        options.widths, options.depth, options.seeds = [10], min(options.depth, 2), [0]
        options.out = options.out / "quick"
    (options.out / "networks").mkdir(parents=True, exist_ok=True)
    return options


class Results:
    """Records by key in a JSON file, written whole after each one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, dict[str, Any]] = {}
        if path.exists():
            self.records = json.loads(path.read_text())

    def __contains__(self, key: str) -> bool:
        return key in self.records

    def add(self, key: str, **record: Any) -> None:
        record["commit"] = _commit()
        self.records[key] = record
        partial = self.path.with_suffix(".part")
        partial.write_text(json.dumps(self.records, indent=1))
        partial.replace(self.path)
        shown = {name: value for name, value in record.items() if np.isscalar(value)}
        print(f"{key}: {shown}", flush=True)


def _commit() -> str:
    try:
        command = ["git", "-C", os.path.dirname(__file__), "rev-parse", "--short", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# ---- corpora --------------------------------------------------------------------------


def load_newsgroups(options: argparse.Namespace) -> dict[str, Any]:
    """The 20newsgroups corpus: train, test (CSR), their labels, groups, vocabulary."""
    with np.load(options.data, allow_pickle=False) as file:
        terms = file["vocabulary"].size
        out: dict[str, Any] = {"groups": file["groups"], "vocabulary": file["vocabulary"]}
        for part in ("train", "test"):
            cells = (file[f"{part}_data"].astype(np.int64), file[f"{part}_indices"],
                     file[f"{part}_indptr"])  # fmt: skip
            out[part] = sp.csr_array(cells, shape=(cells[2].size - 1, terms))
            out[f"{part}_labels"] = file[f"{part}_labels"]
    if options.quick:
        for part in ("train", "test"):
            out[part], out[f"{part}_labels"] = out[part][::40], out[f"{part}_labels"][::40]
        out = keep_terms(out, 300)
    return out


def keep_terms(corpus: dict[str, Any], terms: int) -> dict[str, Any]:
    """Only the terms with the largest total count over train and test together."""
    total = np.asarray(corpus["train"].sum(axis=0) + corpus["test"].sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-total, kind="stable")[:terms])
    changed = {part: sp.csr_array(corpus[part][:, kept]) for part in ("train", "test")}
    return corpus | changed | {"vocabulary": corpus["vocabulary"][kept]}


def load_nips(options: argparse.Namespace, terms: int = 2000) -> tuple[sp.csr_array, Any]:
    """NIPS12 with its most frequent terms, and their names."""
    with np.load(options.data, allow_pickle=False) as file:
        size = file["vocabulary"].size
        cells = (file["data"].astype(np.int64), file["indices"], file["indptr"])
        X = sp.csr_array(cells, shape=(cells[2].size - 1, size))
        vocabulary = file["vocabulary"]
    if options.quick:
        X, terms = X[::30], 300
    kept = np.sort(np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")[:terms])
    return sp.csr_array(X[:, kept]), vocabulary[kept]


# ---- training -------------------------------------------------------------------------


def train_depths(
    X: sp.csr_array,
    width: int,
    options: argparse.Namespace,
    name: str,
    seed: int,
    burn_in: list[int],
    collect: int,
    eta: float,
    callback: Callable[[pgbn.Progress], None] | None = None,
    done: Callable[[int], bool] = lambda depth: True,
) -> Iterator[tuple[pgbn.TrainedNetwork, float]]:
    """The networks of 1, 2, … layers and the seconds each new layer took.

    Layers that were saved are read, unless ``done(depth)`` says that their result is missing and
    needs the sweeps themselves.
    """
    if options.quick:
        burn_in, collect = [20] * options.depth, 20
    below: Path | None = None
    for depth in range(1, options.depth + 1):
        path = options.out / "networks" / f"{name}-K{width}-seed{seed}-T{depth}"
        seconds = 0.0
        if (path / "model.json").exists() and done(depth):
            network = pgbn.TrainedNetwork.load(path)
        else:
            began = time.monotonic()
            network = pgbn.train_layerwise(
                X, width, depth, eta=eta, burn_in=burn_in[:depth], collect=collect, seed=seed,
                threads=options.threads, trace_every=50, callback=callback, start_from=below,
            ).deepest  # fmt: skip
            seconds = time.monotonic() - began
            network.save(path)
        yield network, seconds
        if network.widths[-1] <= MIN_WIDTH:
            return
        below = path


def features(
    network: pgbn.TrainedNetwork, X: sp.csr_array, seed: int, options: argparse.Namespace
) -> np.ndarray:
    """The posterior means of θ^(1)/θ^(1)_·, 500 samples after 500 of burn-in."""
    sweeps = 20 if options.quick else 500
    return pgbn.infer(network, X, layers=1, burn_in=sweeps, samples=sweeps, seed=seed,
                      threads=options.threads, units=False).features(1)  # fmt: skip


# ---- classifier -----------------------------------------------------------------------


def classify(
    train: np.ndarray,
    train_labels: np.ndarray,
    test: np.ndarray,
    test_labels: np.ndarray,
    quick: bool = False,
) -> tuple[float, float]:
    """Test accuracy in percent of L2 logistic regression, and its C.

    C is chosen on the training set among 2^-10 … 2^15 by 5-fold cross-validation; along this path
    each fit starts from the one before.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    grid = [2.0**power for power in range(-10, 16, 5 if quick else 1)]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    right = np.zeros(len(grid))
    for seen, held in folds.split(train, train_labels):
        model = LogisticRegression(warm_start=True, max_iter=100)
        for i, strength in enumerate(grid):
            _fit(model.set_params(C=strength), train[seen], train_labels[seen])
            right[i] += (model.predict(train[held]) == train_labels[held]).sum()
    best = int(np.argmax(right))
    model = LogisticRegression(warm_start=True, max_iter=100)
    for strength in grid[: best + 1]:
        _fit(model.set_params(C=strength), train, train_labels)
    return 100.0 * float((model.predict(test) == test_labels).mean()), grid[best]


def _fit(model: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Fit; a path of 26 fits need not converge to the last digit."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
