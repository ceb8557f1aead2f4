"""Peak resident memory of a chain, measured in a process of its own.

    python -m benchmarks.memory --data ../shared/data/20newsgroups.npz --widths 400 200 200 100 100

The first figure is that of the imports, the second that of the loaded counts, the third after the
sweeps. tomotopy's LDA with the first width is measured beside it where it is installed.
"""

import argparse
import json
import resource
import subprocess
import sys

from benchmarks.networks import Sweeper, machine, save
from benchmarks.sweep import Tomotopy, load


def peak():
    """Peak resident memory of this process so far, in MiB."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1024.0 * 1024.0 if sys.platform == "darwin" else 1024.0)


def child(arguments):
    """Run one side and print its peaks as JSON."""
    peaks = [peak()]
    counts = load(arguments.data, arguments.vocabulary)
    peaks.append(peak())
    if arguments.side == "tomotopy":
        Tomotopy(counts, arguments.widths[0], arguments.sweeps)
    else:
        chain = Sweeper(counts, arguments.widths, arguments.threads, arguments.side).chain
        chain.sweep(arguments.sweeps)
        if arguments.values:
            chain._select(["phi1", "theta1"])
    print(json.dumps([*peaks, peak()]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="an .npz file as in shared/data")
    parser.add_argument("--vocabulary", type=int, help="keep the most frequent terms")
    parser.add_argument("--widths", type=int, nargs="+", default=[400, 200, 200, 100, 100])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--values", action="store_true", help="draw phi1 and theta1 at the end")
    parser.add_argument("--full", action="store_true", help="every sampler of the first layer")
    parser.add_argument("--json")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        child(arguments)
        return
    sides = ["auto", "tomotopy"]
    if arguments.full:
        sides = ["collapsed", "partial", "blocked", "tomotopy"]
    print(f"widths {arguments.widths}, {arguments.sweeps} sweeps; {machine()}")
    print(f"{'MiB':12s}{'imports':>10s}{'data':>10s}{'peak':>10s}")
    results = {}
    for side in sides:
        call = [sys.executable, "-m", "benchmarks.memory", *sys.argv[1:], "--side", side]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{side:12s} failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
            continue
        results[side] = json.loads(done.stdout.splitlines()[-1])
        print(f"{side:12s}" + "".join(f"{value:10.0f}" for value in results[side]))
    save(arguments.json, {"arguments": vars(arguments), "machine": machine(), "MiB": results})


if __name__ == "__main__":
    main()
