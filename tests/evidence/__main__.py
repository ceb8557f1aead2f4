"""Run everything and write the results: see the docstring of the package."""

from __future__ import annotations

import argparse
import json
import sys

from pgbn.testing import check_conjugacy, geweke, mutants
from tests.helpers.network_trials import outcome

from .matrix import MOST, Entry, entries, examine
from .networks import NO_CONJUGACY, models_of_the_zoo, networks
from .results import FILE, Results

__all__ = ["full_power", "main"]

RANDOM_NETWORKS = 1000


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
            found = geweke(network, sizes, replicates, 6, 1, mutant.layer1, broken=mutant)
            results.put("mutants", f"{name} | {mistake}", {
                "z": round(found.worst, 1), "replicates": replicates,
            })  # fmt: skip


def _random_networks(results: Results, power: float) -> None:
    for number in range(max(10, round(power * RANDOM_NETWORKS))):
        if str(number) not in results.found["random networks"]:
            kind, z, words = outcome(number, 2000, None)
            result = {"found": words} if words else {"z": z} if kind == "accepted" else kind
            results.put("random networks", str(number), result)


def table() -> str:
    """The largest |z| of every model of the zoo for each sampler, over all executors."""
    found = json.loads(FILE.read_text("utf-8"))
    samplers = ("collapsed", "partial", "blocked", "general", "composed")
    lines = [
        f"Commit {found['commit']}, power {found['power']:g}.", "",
        "| model | statistics | " + " | ".join(samplers) + " |",
        "|---|---|" + "---|" * len(samplers),
    ]  # fmt: skip
    for model in models_of_the_zoo():
        of = {name: r for name, r in found["joint"].items() if name.startswith(f"{model} | ")}
        worst = {
            sampler: max((r["z"] for name, r in of.items() if f" | {sampler} | " in name),
                         default=None)
            for sampler in samplers
        }  # fmt: skip
        cells = ["–" if z is None else f"{z:.2f}" for z in worst.values()]
        statistics = next(iter(of.values()))["statistics"] if of else 0
        lines.append(f"| `{model}` | {statistics} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """0 if nothing was found wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.evidence")
    parser.add_argument("--power", type=float, default=1.0, help="share of the replicates")
    parser.add_argument("--table", action="store_true", help="print the table, run nothing")
    asked = parser.parse_args(arguments)
    if asked.table:
        print(table())
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
