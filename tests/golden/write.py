"""Record what is expected of new files: ``python -m tests.golden.write``.

Save a folder to ``files``, or the JSON of a network to ``networks``, under a new name, and run this.
What is there stays as it is: these files stand for those of users, who cannot write theirs again.
Where draws were meant to change their bits, ``python -m tests.golden.write next`` records anew what
is continued from the files, and nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pgbn as pg
from tests.same_bits.machine import differences, header

from .describe import commands, continued, described, digest, is_stopped, resumed

__all__ = ["COMMAND", "EXPECTED", "FILES", "NETWORKS"]

FILES = Path(__file__).with_name("files")
NETWORKS = Path(__file__).with_name("networks")
EXPECTED = Path(__file__).with_name("expected.json")
COMMAND = "pgbn-fit"  # written by the command line


def write(again: bool) -> None:
    """Record the files that are new or, ``again``, what is continued from all of them."""
    expected = json.loads(EXPECTED.read_text("utf-8"))
    if again:
        expected["machine"] = header()
    elif elsewhere := differences(expected["machine"]):
        raise SystemExit(f"the others were recorded elsewhere, record them here first: {elsewhere}")
    for path in sorted(NETWORKS.iterdir()):
        network = pg.Network.from_json(path.read_text("utf-8"))
        expected["networks"].setdefault(path.stem, digest(network.schedule.latex()))
    for folder in sorted(FILES.iterdir()):
        entry = expected["files"].setdefault(folder.name, {})
        if again or not entry:
            print(folder.name)
            entry.setdefault("content", described(folder))
            entry["next"] = (
                digest(resumed(folder, 1)) if is_stopped(folder) else continued(folder, 1)
            )
        if again and "commands" in entry:
            entry["commands"] = commands(folder)
    EXPECTED.write_text(_lines(expected), "utf-8")


def _lines(expected: dict[str, Any]) -> str:
    """JSON with a line for every file."""
    parts = []
    for part, entries in expected.items():
        lines = [
            f"{json.dumps(n)}: {json.dumps(e, ensure_ascii=False)}" for n, e in entries.items()
        ]
        parts.append(f"{json.dumps(part)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    write(sys.argv[1:] == ["next"])
