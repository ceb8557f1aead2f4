"""The settings of the run, and the code that repeats it."""

from __future__ import annotations

from pgbn.report.data import ReportData
from pgbn.report.text import html_table, html_text

__all__ = ["settings_html"]


def settings_html(data: ReportData) -> str:
    """Names and values, as they were given."""
    rows = [[html_text(name), html_text(value)] for name, value in data.settings.items()]
    code = ""
    if data.repeat:
        code = f'<h3>To repeat this run</h3><pre tabindex="0">{html_text(data.repeat)}</pre>'
    table = html_table([("Setting", ""), ("Value", "")], rows, "Settings of this run")
    return f'<div class="settings">{table}{code}</div>'
