"""Do other programs, and exact sums, agree with our samplers? What docs/agreement.md shows.

    python -m benchmarks.agreement exact
    python -m benchmarks.agreement peers --data ../shared/data/20newsgroups.npz --documents 600
    python -m benchmarks.agreement calibration
    python -m benchmarks.agreement authors
    python -m benchmarks.agreement page

``exact``: posteriors of tiny corpora by summing over every labelling, beside the averages of every
first-layer sampler and of the inference of new documents. ``peers``: log p(w, z) a token of LDA by
sweep, beside other programs. ``calibration``: ranks of true values among posterior draws.
``authors``: held-out perplexities of the scripts of the paper (`examples/paper`), beside those of
the authors' program. Each writes its numbers to docs/results and ends in differences in standard
errors; if any is above three, the exit code is 1. ``page`` writes all of them into the page, and
draws its pictures (with matplotlib).
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

import pgbn
from benchmarks.agreement_exact import exact
from benchmarks.agreement_peers import PROGRAMS, REFERENCES, peers
from benchmarks.agreement_pictures import draw_pictures
from benchmarks.networks import error_of_mean, machine, plot, save
from benchmarks.sweep import load
from pgbn.engine.first_layer.choice import sampler_names
from pgbn.testing import sbc

__all__ = ["authors", "calibration", "compare", "with_tables"]

MOST = 3.0  # standard errors
RESULTS, PAGE, IMAGES = Path("docs/results"), Path("docs/agreement.md"), Path("docs/images")
# The authors' own program on our split, 20 samples one in five of the last 100 sweeps: one layer
# with two seeds, then a second layer.
AUTHORS = {1: [444.5, 446.7], 2: [437.7]}

Scores = dict[str, float]


def compare(found: dict[str, dict[int, list[float]]]) -> Scores:
    """Differences of each program from the one that it should agree with, in standard errors."""
    scores = {}
    for name, reference in REFERENCES.items():
        if name not in found or reference not in found:
            continue
        for sweeps, values in found[name].items():
            mine = found[reference][sweeps]
            spread = np.hypot(error_of_mean(values), error_of_mean(mine))
            scores[f"{name}, {sweeps} sweeps"] = float((np.mean(mine) - np.mean(values)) / spread)
    return scores


def authors(results: dict[str, Any]) -> Scores:
    """Our perplexities less the authors', for each depth, in standard errors of the difference;
    the spread over seeds is taken to be ours, as theirs are few."""
    scores = {}
    for depth, theirs in AUTHORS.items():
        ours = [r["perplexity"] for r in results.values() if r["depth"] == depth]
        error = np.std(ours, ddof=1) * np.sqrt(1 / len(ours) + 1 / len(theirs))
        scores[f"T = {depth}"] = float((np.mean(ours) - np.mean(theirs)) / error)
    return scores


def calibration(simulations: int) -> tuple[Scores, dict[str, Any]]:
    """Simulation-based calibration of one layer with each of its samplers, of two layers, and of
    binary data; a corrected p-value as the standard errors that would have it."""
    mild = (4.0, 4.0)
    one, two, binary = (
        pgbn.zoo.pgbn(widths, 0.5, (2.0, 4.0), mild, mild, mild, link)
        for widths, link in (([2], "poisson"), ([2, 2], "poisson"), ([2], "bernoulli"))
    )
    cases = {f"one layer, {sampler}": (one, sampler) for sampler in (*sampler_names(), "composed")}
    cases |= {"two layers, blocked": (two, "blocked"), "binary data, blocked": (binary, "blocked")}
    scores, found = {}, {}
    for name, (network, sampler) in cases.items():
        result = sbc(network, {"doc": 3, "term": 3}, simulations, 19, sampler=sampler)
        scores[name] = float(norm.isf(result.worst / 2))
        found[name] = {"thin": result.thin, "statistics": len(result.ranks), "p": result.worst}
        print(f"{name:25} corrected p-value {result.worst:.3f}", flush=True)
    return scores, found


# ---- the page ---------------------------------------------------------------------------


def with_tables(page: str) -> str:
    """The page with the tables of all results between its markers."""

    def write(match: re.Match[str]) -> str:
        name = match[1]
        results = json.loads((RESULTS / f"agreement-{name}.json").read_text())
        return f"<!-- begin {name} -->\n\n{TABLES[name](results)}\n\n<!-- end {name} -->"

    return re.sub(r"<!-- begin (\w+) -->\n.*?<!-- end \1 -->", write, page, flags=re.DOTALL)


def _rows(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _signed(score: float) -> str:
    return f"{score:+.2f}".replace("-", "−")


def _verdict(results: dict[str, Any]) -> str:
    scores = results["scores"]
    worst = np.max(np.abs(list(scores.values())))
    return f"The largest of {len(scores)} is {worst:.2f}."


def _exact_table(results: dict[str, Any]) -> str:
    scores = results["scores"]
    cells = {tuple(name.split(": ")): score for name, score in scores.items()}
    samplers = list(dict.fromkeys(first for first, _ in cells if first != "a new document"))
    statistics = list(dict.fromkeys(second for first, second in cells if first in samplers))
    rows = [[s, *(_signed(cells[sampler, s]) for sampler in samplers)] for s in statistics]
    new = next(score for (first, _), score in cells.items() if first == "a new document")
    table = _rows(["statistic", *samplers], rows)
    return f"{table}\n\nA new document: {_signed(new)}. {_verdict(results)}"


def _peers_table(results: dict[str, Any]) -> str:
    found, scores = results["found"], results["scores"]
    rows = []
    for name, trace in found.items():
        cells = [name, REFERENCES.get(name, "–")]
        for sweeps, values in trace.items():
            score = scores.get(f"{name}, {sweeps} sweeps")
            mean = f"{np.mean(values):.4f} ± {error_of_mean(values):.4f}".replace("-", "−")
            cells.append(mean if score is None else f"{mean} ({_signed(score)})")
        rows.append(cells)
    head = ["program", "compared with", *(f"{n} sweeps" for n in next(iter(found.values())))]
    return f"{_rows(head, rows)}\n\n{_verdict(results)}"


def _calibration_table(results: dict[str, Any]) -> str:
    rows = [
        [name, str(each["statistics"]), str(each["thin"]), f"{each['p']:.3f}"]
        for name, each in results["found"].items()
    ]
    head = ["network and sampler", "statistics", "sweeps between draws", "corrected p-value"]
    return f"{_rows(head, rows)}\n\n{_verdict(results)}"


def _authors_table(results: dict[str, Any]) -> str:
    rows = []
    for name, score in results["scores"].items():
        ours, theirs = results["found"][name]
        rows.append([name, f"{np.mean(ours):.1f} ({min(ours):.1f} to {max(ours):.1f})",
                     str(len(ours)), ", ".join(map(str, theirs)), _signed(score)])  # fmt: skip
    head = ["layers", "pgbn", "seeds", "authors' program", "standard errors"]
    return f"{_rows(head, rows)}\n\n{_verdict(results)}"


TABLES = {"exact": _exact_table, "peers": _peers_table, "calibration": _calibration_table,
          "authors": _authors_table}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=(*TABLES, "page"))
    parser.add_argument("--data", type=Path, help="a corpus; simulated if left out")
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--documents", type=int, help="the first so many; all if left out")
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--alpha", type=float, default=0.5)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--sweeps", type=int, default=20_000, help="of exact")
    parser.add_argument("--simulations", type=int, default=1000, help="of calibration")
    parser.add_argument("--programs", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--plot")
    options = parser.parse_args()
    found: Any
    if options.what == "page":
        PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
        draw_pictures(RESULTS, IMAGES, MOST)
        return
    if options.what == "exact":
        found = scores = exact(options.sweeps)
    elif options.what == "calibration":
        scores, found = calibration(options.simulations)
    elif options.what == "authors":
        results = json.loads((RESULTS / "heldout.json").read_text())
        scores = authors(results)
        found = {f"T = {depth}": [[r["perplexity"] for r in results.values()
                                   if r["depth"] == depth], theirs]
                 for depth, theirs in AUTHORS.items()}  # fmt: skip
    else:
        counts = load(options.data, options.vocabulary)[: options.documents]
        found = peers(counts, options.topics, options.alpha, options.seeds, options.programs)
        scores = compare(found)
        lines = {
            name: (list(trace), [np.mean(v) for v in trace.values()])
            for name, trace in found.items()
        }
        plot(options.plot, lines, "sweeps", "log p(w, z) a token", log=False)
    for name, score in scores.items():
        print(f"{name:45} {score:+.2f} standard errors")
    save(
        RESULTS / f"agreement-{options.what}.json",
        {"arguments": vars(options), "machine": machine(), "found": found, "scores": scores},
    )
    worst = float(np.max(np.abs(list(scores.values()))))  # what is not a number is the largest
    print(f"largest difference: {worst:.2f} standard errors (at most {MOST:g})")
    sys.exit(0 if worst < MOST else 1)


if __name__ == "__main__":
    main()
