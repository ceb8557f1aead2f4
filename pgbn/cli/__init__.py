"""The command ``pgbn``: fit, resume and use belief networks without writing Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

import pgbn
from pgbn.cli import pages, train, use
from pgbn.cli.console import guarded, output

__all__ = ["app", "run"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Deep Bayesian models of counts: topics of topics, from texts or count matrices.\n\n"
    "Begin with: pgbn demo\n\n"
    "Anywhere on the line: --json prints results as JSON, --debug shows tracebacks. Exit codes: 0 "
    "done, 1 failed, 2 wrong usage or options, 130 interrupted (pgbn resume goes on).",
)

for _command in (
    train.demo, train.fit, train.resume, use.info, use.topics, use.transform, use.perplexity,
    use.generate, pages.explain, pages.report,
):  # fmt: skip
    app.command()(_command)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    words = [word for word in arguments if word not in ("--json", "--debug")] or ["--help"]
    output.json, output.debug = "--json" in arguments, "--debug" in arguments
    return guarded(lambda: app(words, prog_name="pgbn", standalone_mode=False), output)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"pgbn {pgbn.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
