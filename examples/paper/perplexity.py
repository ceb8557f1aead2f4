"""NIPS12: perplexity of held-out words against width and depth (figure 4 of the paper).

The 2000 most frequent terms, 30 % of the tokens of each document for training, η = 0.05,
B_1 = 1000, B_t = 500 above, C_t = 500; one sample in five of the last 500 sweeps.
"""

from __future__ import annotations

import time

from common import Results, arguments, load_nips, train_depths

import pgbn


def main() -> None:
    options = arguments(__doc__ or "", [25, 50, 100, 200, 400, 600, 800], 5)
    results = Results(options.out / "perplexity.json")
    X, _ = load_nips(options)
    for seed in options.seeds:
        train, held_out = pgbn.split_tokens(X, 0.3, seed)
        held = pgbn.HeldOutPerplexity(held_out, options.threads)

        def collect(progress: pgbn.Progress, held: pgbn.HeldOutPerplexity = held) -> None:
            if progress.phase == "burn_in" and progress.sweep == 1:
                held.reset()  # samples of two depths, or from before a prune, never mix
            if progress.phase == "collect" and progress.sweep % 5 == 0:
                held.add_chain(progress.chain)

        for width in options.widths:

            def key_of(depth: int, width: int = width, seed: int = seed) -> str:
                return f"K1max={width} T={depth} seed={seed}"

            for network, seconds in train_depths(
                train, width, options, "perplexity", seed,
                burn_in=[1000, *[500] * (options.depth - 1)], collect=500, eta=0.05,
                callback=collect, done=lambda depth, key_of=key_of: key_of(depth) in results,
            ):  # fmt: skip
                key = key_of(network.depth)
                if key in results:
                    continue
                results.add(
                    key, perplexity=held.perplexity(), last=held.last(), samples=held.samples,
                    max_width=width, depth=network.depth, seed=seed, widths=network.widths,
                    training_seconds=seconds, sweeps=network.sweeps, at=time.strftime("%F %T"),
                )  # fmt: skip


if __name__ == "__main__":
    main()
