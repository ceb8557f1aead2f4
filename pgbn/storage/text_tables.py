"""Tables in text (.csv, .tsv), row by row, with no cell lost on the way.

    table = TextTable("reviews.csv", file)
    table.names                       # of the columns
    for row in table: row["text"]     # None where a row is too short

Python's reader drops cells that have no name, and takes all lines after a quote that nobody closes
for one cell. Both are errors here.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from pgbn.errors import DataError

__all__ = ["TextTable"]


class TextTable:
    """The rows of an open file as dicts; its first line names the columns."""

    def __init__(self, path: Path, file: TextIO) -> None:
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        tabs = ".tsv" in [suffix.lower() for suffix in path.suffixes]
        self.path, self.file, self.separator = path, file, "\t" if tabs else ","
        self.lines: list[str] = []  # of the row that is being read
        self.reader = csv.reader(self._lines(), delimiter=self.separator)
        self.cells = self._rows()
        self.names = next(self.cells, [])

    def __iter__(self) -> Iterator[dict[str, str | None]]:
        width = len(self.names)
        for row in self.cells:
            if any(cell.strip() for cell in row[width:]):
                raise DataError(
                    f"{self.path}: line {self.reader.line_num} has {len(row)} cells, but the first "
                    f"line names {width}; put texts that have a {self._separator()} in quotes"
                )
            yield dict(zip(self.names, [*row, *[None] * (width - len(row))], strict=False))

    def check_once(self, name: str) -> None:
        """Refuse a column that is there twice: one of the two would not be read."""
        if self.names.count(name) > 1:
            raise DataError(f"{self.path}: two columns are called {name!r}; rename one")

    def _lines(self) -> Iterator[str]:
        for line in self.file:
            self.lines.append(line)
            yield line

    def _rows(self) -> Iterator[list[str]]:
        """The rows that are not empty. A row of several lines must have its quotes in order: else
        a text that begins with a quote would swallow those after it."""
        for row in self.reader:
            if len(self.lines) > 1:
                self._check_quotes()
            self.lines.clear()
            if row:
                yield row

    def _check_quotes(self) -> None:
        try:
            list(csv.reader(self.lines, delimiter=self.separator, strict=True))
        except csv.Error:
            first, last = self.reader.line_num - len(self.lines) + 1, self.reader.line_num
            raise DataError(
                f"{self.path}: lines {first} to {last}: a quote is opened, and not closed where a "
                'cell ends; put a text with quotes in quotes, and write each of its own twice, ""'
            ) from None

    def _separator(self) -> str:
        return "tab" if self.separator == "\t" else "comma"
