"""Functions that the commands share: tables, JSON, files, errors and exit codes."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer
from numpy.typing import NDArray

from pgbn.errors import DataError, PgbnError, PgbnWarning, did_you_mean, printable
from pgbn.storage.arrays import write_npz
from pgbn.storage.atomic_files import new_file

OK, FAILED, USAGE, INTERRUPTED, CLOSED = 0, 1, 2, 130, 141


class Output:
    """The output of results: text for people, or one JSON document with ``--json``."""

    def __init__(self) -> None:
        self.json = self.debug = False

    def say(self, text: object) -> None:
        """A line of a result, without control characters for the terminal."""
        print(printable(text))

    def result(self, document: Any, text: Callable[[], None]) -> None:
        """Print a result in the requested form."""
        if self.json:
            print(printable(as_json(document)))
        else:
            text()

    def note(self, text: str) -> None:
        """Print a message that is not a result; the work continues if it cannot be printed."""
        if _is_gone(sys.stderr):  # `print` would put it among the results
            return
        try:
            print(printable(text, one_line=True), file=sys.stderr, flush=True)
        except (OSError, ValueError):  # full, or closed
            _discard(sys.stderr)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """A table: all columns but the last are aligned to the right, two spaces apart. Each row is
        one line, so that other programs can read it."""
        cells = [[printable(cell, one_line=True) for cell in row] for row in (columns, *rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-1]
        self.say(title)
        for row in cells if any(columns) else cells[1:]:
            shown = [cell.rjust(width) for cell, width in zip(row, widths, strict=False)]
            self.say("  ".join([*shown, row[-1]]).rstrip())


output = Output()


def as_json(document: Any) -> str:
    """A document as JSON; numbers that are not finite are null."""
    shown = json.dumps(document, ensure_ascii=False, default=_plain)
    if "NaN" in shown or "Infinity" in shown:  # perhaps not JSON
        document = json.loads(shown, parse_constant=_unknown)
        shown = json.dumps(document, ensure_ascii=False)
    return shown


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)


def _unknown(constant: str) -> None:
    """NaN is null in JSON."""


def guarded(run: Callable[[], Any], output: Output) -> int:
    """Run a command: errors in one line, and the exit code. Results that could not be written are
    an error, also if there is no standard output at all."""
    if _is_gone(sys.stdout):
        sys.stdout = _NoOutput()
    for stream in (sys.stdout, sys.stderr):  # a lone surrogate in a text must not stop a listing
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            code = run()
            sys.stdout.flush()
            return code if isinstance(code, int) else OK
        except BrokenPipeError:  # the reader of our output has seen enough
            _discard(sys.stdout)
            return CLOSED
        except SystemExit as end:  # typer's own exit, with the code of a failure
            if not isinstance(end.__context__, BrokenPipeError):
                raise
            return CLOSED
        except OSError as error:
            if output.debug:
                raise
            code = _complain(error, output)
            try:
                sys.stdout.flush()
            except OSError:  # a full disk: the rest of the buffer cannot be written
                _discard(sys.stdout)
            return code
        except KeyboardInterrupt:
            output.note("pgbn: interrupted")
            return INTERRUPTED
        except Exception as error:
            if type(error).__name__ == "Abort":  # how older versions of typer pass Ctrl-C on
                if not isinstance(error.__cause__, EOFError):
                    return INTERRUPTED
                error = error.__cause__  # from a file that is read: no command asks a question
            if output.debug:
                raise error
            return _complain(error, output)


def _is_gone(stream: TextIO | None) -> bool:
    """Whether a stream is missing: closed, or never there, as under pythonw."""
    return stream is None or stream.closed


class _NoOutput(io.TextIOBase):
    """A substitute for a missing standard output: no output is lost silently."""

    encoding = "utf-8"

    def write(self, text: str, /) -> int:
        raise OSError(errno.EBADF, "the standard output is closed")


def _discard(stream: TextIO | None) -> None:
    """Discard the rest, so that Python does not complain when it closes the stream."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]


@contextmanager
def interruptible() -> Iterator[None]:
    """Exit after a signal; the training prints how to continue, and the exit code identifies the
    signal."""
    from pgbn.engine.run.chain import Interrupted

    try:
        yield
    except Interrupted as stop:
        output.note(f"pgbn: {stop}")
        raise typer.Exit(128 + stop.signal) from None


@contextmanager
def wrong_usage(option: str | None = None) -> Iterator[None]:
    """Report a failed check of an option as wrong usage, with its exit code. The ``option`` is
    named if the error does not name it."""
    try:
        yield
    except PgbnError as error:
        raise typer.BadParameter(as_options(str(error)), param_hint=option) from None


