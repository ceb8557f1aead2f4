"""The settings of the run, and the code that repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgbn.report.text import html_table, html_text

__all__ = ["settings_html"]


def settings_html(settings: Mapping[str, Any], repeat: str = "") -> str:
    """Names and values, as they were given, and the code that repeats the run."""
    rows = [[html_text(name), html_text(value)] for name, value in settings.items()]
    code = ""
    if repeat:
        code = f'<h3>To repeat this run</h3><pre tabindex="0">{html_text(repeat)}</pre>'
    table = html_table([("Setting", ""), ("Value", "")], rows, "Settings of this run")
    return f'<div class="settings">{table}{code}</div>'
