"""The page docs/api/command-line.md, written from the commands themselves.

``python -m tests.cli.reference`` writes it, and a test compares it.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from typer.main import get_command

from pgbn.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "api" / "command-line.md"
HEAD = """# Command line

This page is written from the commands: `pgbn COMMAND --help` shows the same. Guides: {doc}`../quickstart`,
{doc}`../howto/command-line`, {doc}`../howto/corpus`.

- `-o` names the output. Its format is that of the suffix: `.csv`, `.json`, `.npy`, `.npz`, `.html` and others.
- `--json` prints results as JSON, and `--debug` shows the traceback of an error.
- `pgbn --install-completion` installs completion for your shell.
- Exit codes: 0 done, 1 failed, 2 wrong usage; 130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
"""
_EVERYWHERE = {"--help", "--json", "--debug"}  # the head of the page has them


def page() -> str:
    """The text of the page."""
    group: Any = get_command(app)
    parts = [HEAD]
    for name, command in group.commands.items():
        inner = getattr(command, "commands", {"": command})
        parts += [_section(f"pgbn {name} {sub}".strip(), each) for sub, each in inner.items()]
    return "\n".join(parts)


def _section(title: str, command: Any) -> str:
    about, *examples = re.split(r"\n\s*Examples?:\n", inspect.cleandoc(command.help))
    lines = [f"## {title}", "", " ".join(about.split("\n\n")[0].split())]
    lines += [f"\n{' '.join(part.split())}" for part in about.split("\n\n")[1:]]
    if examples:
        shown = [line.strip() for line in examples[0].splitlines() if line.strip()]
        lines += ["", "```", *shown, "```"]
    context = command.context_class(command, info_name=title)
    for panel, records in command.panels(context).items():
        records = [each for each in records if not set(each[0].split()) & _EVERYWHERE]
        if not records:
            continue
        lines += ["", f"| {panel} | |", "|---|---|"]
        lines += [
            f"| `{_cell(words)}` | {_cell(' '.join(text.split()))} |" for words, text in records
        ]
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