def as_options(sentence: str) -> str:
    """Replace the arguments of Python in a sentence by the options of the command line."""
    names = r"\b(max_width|burn_in|keep_draws|stop_words|max_df|min_df|(sweeps|eta|depth)(?==))\b"
    return re.sub(names, lambda found: "--" + found[0].replace("_", "-"), sentence)


# What other programs call a command.
_COMMANDS = {"train": "fit", "learn": "fit", "predict": "transform", "show": "topics"}


def _complain(error: Exception, output: Output) -> int:
    said = getattr(error, "format_message", None)  # errors of typer, whichever click it carries
    usage, context = said is not None, getattr(error, "ctx", None)
    message = str(said() if said is not None else error)
    asked = re.search(r"No such command '([^']+)'", message)
    if asked is not None and context is not None and "Did you mean" not in message:
        word = _COMMANDS.get(asked[1], asked[1])
        message = message.rstrip(".") + f".{did_you_mean(word, context.command.commands)}"
    message = re.sub(r"Input should be a valid integer, .*", "give an integer", message)
    if usage and context is not None:
        see = " See" if message.endswith("?") else "; see"
        message = f"{message.rstrip('.')}{see} {context.command_path} --help"
    if not isinstance(error, (PgbnError, OSError)) and not usage:
        message = f"{type(error).__name__}: {message} (a bug? --debug shows where)"
    line = " ".join(message.split())
    if output.json:
        with suppress(OSError):  # the error may be that printing fails
            print(printable(json.dumps({"error": line}, ensure_ascii=False)), flush=True)
    output.note(f"pgbn: {line}")
    return USAGE if usage else FAILED


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, PgbnWarning):
        output.note(f"pgbn: note: {message}")


# ---- results --------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """What a command gives: a JSON ``document``, the ``rows`` of a CSV file below ``columns``, and
    the ``arrays`` of a .npz file, of which a .npy file has the first. ``what`` names the rows;
    ``facts`` are printed when a file was written, with ``said`` in words."""

    document: Any
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    what: str = "rows"
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""


def give(result: Result, to: Path | None, text: Callable[[], None] | None = None) -> None:
    """Print a result, as ``text`` or as CSV, or write it to a file in the format of its suffix."""
    if to is None:
        output.result(result.document, text or (lambda: _print_csv(result)))
        return
    with cannot_write(to), new_file(to) as file:
        if to.suffix == ".npy":
            np.save(file, next(iter(result.arrays.values())))
        elif to.suffix == ".npz":
            write_npz(file, result.arrays)
        else:
            with _as_text(file) as out:
                if to.suffix == ".json":
                    out.write(f"{as_json(result.document)}\n")
                else:
                    _write_csv(out, result.columns, result.rows)
    facts = {"output": str(to), **(result.facts or {result.what: len(result.rows)})}
    said = result.said or f"{len(result.rows)} {result.what}"
    output.result(facts, lambda: output.say(f"{to}: {said}"))


@contextmanager
def _as_text(file: Any) -> Iterator[TextIO]:
    text = io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="")
    yield text
    text.detach()


def _write_csv(file: Any, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        [f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in rows
    )


def _print_csv(result: Result) -> None:
    """Names are unchanged for a file or a program, and without control characters for a
    terminal."""
    columns, rows = result.columns, result.rows
    if sys.stdout.isatty():
        columns = [printable(name, one_line=True) for name in columns]
        rows = [[printable(row[0], one_line=True), *row[1:]] for row in rows]
    _write_csv(sys.stdout, columns, rows)


def output_file(what: str, *endings: str) -> Any:
    """The option ``-o`` for a file with one of these endings. It is checked before any work."""

    def check(to: Path | None) -> Path | None:
        if to is None:
            return None
        if to.is_dir():
            raise DataError(f"{to}: could not be written (it is a folder); name a file")
        if to.suffix.lower() not in endings:
            raise typer.BadParameter(
                f"--output {to}: the name must end in {in_words(endings, 'or')}"
            )
        if not to.parent.is_dir():
            raise DataError(f"{to}: could not be written (no folder {to.parent}); make it first")
        return to

    formats = in_words(endings, "or")
    return typer.Option(
        "--output", "-o", callback=check, metavar="FILE", show_default=False,
        help=f"{what}: a {formats} file. By default it is printed.",
    )  # fmt: skip


def in_words(items: Sequence[str], joint: str) -> str:
    """A list in words: "a, b or c"."""
    *others, last = items
    return f"{', '.join(others)} {joint} {last}" if others else last


TableFile = Annotated[Path | None, output_file("The file for the result", ".csv", ".json")]
ArrayFile = Annotated[
    Path | None, output_file("The file for the result", ".csv", ".json", ".npy", ".npz")
]


@contextmanager
def cannot_write(to: Path) -> Iterator[None]:
    """Report a system error while a file is written, with its name."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{to}: could not be written ({error.strerror or error})") from error
