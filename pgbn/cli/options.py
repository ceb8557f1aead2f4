"""Arguments and options that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from pgbn.checks import MOST_THREADS, check_seed
from pgbn.cli.console import wrong_usage
from pgbn.errors import DataError, did_you_mean
from pgbn.storage.sources import FORMATS
from pgbn.storage.terms import LANGUAGES, is_language, language_named, stop_words_of


def checked_by(check: Callable[[Any], object]) -> Callable[[Any], Any]:
    """An option that is parsed by one of the library's own checks, before the command runs."""

    def read(value: Any) -> Any:
        with wrong_usage():
            check(value)
        return value

    return read


def one_of(*allowed: str, table: Callable[[], Iterable[str]] | None = None) -> Callable[[Any], Any]:
    """An option with one of these values, or of those of a ``table`` that is slow to import."""

    def check(value: str | None) -> None:
        known = allowed if table is None or value is None else tuple(table())
        if value is not None and value not in known:
            raise DataError(f"{value!r} is not one of the choices.{did_you_mean(value, known)}")

    return checked_by(check)


def between(value: float, least: float, most: float) -> None:
    """Check a range; "nan" fails here, although it passes typer's ``min`` and ``max``."""
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
        raise DataError(f"{value!r} is not a regular expression: {error}.") from None
    if groups > 1:
        raise DataError(f"{value!r} has {groups} groups; write (?:…) for all but one, the term.")


def layer_numbers(name: str, text: str, kind: type) -> Any:
    """From "300" or "300,200,100" to one number, or a list with one for each layer."""
    try:
        values = [kind(part) for part in text.split(",")]
    except ValueError:
        raise DataError(
            f"--{name} {text!r}: give a number, or one for each layer: 300,200,100"
        ) from None
    return values[0] if len(values) == 1 else values


def _share(name: str, text: str) -> int | float:
    """A limit of documents: "5" is a number of them, "0.5" a fraction."""
    try:
        value = int(text) if text.isdigit() else float(text)
    except ValueError:
        raise DataError(f"--{name} {text!r}: give a number, such as 5 or 0.5") from None
    if not (value >= 1 if isinstance(value, int) else 0 <= value <= 1):
        raise DataError(
            f"--{name} {text}: give a number of documents from 1 on, or a fraction of them from "
            "0.0 to 1.0"
        )
    if name == "max-df" and not value:
        raise DataError(f"--{name} {text} omits all terms; give a fraction above 0, such as 0.5")
    return value


def _stop_words(text: str) -> str | list[str] | None:
    if text == "none":
        return None
    if Path(text).is_file():
        try:
            return Path(text).read_text("utf-8-sig").split()
        except (OSError, ValueError) as error:
            raise DataError(f"--stop-words {text}: the file cannot be read ({error})") from None
    if not is_language(text):
        raise DataError(f"--stop-words {text}: there is no such file, and no list of that name; "
                        f"give none, a file of words, or one of {LANGUAGES}")  # fmt: skip
    language = language_named(text)
    stop_words_of(language)  # fail before anything is read if there is no list
    return language


# ---- options, each declared once ----------------------------------------------------------
#
# The help lists them in panels, by what they are for.

INPUT, TERMS, SAMPLING, REPORT, RUNNING = (
    "Reading documents", "Choosing terms", "Sampling", "Kept for the report", "Running"
)  # fmt: skip
PANELS = ("Arguments", "Options", SAMPLING, INPUT, TERMS, REPORT, RUNNING)
_FORMATS = ("folder", *sorted(set(FORMATS.values())))
Folder = Annotated[Path, typer.Argument(
    help="The folder of a saved model.", metavar="MODEL", show_default=False)]  # fmt: skip
Data = Annotated[Path, typer.Argument(
    help="A folder of texts, a .txt (one document on each line), .csv, .tsv or .jsonl file, or "
    "counts in a .mtx, .npz or .svmlight file; or a corpus that pgbn corpus build wrote.",
    metavar="DATA", show_default=False)]  # fmt: skip
Threads = Annotated[int | None, typer.Option(
    min=1, max=MOST_THREADS, metavar="N", rich_help_panel=RUNNING,
    help="Threads; the results do not depend on them. By default all cores.",
    show_default=False)]  # fmt: skip
Seed = Annotated[int, typer.Option(
    callback=checked_by(check_seed), metavar="N", rich_help_panel=SAMPLING,
    help="The same seed gives the same result.")]  # fmt: skip
Width = Annotated[str, typer.Option(
    metavar="N[,N…]", help="Topics of the first layer, at most; or of each layer.")]  # fmt: skip
Minutes = Annotated[float, typer.Option(
    callback=checked_by(_minutes), metavar="MINUTES", rich_help_panel=RUNNING,
    help="Minutes between checkpoints.")]  # fmt: skip


# ---- groups of them that several commands have --------------------------------------------


