"""The report: one HTML page that holds its data, style and script, and asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from pgbn.errors import PgbnError
from pgbn.report.compact import script_json
from pgbn.report.convert import report_data
from pgbn.report.data import ReportData
from pgbn.report.payload import payload
from pgbn.report.sections import SECTIONS
from pgbn.report.text import html_text, several
from pgbn.storage.part_files import new_file

__all__ = ["report_html", "write_report"]


def write_report(model: Any, path: str | Path, X: Any = None, **options: Any) -> Path:
    """Write the report of ``model`` to ``path``; the options are those of `report_data`.

    The file is written whole or not at all.
    """
    target = Path(path)
    if not target.name:
        raise PgbnError(f"path={str(path)!r}: give the name of a file for the report")
    page = report_html(model, X, **options)
    try:
        with new_file(target) as file:
            file.write(page.encode())
    except OSError as error:
        raise PgbnError(
            f"cannot write the report to {target}: {error.strerror or error}"
        ) from error
    return target


def report_html(model: Any, X: Any = None, **options: Any) -> str:
    """The report of ``model`` (see `report_data`) as one self-contained page."""
    data = report_data(model, X, **options)
    style, script = _assets()
    # Nothing but these two texts may run or style the page, and nothing may be fetched.
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = html_text(data.title)
    shown = [section for section in SECTIONS if section.shown(data)]
    links = "".join(f'<a href="#{section.name}">{section.title}</a>' for section in shown)
    body = "\n".join(
        f'<section id="{section.name}" aria-labelledby="{section.name}-title">\n'
        f'<h2 id="{section.name}-title">{section.title}</h2>\n{section.html(data)}\n</section>'
        for section in shown
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="pgbn">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#topics">Skip to the table of topics</a>
<header><h1 dir="auto">{title}</h1><p class="lead">{_lead(data)}</p></header>
<nav aria-label="Sections"><div>{links}</div></nav>
<div class="layout">
<main>
<noscript><p class="warn">This page draws itself with a script; scripts are off.</p></noscript>
{body}
</main>
<aside id="detail" aria-label="The chosen topic" tabindex="-1"></aside>
</div>
<div id="live" class="hidden" aria-live="polite"></div>
<script type="application/json" id="data">{script_json(payload(data))}</script>
<script>{script}</script>
</body>
</html>
"""


def _lead(data: ReportData) -> str:
    """The size of the model in a line."""
    widths = " – ".join(map(str, data.widths))
    parts = [f"{several(data.depth, 'layer')} of {widths} topics"]
    parts.append(several(len(data.vocabulary), "term"))
    if data.size:
        parts.append(several(data.size, "document"))
    return " · ".join(parts)


def _assets() -> tuple[str, str]:
    """The style of the page and its script, which is all scripts in the order of their names."""
    folder = files("pgbn.report") / "assets"
    style = (folder / "report.css").read_text(encoding="utf-8")
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".js"))
    scripts = [(folder / name).read_text(encoding="utf-8") for name in names]
    return style, '"use strict";\n(() => {\n' + "\n".join(scripts) + "})();\n"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")
