"""Random networks examined: refused in words, or right by the joint-distribution test.

    python -m tests.helpers.network_trials 0 1400 2000       # cases 0 … 1399, 2,000 replicates
    python -m tests.helpers.network_trials 0 200 2000 "CRT off by one"    # broken on purpose
    python -m tests.helpers.network_trials 0 1400 2000 --log cases.txt    # can be stopped, goes on

What passes |z| 4 is repeated with another seed and four times the replicates, and is a finding if
it passes again. The last line counts; the exit code is 1 if anything was found. With ``--log`` every
case is a line of that file, its number first, and cases that have their line are not tried again:
the counts are those of the whole file.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pgbn
from pgbn.testing import GewekeResult, geweke, mutants
from tests.helpers.random_networks import Case, draft

__all__ = ["MOST", "check_refusal", "examine", "is_seen"]

MOST = 4.0  # |z|
SWEEPS = 5


def examine(case: Case, replicates: int, sweeps: int = SWEEPS) -> float:
    """The largest |z| of a case in the derived order and in its random one; an `AssertionError`
    is a finding."""
    assert case.network is not None
    orders = [None] if case.order == case.network.schedule.names else [None, case.order]
    return max(_examine(case, order, replicates, sweeps) for order in orders)


def _examine(case: Case, order: list[str] | None, replicates: int, sweeps: int) -> float:
    try:
        result = _result(case, order, replicates, sweeps, 1)
    except pgbn.StaleReadError:  # a sampler that integrates θ out accepts fewer orders
        assert order is not None, case.number
        assert case.layer1 in ("collapsed", "partial"), case.number
        return 0.0
    if result.worst < MOST:
        return result.worst
    result = _result(case, order, 4 * replicates, sweeps, 2)
    assert result.worst < MOST, f"case {case.number}, {case.layer1}, order {order}: {result}"
    return result.worst


def _result(
    case: Case,
    order: list[str] | None,
    replicates: int,
    sweeps: int,
    seed: int,
    layer1: str | None = None,
    broken: Callable[[pgbn.Chain], None] | None = None,
) -> GewekeResult:
    """A warning of numpy, about a number that is none, is a finding too."""
    assert case.network is not None
    layer1 = layer1 or case.layer1
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return geweke(case.network, None, replicates, sweeps, seed, layer1, 1, broken, order=order)


def check_refusal(case: Case) -> None:
    """A refusal names a node, and says what to do in more than a few words."""
    words = str(case.refusal)
    assert len(words) > 60, f"case {case.number}: {words}"
    assert any(name in words for name in case.names), f"case {case.number}: {words}"


def is_seen(case: Case, mutant: str, replicates: int) -> bool | None:
    """Whether a network notices that its sampler is broken; None if it has no such part."""
    assert case.network is not None
    broken = mutants(case.network).get(mutant)
    if broken is None:
        return None
    return _result(case, None, replicates, SWEEPS, 1, broken.layer1, broken).worst > MOST


def outcome(number: int, replicates: int, mutant: str | None) -> tuple[str, float, str]:
    """What became of a case: its kind, its largest |z| and, of a finding, its words."""
    try:
        case = draft(number)
        if case.network is None:
            check_refusal(case)
            return "refused", 0.0, ""
        if mutant is not None:
            return f"seen: {is_seen(case, mutant, replicates)}", 0.0, ""
        return "accepted", examine(case, replicates), ""
    except Exception as error:  # whatever it is, it is a finding
        return "found", 0.0, " ".join(f"{type(error).__name__}: {error}".split())[:1500]


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("first", "last", "replicates"):
        parser.add_argument(name, type=int)
    parser.add_argument("mutant", nargs="?")
    parser.add_argument("--log", type=Path)
    asked = parser.parse_args()
    lines = asked.log.read_text().splitlines() if asked.log and asked.log.exists() else []
    done = {int(line.split("\t")[0]) for line in lines}
    for number in range(asked.first, asked.last):
        if number in done:
            continue
        begun = time.process_time()
        kind, largest, words = outcome(number, asked.replicates, asked.mutant)
        seconds = time.process_time() - begun
        lines.append(f"{number}\t{kind}\t{largest:.2f}\t{seconds:.1f} s\t{words}")
        if asked.log:
            with asked.log.open("a") as log:
                log.write(lines[-1] + "\n")
        elif words or seconds > 5:
            print(lines[-1], flush=True)
    counts = Counter(line.split("\t")[1] for line in lines)
    largest = max((float(line.split("\t")[2]) for line in lines), default=0.0)
    print(dict(counts), f"largest |z| {largest:.2f}, {time.process_time():.0f} s of the processor")
    sys.exit(1 if counts["found"] else 0)


if __name__ == "__main__":
    main()
