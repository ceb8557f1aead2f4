"""Tables with a line for each row of data, as files and on the standard output."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pgbn.errors import printable
from pgbn.storage.part_files import new_file

__all__ = ["print_table", "save_rows", "save_table", "write_table"]


def write_table(
    file: Any, values: NDArray[Any], columns: Sequence[str], labels: Sequence[str], head: str
) -> None:
    """CSV: ``head`` and ``columns`` are its first line, ``labels`` its first column."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([head, *columns])
    for name, row in zip(labels, values, strict=True):
        writer.writerow([name, *(f"{value:.6g}" for value in row)])


def save_table(
    to: Path, values: NDArray[Any], columns: Sequence[str], labels: Sequence[str], head: str
) -> None:
    """The table as a file, whole or not at all."""
    with new_file(to) as file:
        text = io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="")
        write_table(text, values, columns, labels, head)
        text.detach()


def save_rows(to: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows of any kind as a CSV file, whole or not at all."""
    with new_file(to) as file:
        text = io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        text.detach()


def print_table(
    values: NDArray[Any], columns: Sequence[str], labels: Sequence[str], head: str
) -> None:
    """The table on the standard output: names as they are for a file or a program, and harmless
    for a terminal."""
    if sys.stdout.isatty():
        columns, labels = [printable(c) for c in columns], [printable(name) for name in labels]
    write_table(sys.stdout, values, columns, labels, head)
