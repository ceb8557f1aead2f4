"""The report: one HTML page that holds its data, style and script, and asks for nothing else."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from pgbn.checks import check_path
from pgbn.errors import PgbnError
from pgbn.evaluation.layer_quality import effective_width
from pgbn.report.compact import script_json
from pgbn.report.convert import report_data
from pgbn.report.data import ReportData
from pgbn.report.from_grown import run_data_from_grown
from pgbn.report.html_page import html_page
from pgbn.report.payload import payload
from pgbn.report.run_data import RunData
from pgbn.report.run_page import run_html
from pgbn.report.sections import SECTIONS
from pgbn.report.text import several
from pgbn.storage.part_files import new_file
from pgbn.training.grown import GrownNetwork
from pgbn.training.trained import unwrapped

__all__ = ["report_html", "write_report"]


def write_report(model: Any, path: str | Path, X: Any = None, **options: Any) -> Path:
    """Write the report of ``model`` to ``path``; the options are those of `report_data`.

    The file is written whole or not at all.
    """
    target = check_path("path", path)
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
    """The report of ``model`` (see `report_data`, or `run_data` for any network) as one
    self-contained page."""
    if isinstance(model, RunData):
        return run_html(model)
    grown = unwrapped(model)
    if isinstance(grown, GrownNetwork):
        return run_html(run_data_from_grown(grown, **options))
    data = report_data(model, X, **options)
    shown = [(each.name, each.title, each.html(data)) for each in SECTIONS if each.shown(data)]
    return html_page(
        data.title,
        _lead(data),
        shown,
        before='<a class="skip" href="#topics">Skip to the table of topics</a>\n',
        aside='<aside id="detail" aria-label="The chosen topic or document" tabindex="-1"></aside>',
        payload=script_json(payload(data)),
        script=_script(),
    )


def _lead(data: ReportData) -> str:
    """The size of the model in a line: how many topics each layer has, and effectively."""
    widths = " – ".join(map(str, data.widths))
    effective = " – ".join(f"{effective_width(weight):.0f}" for weight in data.weights)
    parts = [f"{several(data.depth, 'layer')} of {widths} topics, effectively {effective}"]
    parts.append(several(len(data.vocabulary), "term"))
    if data.size:
        parts.append(several(data.size, "document"))
    return " · ".join(parts)


def _script() -> str:
    """All scripts in the order of their names."""
    folder = files("pgbn.report") / "assets"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".js"))
    scripts = [(folder / name).read_text(encoding="utf-8") for name in names]
    return '"use strict";\n(async () => {\n' + "\n".join(scripts) + "})();\n"
