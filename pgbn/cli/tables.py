"""Tables with a line for each row of data, as files and on the standard output."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from pgbn.cli.console import cannot_write, check_target, output
from pgbn.errors import printable
from pgbn.storage.arrays import write_npz
from pgbn.storage.atomic_files import new_file


def write_rows(file: Any, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows as CSV, below the names of their columns."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def save_rows(to: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows as a CSV file, complete or not at all."""
    with new_file(to) as file:
        text = io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="")
        write_rows(text, columns, rows)
        text.detach()


def named_rows(labels: Sequence[str], values: NDArray[Any]) -> Iterable[Sequence[str]]:
    """The rows of an array as texts, each after its label."""
    for name, row in zip(labels, values, strict=True):
        yield [name, *(f"{value:.6g}" for value in row)]


def save_arrays(to: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Arrays as a .npz file, or the first of them as a .npy file."""
    with new_file(to) as file:
        if to.suffix == ".npy":
            np.save(file, next(iter(arrays.values())))
        else:
            write_npz(file, arrays)


def give_table(
    to: Path | None,
    head: str,
    labels: Sequence[str],
    columns: Sequence[str],
    values: NDArray[Any],
    arrays: Mapping[str, NDArray[Any]],
    keys: tuple[str, str],
    facts: Mapping[str, Any],
    said: str,
) -> None:
    """A table with a line for each row: on the standard output (as JSON, ``keys`` are those of a
    row), as a .csv file, or its ``arrays`` as a .npy or .npz file; of a file, ``facts`` are told or
    it is ``said``."""
    if to is None:
        name, row = keys
        rows = [{name: n, row: each} for n, each in zip(labels, values, strict=True)]
        output.result({"columns": columns, "rows": rows},
                      lambda: print_table(values, columns, labels, head))  # fmt: skip
        return
    with cannot_write(to):
        if to.suffix == ".csv":
            save_rows(to, [head, *columns], named_rows(labels, values))
        else:
            save_arrays(to, arrays)
    output.result({"output": str(to), **facts}, lambda: output.say(f"{to}: {said}"))


def _csv_file(to: Path | None) -> Path | None:
    check_target(to, ".csv")
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
    write_rows(sys.stdout, [head, *columns], named_rows(labels, values))
