"""Write the files: ``python -m tests.snapshots.write [NAME ...]``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from .texts import TEXTS

__all__ = ["FILES", "as_written", "write"]

FILES = Path(__file__).with_name("files")


def as_written(text: str) -> str:
    """A text as its file holds it: with one line break at the end."""
    return text.rstrip("\n") + "\n"


def write(names: Sequence[str]) -> None:
    """Write the texts whose names begin with one of ``names``, or all; delete files of none."""
    chosen = [name for name in TEXTS if not names or name.startswith(tuple(names))]
    if not chosen:
        raise SystemExit(f"no text has a name that begins with {' or '.join(names)}")
    for name in chosen:
        (FILES / name).write_text(as_written(TEXTS[name]()), "utf-8", newline="\n")
    for path in FILES.iterdir():
        if path.name not in TEXTS:
            path.unlink()
    print(f"{len(chosen)} of {len(TEXTS)} texts written; see git diff {FILES.name}")


if __name__ == "__main__":
    write(sys.argv[1:])
