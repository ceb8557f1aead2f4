"""Run all campaigns, or some of them, and write down what was found.

    python -m tests.campaign                          # one minute for each campaign
    python -m tests.campaign --minutes 600            # so long for all of them
    python -m tests.campaign --only kills faults --cases 200 --first 1000
    python -m tests.campaign --table                  # the table of docs/reliability.md

Every case has a number, and the same number is the same case. The result of a campaign is put in
the place of its last one in tests/campaign/results.json. A finding ends the run with code 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from tests.campaign.harness import Campaign, run_cases

__all__ = ["CAMPAIGNS", "RESULTS", "main", "table"]

RESULTS = Path(__file__).with_name("results.json")

# name → the class, and what a case is
CAMPAIGNS: dict[str, tuple[str, str]] = {
    "corpora": ("corpora.Corpora", "a corpus file with changed bytes is read"),
    "changes": ("changes.Changes", "a file that once hurt a reader is changed and read"),
    "folders": ("folders.Folders", "a folder with valid checksums is forged, read and used"),
    "commits": ("kills.Commits", "two system calls of a commit are killed"),
    "kills": ("kills.Kills", "a method that writes is killed up to three times and continued"),
    "faults": ("kills.Faults", "a system call of a write fails up to three times"),
    "interrupts": ("kills.Interrupts", "SIGINT, SIGTERM or SIGHUP up to three times"),
    "forms": ("forms.Forms", "the same counts in another container or type of number"),
    "extremes": ("extremes.Extremes", "a model and data at the ends of what floats hold"),
    "calls": ("calls.Calls", "a public function gets one wrong argument"),
    "renamed": ("renamed.Renamed", "a private name of numba is another one"),
}


def make(name: str, place: Path) -> Campaign:
    """A campaign in an empty folder."""
    module, kind = CAMPAIGNS[name][0].split(".")
    found: Callable[[Path], Campaign] = getattr(import_module(f"tests.campaign.{module}"), kind)
    return found(place)


def run(name: str, first: int, cases: int | None, seconds: float) -> dict[str, Any]:
    """The record of some cases of a campaign; what was found is printed too."""
    numbers = count(first) if cases is None else range(first, first + cases)
    with tempfile.TemporaryDirectory() as place:
        campaign, start = make(name, Path(place)), time.monotonic()
        done, found = run_cases(campaign, numbers, seconds)
    print(*found, sep="\n", end="\n" if found else "", flush=True)
    took = round(time.monotonic() - start)
    return {"first": first, "cases": done, "findings": len(found), "seconds": took}


def commit() -> str:
    """The commit that is tested."""
    words = ["git", "rev-parse", "--short=10", "HEAD"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=RESULTS.parent)
    return done.stdout.strip() or "unknown"


def table(results: dict[str, Any]) -> str:
    """The results in Markdown."""
    lines = ["| campaign | a case | cases | findings | commit |", "|---|---|---|---|---|"]
    for name, (_, words) in CAMPAIGNS.items():
        if name in results:
            own = results[name]
            lines.append(
                f"| {name} | {words} | {own['cases']:,} | {own['findings']} | {own['commit']} |"
            )
    return "\n".join(lines)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--minutes", type=float, help="for all campaigns together")
    parser.add_argument("--cases", type=int, help="of each campaign, instead of a time")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", nargs="+", choices=list(CAMPAIGNS), default=list(CAMPAIGNS))
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of the results")
    parser.add_argument("--table", action="store_true", help="print the table of the results")
    asked = parser.parse_args(words)
    results = json.loads(asked.results.read_text()) if asked.results.exists() else {}
    if asked.table:
        print(table(results))
        return 0
    minutes = asked.minutes if asked.minutes is not None else float(len(asked.only))
    seconds = 1e9 if asked.cases is not None else 60.0 * minutes / len(asked.only)
    for name in asked.only:
        record = run(name, asked.first, asked.cases, seconds)
        results[name] = {**record, "commit": commit()}
        asked.results.write_text(json.dumps(results, indent=1) + "\n")
        print(f"{name}: {record['cases']} cases, {record['findings']} findings, "
              f"{record['seconds']} s", flush=True)  # fmt: skip
    return int(any(results[name]["findings"] for name in asked.only))


if __name__ == "__main__":
    sys.exit(main())
