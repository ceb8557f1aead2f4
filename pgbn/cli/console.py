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
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer
from numpy.typing import NDArray

from pgbn.errors import DataError, PgbnError, PgbnWarning, printable
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
            shown = json.dumps(document, ensure_ascii=False, default=_plain)
            if "NaN" in shown or "Infinity" in shown:  # perhaps not JSON
                document = json.loads(shown, parse_constant=_unknown)
                shown = json.dumps(document, ensure_ascii=False)
            print(printable(shown))
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
    from pgbn.storage.stopping import Interrupted

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


def _complain(error: Exception, output: Output) -> int:
    said = getattr(error, "format_message", None)  # errors of typer, whichever click it carries
    usage, context = said is not None, getattr(error, "ctx", None)
    message = str(said() if said is not None else error)
    if usage and context is not None:
        message = f"{message.rstrip('.')}; see {context.command_path} --help"
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


def check_target(to: Path | None, *endings: str) -> None:
    """Reject a file that cannot be written, or a name with another ending, before the work that
    fills it."""
    if to is None:
        return
    if endings and to.suffix not in endings:
        *others, last = endings
        names = f"{', '.join(others)} or {last}" if others else last
        raise typer.BadParameter(f"--output {to}: the name must end in {names}")
    if to.is_dir():
        raise DataError(f"{to}: could not be written (it is a folder); name a file")
    if not to.parent.is_dir():
        raise DataError(f"{to}: could not be written (no folder {to.parent}); make it first")


@contextmanager
def cannot_write(to: Path) -> Iterator[None]:
    """Report a system error while a file is written, with its name."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{to}: could not be written ({error.strerror or error})") from error


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
    """Output a table with a line for each row: on the standard output (as JSON, ``keys`` are those
    of a row), as a .csv file, or its ``arrays`` as a .npy or .npz file. After writing a file, the
    command prints ``facts`` as JSON, or the text ``said``."""
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
            with new_file(to) as file:
                if to.suffix == ".npy":  # the first of them
                    np.save(file, next(iter(arrays.values())))
                else:
                    write_npz(file, arrays)
    output.result({"output": str(to), **facts}, lambda: output.say(f"{to}: {said}"))


def _csv_file(to: Path | None) -> Path | None:
    check_target(to, ".csv")
    return to


CsvFile = Annotated[Path | None, typer.Option(
    "--output", "-o", callback=_csv_file, help="A .csv file for the result.")]  # fmt: skip


def save_result(to: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]], what: str) -> None:
    """Write the rows of a result as a CSV file, and print a line about it; ``what`` names them."""
    with cannot_write(to):
        save_rows(to, columns, rows)
    facts = {"output": str(to), what: len(rows)}
    output.result(facts, lambda: output.say(f"{to}: {len(rows)} {what}"))


def print_table(
    values: NDArray[Any], columns: Sequence[str], labels: Sequence[str], head: str
) -> None:
    """Print the table on the standard output. Names are unchanged for a file or a program, and
    without control characters for a terminal."""
    if sys.stdout.isatty():
        columns, labels = (
            [printable(name, one_line=True) for name in names] for names in (columns, labels)
        )
    write_rows(sys.stdout, [head, *columns], named_rows(labels, values))
