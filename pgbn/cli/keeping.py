"""What pgbn fit keeps of the documents for the report: their texts, dates and classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from pgbn.cli.console import wrong_usage
from pgbn.cli.options import Reading
from pgbn.errors import DataError
from pgbn.storage.archive import is_archive
from pgbn.storage.blocks import Corpus
from pgbn.storage.columns import check_columns, read_columns
from pgbn.storage.corpus import file_format
from pgbn.storage.kept_columns import Kept

__all__ = ["Keeping"]


@dataclass(frozen=True)
class Keeping:
    """What is kept of the documents with a model."""

    text: Annotated[str | None, typer.Option(
        help="The column of the texts, as --column, and the texts are kept for the report.")
    ] = None  # fmt: skip
    keep_texts: Annotated[bool, typer.Option("--keep-texts", help="Keep the texts for the report "
                                             "(--text does so too).")] = False  # fmt: skip
    date: Annotated[str | None, typer.Option(
        help="The column of dates (2019-03-01) or years: the report shows topics over time.")
    ] = None  # fmt: skip
    class_: Annotated[
        str | None,
        typer.Option("--class", help="The column of classes: the report shows topics by class."),
    ] = None

    def checked(self, data: Path, reading: Reading) -> Reading:
        """How the documents are read. A name that is no column is refused, with those that are,
        before the documents are read."""
        if self.text is not None and reading.column not in ("text", self.text):
            raise DataError(
                f"--text {self.text} and --column {reading.column}: both name the column of the "
                "texts; give --text alone"
            )
        reading = reading if self.text is None else replace(reading, column=self.text)
        wanted = {
            option: name
            for option, name in (("--text", self.text), ("--date", self.date),
                                 ("--class", self.class_))
            if name is not None
        }  # fmt: skip
        if not wanted or not data.exists():  # what is not there is refused where it is read
            return reading
        if is_archive(data) and reading.format is None:
            first = next(iter(wanted))
            raise DataError(f"{first}: {data} is a corpus of counts, without columns; leave it out")
        kind = file_format(data, reading.format)
        with wrong_usage():
            label = {} if reading.label is None else {"--label": reading.label}
            check_columns(data, kind, wanted | label, reading.encoding)
        return reading

    def columns(self, data: Path, reading: Reading, corpus: Corpus) -> Kept:
        """What is kept, one entry for each document."""
        from pgbn.evaluation.periods import check_dates

        out: Kept = {}
        if self.text is not None or self.keep_texts:
            if corpus.texts is None:
                raise DataError(f"--keep-texts: {data} holds counts, no texts; leave it out")
            out["text"] = corpus.texts
        names = {"date": self.date, "class": self.class_}
        wanted = {key: name for key, name in names.items() if name is not None}
        if wanted:
            kind = file_format(data, reading.format)
            found = read_columns(data, kind, list(wanted.values()), reading.encoding)
            out |= {key: found[name] for key, name in wanted.items()}
        if "date" in out:
            check_dates(out["date"], f"--date {self.date}")
        return out

    def record(self) -> dict[str, dict[str, str]]:
        """The names of the columns, for the headings of the report."""
        names = {"date": self.date, "class": self.class_}
        known = {key: name for key, name in names.items() if name is not None}
        return {"columns": known} if known else {}
