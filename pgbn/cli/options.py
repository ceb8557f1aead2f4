"""Arguments and options that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pgbn.checks import MOST_THREADS, check_seed
from pgbn.cli.console import wrong_usage
from pgbn.errors import DataError, did_you_mean
from pgbn.storage.corpus import FORMATS


def checked(check: Callable[[Any], object]) -> Callable[[Any], Any]:
    """An option that one of the library's own checks reads, before the command begins."""

    def read(value: Any) -> Any:
        with wrong_usage():
            check(value)
        return value

    return read


def one_of(*allowed: str) -> Callable[[Any], Any]:
    """An option with one of these values."""

    def check(value: str | None) -> None:
        if value is not None and value not in allowed:
            raise DataError(f"{value!r} is none of the choices.{did_you_mean(value, allowed)}")

    return checked(check)


def between(value: float, least: float, most: float) -> None:
    """Which "nan" is not, though typer's ``min`` and ``max`` let it pass."""
    if not least < value < most:
        raise DataError(f"{value:g} does not lie between {least:g} and {most:g}.")


def _minutes(value: float) -> None:
    if not value >= 0.0:
        raise DataError(f"{value:g} is not a number of at least 0.")


def _encoding(value: str) -> None:
    try:
        "a".encode(value)
    except (LookupError, ValueError) as error:
        raise DataError(f"{error}.") from None


def _pattern(value: str | None) -> None:
    try:
        groups = re.compile(value or "").groups
    except (re.error, OverflowError, RecursionError) as error:
        raise DataError(f"{value!r} is no regular expression: {error}.") from None
    if groups > 1:
        raise DataError(f"{value!r} has {groups} groups; write (?:…) for all but one, the term.")


_FORMATS = ("folder", *sorted(set(FORMATS.values())))

Folder = Annotated[Path, typer.Argument(help="The folder of a saved model.", show_default=False)]
Data = Annotated[Path, typer.Argument(
    help="A folder of texts, a .txt (a document a line), .csv, .tsv or .jsonl file, or counts in a "
    ".mtx, .npz or .svmlight file.", show_default=False)]  # fmt: skip
Format = Annotated[str | None, typer.Option(
    callback=one_of(*_FORMATS),
    help=f"The kind of data, if the name does not tell: {', '.join(_FORMATS)}.")]  # fmt: skip
Column = Annotated[
    str, typer.Option(help="The column (field) of the texts in a CSV or JSONL file.")
]
Label = Annotated[str | None, typer.Option(help="The column (field) that names the documents.")]
Encoding = Annotated[
    str, typer.Option(callback=checked(_encoding), help="The encoding of the texts.")
]
Pattern = Annotated[str | None, typer.Option(
    callback=checked(_pattern), help="What a term looks like (regular expression).")]  # fmt: skip
Terms = Annotated[Path | None, typer.Option(help="A file that names the columns of a matrix.")]
Threads = Annotated[int | None, typer.Option(
    min=1, max=MOST_THREADS, help="Threads; the results do not depend on them.")]  # fmt: skip
Seed = Annotated[int, typer.Option(
    callback=checked(check_seed), help="The same seed gives the same result.")]  # fmt: skip
BurnIn = Annotated[int, typer.Option(min=0, help="Sweeps before samples are taken.")]
Samples = Annotated[int, typer.Option(min=1, help="Samples for each document.")]
Width = Annotated[int, typer.Option(min=1, help="Topics of the first layer, at most.")]
Minutes = Annotated[
    float, typer.Option(callback=checked(_minutes), help="Minutes between checkpoints.")
]
