"""The file of results: which commit was tested, with which power, and what was found."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import numba
import numpy
import scipy

import pgbn

__all__ = ["FILE", "SECTIONS", "Results", "commit"]

FILE = Path(__file__).with_name("results.json")
SECTIONS = ("joint", "conjugacy", "mutants", "random networks")


def commit() -> str:
    """The commit of this folder, "changed" if files differ from it; "unknown" without git."""
    try:
        name, state = (
            subprocess.run(["git", *words], cwd=FILE.parent, capture_output=True, text=True,
                           check=True).stdout.strip()
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", "../../pgbn"])
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}, changed" if state else name


class Results:
    """What was found, by section and by the name of the entry, written after every entry.

    A run of the same commit and power continues from what the file holds; any other begins anew.
    """

    def __init__(self, power: float, path: Path = FILE) -> None:
        self.path = path
        self.header: dict[str, Any] = {
            "commit": commit(),
            "power": power,
            "versions": {
                "pgbn": pgbn.__version__, "python": platform.python_version(),
                "numpy": numpy.__version__, "scipy": scipy.__version__, "numba": numba.__version__,
            },
        }  # fmt: skip
        old = json.loads(path.read_text("utf-8")) if path.exists() else {}
        same = all(old.get(name) == value for name, value in self.header.items())
        self.found: dict[str, dict[str, Any]] = {
            section: old[section] if same and section in old else {} for section in SECTIONS
        }

    def put(self, section: str, name: str, result: Any) -> None:
        """Keep the result of an entry."""
        self.found[section][name] = result
        self._write()

    def _write(self) -> None:
        """One line for each entry, so that a difference is one of entries."""
        lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in self.header.items()]
        for section, found in self.found.items():
            entries = [
                f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(result)}"
                for name, result in sorted(found.items())
            ]
            inner = ",\n".join(entries)
            lines.append(f" {json.dumps(section)}: {{\n{inner}\n }}")
        body = ",\n".join(lines)
        self.path.write_text(f"{{\n{body}\n}}\n", "utf-8")
