"""The command ``pgbn``: fit, sample, resume and use networks without writing Python.

A command imports its modules when it runs, so that the help appears at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from pgbn.cli import pages, sampling, train, use
from pgbn.cli.console import guarded, output
from pgbn.cli.options import GroupedCommand, in_groups
from pgbn.versions import __version__

__all__ = ["app", "run_command"]

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Deep Bayesian models of counts: topics of topics, from texts or count matrices.\n\n"
    "Start with: pgbn demo\n\n"
    "Every command takes --json, which prints results as JSON, and --debug, which shows the "
    "traceback of an error.\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage; stopped by Ctrl-C 130, SIGTERM 143, SIGHUP 129 "
    "(pgbn resume continues).",
)

_COMMANDS: dict[str, Callable[..., None]] = {
    "demo": train.demo_command,
    "fit": train.fit_command,
    "sample": sampling.sample_command,
    "resume": train.resume_command,
    "info": use.info_command,
    "topics": use.topics_command,
    "label": use.label_command,
    "infer": sampling.infer_command,
    "transform": use.transform_command,
    "perplexity": use.perplexity_command,
    "generate": use.generate_command,
    "explain": pages.explain_command,
    "report": pages.report_command,
    "warm": train.warm_command,
}
for _name, _command in _COMMANDS.items():
    app.command(_name, cls=GroupedCommand)(in_groups(_command))
_corpus = typer.Typer(rich_markup_mode=None, help="Corpora in folders, larger than memory.")
_corpus.command("build", cls=GroupedCommand)(in_groups(use.build_command))
app.add_typer(_corpus, name="corpus")


def run_command(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    words = [word for word in arguments if word not in ("--json", "--debug")] or ["--help"]
    output.json, output.debug = "--json" in arguments, "--debug" in arguments
    return guarded(lambda: _run(words), output)


# The names of the number of topics in other programs.
_TOPICS = ("--k", "-k", "--topics", "--num-topics", "--n-topics", "--n-components", "--ntopics")


def _run(words: Sequence[str]) -> Any:
    asked = next((w for w in words if w.partition("=")[0].replace("_", "-") in _TOPICS), None)
    if asked is not None and words[0] in ("fit", "demo"):
        raise typer.BadParameter(
            f"{asked.partition('=')[0]} is not an option of pgbn {words[0]}; the number of topics, "
            "at most, is --max-width 100, or --max-width 100,30,10 with one number for each layer"
        )
    _check_given(words)
    return _parser()(list(words), prog_name="pgbn", standalone_mode=False)


def _check_given(words: Sequence[str]) -> None:
    """Reject an empty word, which as a path would mean the current folder."""
    for before, word in zip(("", *words), words, strict=False):
        attached = word.startswith("--") and word.endswith("=")
        option = word[:-1] if attached else before
        if (attached or not word) and option != "--title":
            prefix = f"{option}: " if option.startswith("-") else ""
            raise typer.BadParameter(
                f"{prefix}an empty argument; is a variable of the shell not set?"
            )


@cache
def _parser() -> Any:
    """The commands with all their options; building them takes longer than most commands."""
    return get_command(app)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"pgbn {__version__}")
        raise typer.Exit


def _versions(wanted: bool) -> None:
    if wanted:
        from pgbn.versions import show_versions

        show_versions()
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    versions: Annotated[
        bool,
        typer.Option("--versions", callback=_versions, is_eager=True,
                     help="Print the facts for a bug report: versions, machine, threads."),
    ] = False,
) -> None:  # fmt: skip
    pass
