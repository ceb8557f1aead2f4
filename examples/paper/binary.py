"""The two binary tasks of 20newsgroups: accuracy against depth (figure 2 of the paper).

η = 0.01, B_t = C_t = 1000, T = 1 … 8; terms that occur at least five times in the task's documents.
With --sweeps C_t is another number, as a control of the length of the chain; the results then have
a file of their own, such as binary-C8000.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import Results, add_stages, arguments, classify_depths, train_depths
from corpora import load_newsgroups

COLLECT = 1000  # C_t of the paper
TASKS = {
    "hardware": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "science": ("sci.electronics", "sci.med"),
}


def sweeps(text: str) -> int:
    """A number of sweeps, as argparse reads it."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number


def task_of(corpus: dict[str, Any], name: str) -> dict[str, Any]:
    """The documents of two groups, with the terms that occur at least five times in them."""
    groups = [str(group) for group in corpus["groups"]]
    pair = [groups.index(group) for group in TASKS[name]]
    out: dict[str, Any] = {}
    for part in ("train", "test"):
        chosen = np.isin(corpus[f"{part}_labels"], pair)
        out[part] = corpus[part][np.flatnonzero(chosen)]
        out[f"{part}_labels"] = (corpus[f"{part}_labels"][chosen] == pair[1]).astype(int)
    total = np.asarray(out["train"].sum(axis=0) + out["test"].sum(axis=0)).ravel()
    kept = np.flatnonzero(total >= 5)
    return out | {part: sp.csr_array(out[part][:, kept]) for part in ("train", "test")}


def main(argv: Sequence[str] | None = None) -> None:
    def more(parser: Any) -> None:
        parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
        parser.add_argument("--sweeps", type=sweeps, help="C_t; not the paper's")
        add_stages(parser)

    options = arguments(__doc__ or "", [25, 50, 100, 200, 400, 600, 800], 8, argv, more)
    # Networks and results of another C_t have other names, so that they never mix with the paper's.
    own = options.sweeps is not None and (options.quick or options.sweeps != COLLECT)
    name = f"binary-C{options.sweeps}" if own else "binary"
    results = Results(options.out / f"{name}.json")
    newsgroups = load_newsgroups(options.data, quick=options.quick)
    for task in options.tasks:
        corpus = task_of(newsgroups, task)
        for seed in options.seeds:
            for width in options.widths:
                layers = train_depths(
                    corpus["train"], width, options, f"{name}-{task}", seed,
                    burn_in=[1000] * options.depth, sweeps=options.sweeps or COLLECT, eta=0.01,
                )  # fmt: skip
                classify_depths(corpus, layers, f"{task} K1max={width}", seed, results, options,
                                task=task, max_width=width)  # fmt: skip


if __name__ == "__main__":
    main()
