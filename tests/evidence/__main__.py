"""Run everything and write the results: see the docstring of the package."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from pgbn.testing import check_conjugacy, geweke, mutants
from tests.helpers.random_networks import outcome

from .matrix import MOST, Entry, entries, examine
from .networks import NO_CONJUGACY, models_of_the_zoo, networks
from .results import FILE, Results

RANDOM_NETWORKS = 1000
COLUMNS = ("statistics", "replicates")
PAGE = Path(__file__).parents[2] / "docs" / "correctness.md"
BEGIN, END = "<!-- evidence: begin -->", "<!-- evidence: end -->"


def full_power(entry: Entry) -> tuple[int, int]:
    """Replicates and sweeps: most for the zoo on threads, since bits are the same elsewhere."""
    if entry.network in models_of_the_zoo() and entry.executor == "threads":
        return 200_000, 20
    return 30_000, 8


def _joint(results: Results, power: float) -> None:
    for entry in entries():
        if str(entry) in results.found["joint"]:
            continue
        replicates, sweeps = full_power(entry)
        found = examine(entry, max(200, round(power * replicates)), sweeps if power == 1 else 5)
        results.put("joint", str(entry), {
            "z": round(found.worst, 2), "statistics": len(found.z),
            "replicates": found.replicates, "sweeps": found.sweeps,
        })  # fmt: skip


def _conjugacy(results: Results) -> None:
    for name, (network, sizes) in networks().items():
        if name not in results.found["conjugacy"] and name not in NO_CONJUGACY:
            found = check_conjugacy(network, sizes)
            results.put("conjugacy", name, {"worst": found.worst, "fails": found.failures})


def _mutants(results: Results, power: float) -> None:
    for name, (network, sizes) in models_of_the_zoo().items():
        for mistake, mutant in mutants(network).items():
            if f"{name} | {mistake}" in results.found["mutants"]:
                continue
            replicates = max(500, round(power * 60_000))
            found = geweke(network, sizes, replicates, 6, 1, mutant.sampler, broken=mutant)
            results.put("mutants", f"{name} | {mistake}", {
                "z": round(found.worst, 1), "replicates": replicates,
            })  # fmt: skip


def _random_networks(results: Results, power: float) -> None:
    for number in range(max(10, round(power * RANDOM_NETWORKS))):
        if str(number) not in results.found["random networks"]:
            kind, z, words = outcome(number, 2000)
            result = {"found": words} if words else {"z": z} if kind == "accepted" else kind
            results.put("random networks", str(number), result)


def joint_table(found: dict[str, Any]) -> list[str]:
    """The largest |z| of every model of the zoo for each sampler, over all executors."""
    samplers = ("collapsed", "partial", "blocked", "general", "composed")
    lines = [
        "| model | statistics | replicates | " + " | ".join(samplers) + " |",
        "|---|---|---|" + "---|" * len(samplers),
    ]
    for model in models_of_the_zoo():
        of = {name: r for name, r in found["joint"].items() if name.startswith(f"{model} | ")}
        cells = []
        for sampler in samplers:
            z = [r["z"] for name, r in of.items() if f" | {sampler} | " in name]
            cells.append(f"{max(z):.2f}" if z else "–")
        statistics, replicates = (max(r[key] for r in of.values()) for key in COLUMNS)
        lines.append(f"| `{model}` | {statistics} | {replicates:,} | {' | '.join(cells)} |")
    return lines


def mutant_table(found: dict[str, Any]) -> list[str]:
    """For every mistake: in how many models it was made, in how many it was seen, and its |z|."""
    lines = [
        "| mistake | models | seen (abs z > 4) | smallest | largest |",
        "|---|---|---|---|---|",
    ]
    mistakes = {name.split(" | ")[1] for name in found["mutants"]}
    for mistake in sorted(mistakes):
        z = [r["z"] for name, r in found["mutants"].items() if name.endswith(f" | {mistake}")]
        seen = sum(value > MOST for value in z)
        lines.append(f"| {mistake} | {len(z)} | {seen} | {min(z):.1f} | {max(z):.1f} |")
    return lines


def tables() -> str:
    """What docs/correctness.md shows of the results."""
    found = json.loads(FILE.read_text("utf-8"))
    others = [r["z"] for r in found["joint"].values()]
    algebra = [r["worst"] for r in found["conjugacy"].values()]
    cases = found["random networks"].values()
    accepted = [r["z"] for r in cases if isinstance(r, dict)]
    made = {r["replicates"] for r in found["mutants"].values()}
    return "\n".join([
        f"Tested: commit {found['commit'][:10]}. The largest |z| of each sampler over all executors:",
        "", *joint_table(found), "",
        f"All {len(others):,} combinations of network, sampler and executor passed; "
        f"the largest |z| is {max(others):.2f}. `check_conjugacy` passed for {len(algebra)} networks; "
        f"the largest difference is {max(algebra):.0e}. Of {len(cases)} random networks "
        f"{len(accepted)} passed (largest |z| {max(accepted):.2f}) and {len(cases) - len(accepted)} "
        "were rejected.",
        "", "The same test applied to samplers with one mistake each "
        f"({', '.join(f'{n:,}' for n in sorted(made))} replicates):", "", *mutant_table(found),
    ])  # fmt: skip


def write_page() -> None:
    """Put the tables between the two marks of the page."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{tables()}\n{END}{after}", "utf-8")


def main(arguments: list[str] | None = None) -> int:
    """0 if nothing was found wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.evidence")
    parser.add_argument("--power", type=float, default=1.0, help="share of the replicates")
    parser.add_argument(
        "--table", action="store_true", help="write the tables of docs/correctness.md, run nothing"
    )
    asked = parser.parse_args(arguments)
    if asked.table:
        write_page()
        return 0
    results = Results(asked.power)
    _joint(results, asked.power)
    _conjugacy(results)
    _mutants(results, asked.power)
    _random_networks(results, asked.power)
    wrong = [name for name, r in results.found["joint"].items() if not r["z"] < MOST]
    wrong += [name for name, r in results.found["conjugacy"].items() if r["fails"]]
    wrong += [f"random network {n}" for n, r in results.found["random networks"].items()
              if isinstance(r, dict) and "found" in r]  # fmt: skip
    print("\n".join(wrong) or "nothing was found wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
