"""Perplexity of held-out words against width and depth.

The 2000 most frequent terms, 30 % of the tokens of each document for training, η = 0.05; one
sample in five of the last C_t sweeps. NIPS12 as in figure 4 of the paper: B_1 = 1000, B_t = 500
above, C_t = 500. With --corpus 20newsgroups a short version, which other programs were run in
too: B_1 = 200, B_t = 100 above, C_t = 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from common import Results, arguments, train_depths
from corpora import load_newsgroups, load_nips

import pgbn


class Schedule(NamedTuple):
    """The name of the results, the widths, B_1, B_t above, and C_t."""

    name: str
    widths: list[int]
    first: int
    later: int
    sweeps: int


SCHEDULES = {
    "nips12": Schedule("perplexity", [25, 50, 100, 200, 400, 600, 800], 1000, 500, 500),
    "20newsgroups": Schedule("heldout", [100], 200, 100, 100),
}


class Samples:
    """A callback of the training: one sample in five of what is collected."""

    def __init__(self, held: pgbn.HeldOut) -> None:
        self.held = held

    def __call__(self, progress: pgbn.Event) -> None:
        if progress.phase == "burn_in" and progress.sweep == 1:
            self.held.reset()  # samples of two depths, or from before a prune, never mix
        if progress.phase == "collect" and progress.sweep % 5 == 0:
            self.held.add_chain(progress.chain)

    def count(self) -> int:
        return self.held.draws


def main(argv: Sequence[str] | None = None) -> None:
    def more(parser: Any) -> None:
        parser.add_argument("--corpus", choices=list(SCHEDULES), default="nips12")

    options = arguments(__doc__ or "", [], 5, argv, more)
    schedule = SCHEDULES[options.corpus]
    results = Results(options.out / f"{schedule.name}.json")
    if options.corpus == "nips12":
        X, _ = load_nips(options.data, quick=options.quick)
    else:
        X = load_newsgroups(options.data, 2000, options.quick)["train"]
    for seed in options.seeds:
        train, held_out = pgbn.evaluation.split_tokens(X, 0.3, seed)
        held = pgbn.HeldOut(held_out, threads=options.threads)
        samples = Samples(held)
        # Saved beside the network, because nothing else of the samples is kept.
        measure = {"perplexity": held.perplexity, "last": held.last, "samples": samples.count}
        for width in options.widths or schedule.widths:
            layers = train_depths(
                train, width, options, schedule.name, seed,
                burn_in=[schedule.first, *[schedule.later] * (options.depth - 1)],
                sweeps=schedule.sweeps, eta=0.05, callback=samples, measure=measure,
            )  # fmt: skip
            for depth, trained in enumerate(layers, 1):
                key, facts = f"K1max={width} T={depth} seed={seed}", trained.facts
                if key not in results:
                    results.add(
                        key, **{name: facts[name] for name in (*measure, "widths", "sweeps")},
                        max_width=width, depth=depth, seed=seed, training_seconds=facts["seconds"],
                        training_commit=facts["commit"],
                    )  # fmt: skip


if __name__ == "__main__":
    main()
