"""20newsgroups, 20 classes: accuracy against depth and width (figure 3, table 3 of the paper).

η = 0.05, C_t = 500, B_t = 1000 (for K1max > 400: B_1 = 1000, B_t = 500 above).
"""

from __future__ import annotations

import time
from typing import Any

from common import Results, arguments, classify, features, keep_terms, load_newsgroups, train_depths

WIDTHS = {2000: [128, 256, 512], 0: [50, 100, 200, 400, 800]}


def main() -> None:
    def more(parser: Any) -> None:
        parser.add_argument("--terms", type=int, default=2000, help="most frequent terms; 0: all")

    options = arguments(__doc__ or "", [], 5, more)
    results = Results(options.out / "multiclass.json")
    corpus = load_newsgroups(options)
    if options.terms and not options.quick:
        corpus = keep_terms(corpus, options.terms)
    terms = corpus["train"].shape[1]
    for seed in options.seeds:
        for width in options.widths or WIDTHS.get(options.terms, WIDTHS[0]):
            first, later = 1000, 1000 if width <= 400 else 500
            name = f"multiclass-V{terms}"
            for network, seconds in train_depths(
                corpus["train"], width, options, name, seed,
                burn_in=[first, *[later] * (options.depth - 1)], collect=500, eta=0.05,
            ):  # fmt: skip
                key = f"V={terms} K1max={width} T={network.depth} seed={seed}"
                if key in results:
                    continue
                began = time.monotonic()
                train = features(network, corpus["train"], seed, options)
                test = features(network, corpus["test"], seed, options)
                found = time.monotonic()
                accuracy, strength = classify(
                    train, corpus["train_labels"], test, corpus["test_labels"], options.quick
                )
                results.add(
                    key, accuracy=accuracy, C=strength, terms=terms, max_width=width,
                    depth=network.depth, seed=seed, widths=network.widths,
                    training_seconds=seconds, feature_seconds=found - began,
                    classifier_seconds=time.monotonic() - found, sweeps=network.sweeps,
                )  # fmt: skip


if __name__ == "__main__":
    main()
