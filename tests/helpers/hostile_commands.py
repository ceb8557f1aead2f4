"""Commands that must end in a result, or in one line that names the culprit."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from pgbn.cli import run_command

FAST = ["--burn-in", "2", "--sweeps", "1", "--max-width", "3", "--depth", "1", "--min-df", "1",
        "--max-df", "1.0", "--overwrite"]  # fmt: skip
TEXT = "ship wave storm\nbutter flour oven\nship butter \u202eabc\n\x00 court judge\n"


def command(*words: object) -> tuple[int, str]:
    """The exit code and the last line for people, with streams as strict as a terminal's."""
    out, error = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, error
    try:
        code = run_command([str(word) for word in words])
    finally:
        sys.stdout, sys.stderr = before
    lines = error.buffer.getvalue().decode().strip().splitlines()  # type: ignore[attr-defined]
    return code, lines[-1] if lines else ""


def ends_well(*words: object) -> None:
    code, line = command(*words)
    assert code in (0, 1, 2)
    assert "a bug?" not in line
    assert code == 0 or line.startswith("pgbn: ")


def make_model(place: Path) -> Path:
    """A text with odd characters, d.txt, and a model of it."""
    (place / "d.txt").write_text(TEXT, "utf-8")
    assert run_command(["fit", str(place / "d.txt"), "-o", str(place / "model"), *FAST]) == 0
    return place
