"""Record the hashes: ``python -m tests.same_bits.record [NAME ...]``.

Without names all are recorded anew; with names only those, or those whose names begin so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .cases import CASES, Case
from .machine import differences, header

__all__ = ["FILE", "read", "record"]

FILE = Path(__file__).with_name("hashes.json")


def read() -> dict[str, dict[str, str]]:
    """The header ("machine") and the hashes by the name of the case."""
    return json.loads(FILE.read_text("utf-8"))


def record(names: Sequence[str]) -> None:
    """Write ``hashes.json``, and say what has changed."""
    old = read() if FILE.exists() else {"machine": header(), "hashes": {}}
    chosen = [case for name, case in CASES.items() if not names or name.startswith(tuple(names))]
    if not chosen:
        raise SystemExit(f"no case has a name that begins with {' or '.join(names)}")
    other = differences(old["machine"])
    if names and other and not all(case.everywhere for case in chosen):
        raise SystemExit(f"the others were recorded elsewhere ({other}): record all, without names")
    hashes = dict(old["hashes"])
    for case in chosen:
        new = _hash(case)
        if hashes.get(case.name) != new:
            print("new    " if case.name not in hashes else "changed", case.name)
        hashes[case.name] = new
    for name in sorted(set(hashes) - set(CASES)):
        print("gone   ", name)
    body = {
        "machine": old["machine"] if names else header(),
        "hashes": {name: hashes[name] for name in sorted(CASES) if name in hashes},
    }
    FILE.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(chosen)} of {len(CASES)} cases recorded in {FILE.name}")


def _hash(case: Case) -> str:
    found = case.hashes()
    if len(set(found.values())) != 1:
        raise SystemExit(f"{case.name}: the value depends on the threads: {found}")
    return next(iter(found.values()))


if __name__ == "__main__":
    record(sys.argv[1:])
