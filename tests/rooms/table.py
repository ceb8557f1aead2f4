"""The folders of the package: what each is for, and which others its files may import.

The one source of the table: `test_rooms` checks every import against it, and the table in
docs/architecture.md is written from it by ``python -m tests.rooms.table``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "pgbn"
ARCHITECTURE = PACKAGE.parent / "docs" / "architecture.md"
BEGIN, END = "<!-- folders: written by python -m tests.rooms.table -->", "<!-- end of folders -->"


@dataclass(frozen=True)
class Room:
    """A folder of the package."""

    question: str
    holds: str
    imports: tuple[str, ...]


_LOW = ("samplers", "nodes", "network", "engine", "storage", "zoo")
_LEARNT = (*_LOW, "training", "evaluation", "estimators")
_SHOWN = tuple(room for room in _LEARNT if room != "samplers")

ROOMS = {
    "samplers": Room(
        "how is one array drawn?",
        "numba kernels, (stream key, arrays) → arrays; keyed streams; rows on threads",
        (),
    ),
    "nodes": Room(
        "what can be said?",
        "node types, each with its rules; expressions; `rules`: what a rule is, the registry",
        ("samplers",),
    ),
    "network": Room(
        "what does it mean?",
        "the checked graph: normal form, wiring, exposures, reads, steps, schedule, JSON; no arrays",
        ("nodes", "storage"),
    ),
    "engine": Room(
        "how does it run?",
        "a schedule compiled to functions on arrays; time; first layer; fused kernels; chains, "
        "draws, progress",
        ("samplers", "nodes", "network", "storage"),
    ),
    "storage": Room(
        "what is kept?",
        "folders that are complete at every moment, arrays, corpora and count files, the registry of "
        "codecs",
        (),
    ),
    "zoo": Room("what has been published?", "one short file for each model", ("nodes", "network")),
    "training": Room(
        "how is it learnt?",
        "growing layer by layer, new rows, checkpoints: the writer and the reader",
        _LOW,
    ),
    "evaluation": Room(
        "how good is it?",
        "perplexity, topics, coherence, generated documents",
        (*_LOW, "training"),
    ),
    "estimators": Room(
        "how does scikit-learn see it?", "the estimators", (*_LOW, "training", "evaluation")
    ),
    "explain": Room("how is it derived?", "derivations, in every format", _SHOWN),
    "report": Room("how is it read?", "the page", (*_SHOWN, "explain")),
    "plot": Room("how is it drawn?", "pictures and figures", (*_SHOWN, "explain", "report")),
    "testing": Room("is it right?", "Geweke, conjugacy", (*_LEARNT, "explain", "report", "plot")),
    "cli": Room("how is it typed?", "commands", (*_LEARNT, "explain", "report", "plot", "testing")),
}

# What every folder may import: files at the top of the package that import no folder.
FOUNDATION = ("errors", "checks", "versions", "diagnostics", "datasets")

# The other files at the top: the entrances, and public names of modules that stand in a folder.
TOP = ("__init__", "__main__", "checkpoint", "estimate", "extend", "reference",
       "reference_arrays", "reference_run")  # fmt: skip

# Files with methods that belong to a folder above: they import what they need when called.
UPWARD = (
    "nodes/rules.py",
    "network/network_methods.py",
    "engine/run/chain.py",
    "engine/run/draws.py",
    "training/topic_methods.py",
    "training/training_result.py",
)


def architecture_table() -> str:
    """The table in Markdown."""
    lines = ["| folder | question | holds | may import |", "|---|---|---|---|"]
    for name, room in ROOMS.items():
        imports = ", ".join(room.imports) or "–"
        lines.append(f"| `{name}` | {room.question} | {room.holds} | {imports} |")
    return "\n".join(lines)


def _write() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    ARCHITECTURE.write_text(
        f"{before}{BEGIN}\n{architecture_table()}\n{END}{after}", encoding="utf-8"
    )


if __name__ == "__main__":
    _write()
