"""How many samples held-out perplexity needs: by sampled values, and by means given the counts.

    python -m benchmarks.conditional_means --data ../shared/data/20newsgroups.npz

Of every document 30 % of the tokens are seen; a sample is taken every 5 sweeps.
"""

import argparse

import pgbn
from benchmarks.networks import machine
from benchmarks.sweep import load
from pgbn.evaluation import HeldOut, split_tokens

THIN = 5
SHOWN = (1, 2, 3, 5, 10, 20, 50, 100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="an .npz file as in shared/data")
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--burn-in", type=int, default=200)
    parser.add_argument("--draws", type=int, default=100)
    arguments = parser.parse_args()
    seen, held_out = split_tokens(load(arguments.data, arguments.vocabulary), 0.3, seed=0)
    network = pgbn.zoo.pfa(arguments.topics)
    chain = network.chain({"x": seen}, seed=1).sweep(arguments.burn_in)
    values, means = (HeldOut(held_out, network["x"]) for _ in range(2))
    print(f"{machine()}\n{'samples':>10s}{'values':>10s}{'means':>10s}", flush=True)
    for number in range(1, arguments.draws + 1):
        chain.sweep(THIN)
        values.add_chain(chain)
        means.add_chain(chain, means=True)
        if number in SHOWN:
            print(f"{number:10d}{values.perplexity():10.1f}{means.perplexity():10.1f}", flush=True)


if __name__ == "__main__":
    main()
