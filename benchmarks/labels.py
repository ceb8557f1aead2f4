"""What a sweep is worth: perplexity of held-out tokens against CPU seconds, T = 1.

"collapsed", and "partial" with several sweeps of labels for one Φ, or with a collapsed sweep after
every n of its own. All of them leave the posterior as it is: labels go from one to the other, and Φ
is drawn from Dir(η + n) before "partial" goes on.
"""

import time

import numpy as np

import pgbn
from benchmarks.sweep import load
from pgbn.evaluation import HeldOut, split_tokens
from pgbn.samplers.random import stream_key

__all__ = ["by_labels", "share_labels"]


def share_labels(source, target, key, copies=1):
    """Put the labels of one chain, for repeated documents ``copies`` times, into another one, of
    whichever sampler, with all that is counted from them."""
    labels = np.tile(source.sampler.tokens.labels, copies)
    if target.sampler == "collapsed":
        target.sampler.tokens.restore({"labels": labels})
        target.sampler._begin()
    else:
        target.sampler.restore({"labels": labels, "key": np.uint64(key)})


class Line:
    """Perplexity of one sample at some of the sweeps, beside the CPU seconds of all until then."""

    def __init__(self, net, held_out, every):
        self.net, self.held_out, self.every = net, held_out, every
        self.cpu, self.points = 0.0, []

    def note(self, sweep, seconds, chain):
        self.cpu += seconds
        if sweep % self.every == 0:
            meter = HeldOut(self.held_out, self.net["x"])
            meter.add_chain(chain)
            self.points.append((self.cpu, meter.perplexity()))


def several_of_labels(line, seen, sampler, again, sweeps):
    """``again`` sweeps of labels more before each sweep."""
    chain = line.net.chain({"x": seen}, seed=1, sampler=sampler, threads=1)
    for sweep in range(1, sweeps + 1):
        begun = time.process_time()
        for number in range(again):
            chain._first_layer.step(stream_key(7, sweep, number))
        chain.sweep()
        line.note(sweep, time.process_time() - begun, chain)


def collapsed_now_and_then(line, seen, period, sweeps):
    """Every ``period``-th sweep is collapsed. What all documents share goes with the labels."""
    chains = [line.net.chain({"x": seen}, seed=1, sampler=name, threads=1)
              for name in ("partial", "collapsed")]  # fmt: skip
    now = chains[0]
    for sweep in range(1, sweeps + 1):
        begun, last, now = time.process_time(), now, chains[sweep % period == 0]
        if now is not last:
            drawn = (last.sampler.pattern.loadings, last.sampler.pattern.scores)
            values = {n: np.array(v) for n, v in last._program.values.items() if n not in drawn}
            now._program.values.update(values)
            share_labels(last, now, stream_key(8, sweep))
        now.sweep()
        line.note(sweep, time.process_time() - begun, now)


def by_labels(arguments):
    """All of these, one after the other."""
    counts = load(arguments.data, arguments.vocabulary)
    seen, held_out = split_tokens(counts, 0.8, seed=0)
    net, found, sweeps = pgbn.zoo.pfa(arguments.topics), {}, arguments.sweeps
    ways = {
        "collapsed": (several_of_labels, "collapsed", 0),
        "partial": (several_of_labels, "partial", 0),
        "partial, 2 of labels": (several_of_labels, "partial", 1),
        "partial, 3 of labels": (several_of_labels, "partial", 2),
        "partial, each 2nd collapsed": (collapsed_now_and_then, 2),
        "partial, each 4th collapsed": (collapsed_now_and_then, 4),
        "partial, each 8th collapsed": (collapsed_now_and_then, 8),
    }
    for name, (run, *options) in ways.items():
        if arguments.only and arguments.only not in name:
            continue
        line = Line(net, held_out, max(1, sweeps // 10))
        run(line, seen, *options, sweeps)
        found[name] = line.points
        print(name, [(round(a, 2), round(b, 1)) for a, b in line.points], flush=True)
    lines = {name: tuple(zip(*line, strict=True)) for name, line in found.items()}
    return found, lines, ("CPU s", "perplexity")