@dataclass(frozen=True)
class Reading:
    """How documents are read."""

    input_format: Annotated[str | None, typer.Option(
        callback=one_of(*_FORMATS), metavar="FORMAT", rich_help_panel=INPUT, show_default=False,
        help=f"The kind of data, if the name does not show it: {', '.join(_FORMATS)}.",
    )] = None  # fmt: skip
    text_column: Annotated[str, typer.Option(
        metavar="COLUMN", rich_help_panel=INPUT,
        help="The column (field) of the texts in a table or JSONL file.")] = "text"  # fmt: skip
    name_column: Annotated[str | None, typer.Option(
        metavar="COLUMN", rich_help_panel=INPUT, show_default=False,
        help="The column (field) of the names of the documents; by default they are numbered.",
    )] = None  # fmt: skip
    encoding: Annotated[str, typer.Option(
        callback=checked_by(_encoding), metavar="ENCODING", rich_help_panel=INPUT,
        help="The encoding of the texts.")] = "utf-8"  # fmt: skip
    terms: Annotated[Path | None, typer.Option(
        metavar="FILE", rich_help_panel=INPUT, show_default=False,
        help="A file with the names of the columns of a matrix, one on each line.",
    )] = None  # fmt: skip

    def arguments(self) -> dict[str, Any]:
        """The options as arguments of `pgbn.Corpus.read`."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"format": given.pop("input_format"), **given}


@dataclass(frozen=True)
class Sampling:
    """How the topic weights of new documents are sampled."""

    burn_in: Annotated[int, typer.Option(
        min=0, metavar="N", rich_help_panel=SAMPLING, help="Sweeps before draws are taken.",
    )] = 100  # fmt: skip
    draws: Annotated[int, typer.Option(
        min=1, metavar="N", rich_help_panel=SAMPLING, help="Draws for each document.",
    )] = 100  # fmt: skip
    seed: Seed = 0
    threads: Threads = None


@dataclass(frozen=True)
class Counting:
    """How the terms of texts are counted."""

    min_df: Annotated[str, typer.Option(
        metavar="N", rich_help_panel=TERMS,
        help="Omit terms in fewer documents: a number of them, or a fraction below 1.",
    )] = "2"  # fmt: skip
    max_df: Annotated[str, typer.Option(
        metavar="N", rich_help_panel=TERMS,
        help="Omit terms in more documents: a number of them, or a fraction below 1.",
    )] = "0.5"  # fmt: skip
    max_features: Annotated[int | None, typer.Option(
        min=1, metavar="N", rich_help_panel=TERMS, show_default=False,
        help="Keep only the N most frequent terms.")] = None  # fmt: skip
    stop_words: Annotated[str, typer.Option(
        metavar="WORDS", rich_help_panel=TERMS,
        help="english, german or another language, none, or a file with one word on each line.",
    )] = "english"  # fmt: skip
    token_pattern: Annotated[str | None, typer.Option(
        callback=checked_by(_pattern), metavar="REGEX", rich_help_panel=TERMS, show_default=False,
        help="What a term looks like (regular expression).")] = None  # fmt: skip
    ngrams: Annotated[int, typer.Option(
        min=1, metavar="N", rich_help_panel=TERMS,
        help="Also count phrases of up to N words.")] = 1  # fmt: skip
    keep_case: Annotated[bool, typer.Option(
        "--keep-case", rich_help_panel=TERMS, help="Do not turn texts to lower case.",
    )] = False  # fmt: skip

    def options(self) -> dict[str, Any]:
        """The options as arguments of `pgbn.Corpus.read`."""
        return {
            "min_df": _share("min-df", self.min_df),
            "max_df": _share("max-df", self.max_df),
            "max_features": self.max_features,
            "stop_words": _stop_words(self.stop_words),
            "token_pattern": self.token_pattern,
            "ngram_range": (1, self.ngrams),
            "lowercase": not self.keep_case,
        }

    def reject_for_counts(self, data: Path) -> None:
        """Reject options that would do nothing, since there are counts already."""
        for field in fields(self):
            if getattr(self, field.name) != field.default:
                option = field.name.replace("_", "-")
                raise DataError(f"--{option}: only for texts, but {data} holds counts; omit it")


# They may stand anywhere on the line; `pgbn.cli.run_command` reads them.
_EVERYWHERE = {
    "json": typer.Option(False, "--json", rich_help_panel=RUNNING, help="Print results as JSON."),
    "debug": typer.Option(
        False, "--debug", rich_help_panel=RUNNING, help="Show the traceback of an error."
    ),
}


class GroupedCommand(TyperCommand):
    """A command whose help lists its options in panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for title, records in self.panels(ctx).items():
            with formatter.section(title):
                formatter.write_dl(records)

    def panels(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """The arguments, the options without a panel, and the panels in the order of `PANELS`."""
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in PANELS}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if option.param_type_name == "argument" else "Options"
                place = RUNNING if option.name == "help" else None
                found[place or getattr(option, "rich_help_panel", None) or usual].append(record)
        return {title: records for title, records in found.items() if records}


def in_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Expand the groups of options of a command into single options, as typer needs them."""
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in signature(command).parameters.items():
        group = hints[name]
        if not is_dataclass(group):
            found = [(name, group, parameter.default)]
        else:
            groups[name] = group
            own = get_type_hints(group, include_extras=True)
            found = [(field.name, own[field.name], field.default) for field in fields(group)]
        parameters += [
            Parameter(option, Parameter.KEYWORD_ONLY, annotation=kind,
                      default=Parameter.empty if default is MISSING else default)
            for option, kind, default in found
        ]  # fmt: skip

    @wraps(command)
    def run(**given: Any) -> None:
        for name in _EVERYWHERE:
            given.pop(name)
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **made)

    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=bool, default=option)
        for name, option in _EVERYWHERE.items()
    ]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = Signature(parameters)
    return run
