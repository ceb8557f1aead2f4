"""What a trace costs: the log likelihood of the data beside a sweep, and the two kernels that find
the rates of the cells, in turn.

    python -m benchmarks.trace --data ../shared/data/20newsgroups.npz
"""

import argparse

import numpy as np

from benchmarks.networks import Sweeper, least, machine, measure, save
from benchmarks.sweep import load
from pgbn.engine.compile.products import splitter_of
from pgbn.samplers.thinning import cell_rates, column_rates


class Side:
    """Something to be timed as if it were a sweep."""

    def __init__(self, call):
        self.sweep = call


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="an .npz file of counts; without it a corpus is drawn")
    parser.add_argument("--vocabulary", type=int, default=0, help="most frequent terms; 0: all")
    parser.add_argument("--topics", type=int, default=400)
    parser.add_argument("--burn-in", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    counts = load(options.data, options.vocabulary)
    sweeper = Sweeper(counts, [options.topics], burn_in=options.burn_in)
    chain = sweeper.chain
    sides = {"sweep": sweeper, "log likelihood": Side(chain.log_likelihood)}
    chain.log_likelihood()  # compiled, and Φ drawn
    program = chain._program
    part = splitter_of(program, program.network["x"], "rate").parts[0]
    cells, out = program.cells["x"], np.empty((2, program.cells["x"].values.size))
    given = (0, cells.rows, cells.starts, cells.indices, cells.numbers, part.factors())
    sides["rates, any factors"] = Side(lambda: cell_rates(*given, out[0]))
    sides["rates, one factor of the column"] = Side(
        lambda: column_rates(*given, part.column_factor, out[1])
    )
    for side in sides.values():
        side.sweep()
    assert np.array_equal(*out), "the kernels differ"
    found = least(measure(sides, options.repeats))
    print(
        machine(), f"{counts.shape[0]} documents, {counts.shape[1]} terms, {options.topics} topics"
    )
    for name, (cpu, _) in found.items():
        print(f"{name}: {cpu:.3f} CPU s, {cpu / found['sweep'][0]:.2f} sweeps")
    slow, fast = (found[name][0] for name in list(sides)[2:])
    print(f"any factors ÷ one factor of the column: {slow / fast:.1f}, the same bits")
    save(options.json, {"arguments": vars(options), "seconds": found})


if __name__ == "__main__":
    main()
