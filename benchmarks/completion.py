"""Document completion with one Φ, with kept draws of Φ, and by a joint run.

    python -m benchmarks.completion --data ../shared/data/20newsgroups.npz

The training documents and 80 % of the tokens of each test document are seen. The perplexity of the
others is that of the ratio of sums over samples:

- of a joint run over training documents and seen tokens, samples 5 sweeps apart;
- by document completion with a network trained on the training documents alone, given its one Φ;
- and given the draws of Φ that it kept;
- by going on from there over the training documents and the seen tokens (``train=``);
- the same with a network trained on all that the joint run sees: what is left is the difference
  between sampling documents together and one by one.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import scipy.sparse as sp

import pgbn
from benchmarks.networks import machine
from examples.paper.corpora import load_newsgroups
from pgbn.evaluation import HeldOut, split_tokens

THIN = 5


def joint(train, both, held_out, topics, burn_in, samples):
    """The perplexity of a run over the training documents and the seen tokens together."""
    empty = sp.csr_array((train.shape[0], train.shape[1]), dtype=held_out.dtype)
    score = HeldOut(sp.vstack([empty, held_out]).tocsr())
    chain = pgbn.zoo.pfa(topics).chain({"x": both}, seed=1).sweep(burn_in)
    for _ in range(samples):
        score.add_chain(chain.sweep(THIN))
    return score.perplexity()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--topics", type=int, default=128)
    parser.add_argument("--burn-in", type=int, default=400)
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--every", type=int, default=1, help="of the test documents, every n-th")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--sweeps", type=int, nargs=2, default=[100, 100], help="for new documents")
    arguments = parser.parse_args()
    corpus = load_newsgroups(arguments.data, arguments.vocabulary)
    seen, held_out = split_tokens(corpus["test"][:: arguments.every], 0.8, seed=0)
    print(f"{machine()}; {seen.sum()} test tokens seen, {held_out.sum()} scored", flush=True)
    clock = time.perf_counter()

    def show(name, value):
        nonlocal clock
        now = time.perf_counter()
        print(f"{name:45s}{value:9.1f}{now - clock:9.1f} s", flush=True)
        clock = time.perf_counter()

    samples = arguments.draws
    both = sp.vstack([corpus["train"], seen]).tocsr()
    found = joint(corpus["train"], both, held_out, arguments.topics, arguments.burn_in, samples)
    show(f"joint run, {samples} samples", found)
    burn_in, of = arguments.sweeps
    for name, data in (("training documents", corpus["train"]), ("what the joint run sees", both)):
        training = pgbn.train_layerwise(
            data, arguments.topics, 1, burn_in=arguments.burn_in, sweeps=arguments.sweeps,
            keep_draws=samples, progress=False, seed=1,
        )  # fmt: skip
        one = replace(training.deepest, draws={})
        for what, model in (("one Φ", one), (f"{samples} draws of Φ", training.deepest)):
            found = HeldOut.of_model(model, seen, held_out, burn_in=burn_in, draws=of)
            show(f"{what}, of {name}", found.perplexity())
        if data is not both:
            found = HeldOut.of_model(training.deepest, seen, held_out, burn_in=burn_in,
                                          draws=THIN * samples, train=data)  # fmt: skip
            show(f"{samples} samples of both, begun there", found.perplexity())


if __name__ == "__main__":
    main()
