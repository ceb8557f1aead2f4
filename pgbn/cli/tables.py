"""Tables with a line for each row of data, as files and on the standard output."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from pgbn.cli.console import cannot_write, check_target, output, wrong_usage
from pgbn.errors import DataError, printable
from pgbn.storage.part_files import new_file

__all__ = [
    "CsvFile",
    "print_table",
    "save_features",
    "save_result",
    "save_rows",
    "save_table",
    "write_table",
]


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


def save_features(
    to: Path, features: NDArray[Any], names: Sequence[str], labels: Sequence[str]
) -> None:
    """Features of documents as a .csv, .npy or .npz file."""
    with cannot_write(to):
        if to.suffix == ".csv":
            save_table(to, features, names, labels, "document")
            return
        with new_file(to) as file:
            if to.suffix == ".npy":
                np.save(file, features)
            else:
                np.savez(file, features=features, columns=np.array(names),
                         documents=np.array(labels))  # fmt: skip


def _csv_file(to: Path | None) -> Path | None:
    with wrong_usage():
        if to is not None and to.suffix != ".csv":
            raise DataError(f"{to}: the name must end in .csv.")
    if to is not None:
        check_target(to)
    return to


CsvFile = Annotated[Path | None, typer.Option(
    "--output", "-o", callback=_csv_file, help="A .csv file for the result.")]  # fmt: skip


def save_result(to: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]], what: str) -> None:
    """The rows of a result as a CSV file, and a line that says so; ``what`` names them."""
    with cannot_write(to):
        save_rows(to, columns, rows)
    facts = {"output": str(to), what: len(rows)}
    output.result(facts, lambda: output.say(f"{to}: {len(rows)} {what}"))


def print_table(
    values: NDArray[Any], columns: Sequence[str], labels: Sequence[str], head: str
) -> None:
    """The table on the standard output: names as they are for a file or a program, and harmless
    for a terminal."""
    if sys.stdout.isatty():
        columns, labels = (
            [printable(name, one_line=True) for name in names] for names in (columns, labels)
        )
    write_table(sys.stdout, values, columns, labels, head)
