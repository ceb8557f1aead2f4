"""The frame of every page: its style, script and data are in it, and it asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files

from pgbn.report.text import html_text

__all__ = ["html_page"]


def html_page(
    title: str,
    lead: str,
    sections: Iterable[tuple[str, str, str]],
    *,
    before: str = "",
    aside: str = "",
    payload: str = "",
    script: str = "",
) -> str:
    """A page that holds all that it needs. Of every section: its id, title and HTML. If the page
    has a ``script``, this is its text, and the JSON ``payload`` is what it reads."""
    parts = list(sections)
    links = "".join(f'<a href="#{name}">{heading}</a>' for name, heading, _ in parts)
    body = "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{heading}</h2>\n{content}\n</section>'
        for name, heading, content in parts
    )
    style = (files("pgbn.report") / "assets" / "report.css").read_text(encoding="utf-8")
    # Nothing but these two texts may run or style the page, and nothing may be fetched.
    runs = f"script-src '{_hash(script)}'; " if script else ""
    policy = (
        f"default-src 'none'; {runs}style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = html_text(title)
    off = "This page draws itself with a script; scripts are off."
    warning = f'<noscript><p class="warn">{off}</p></noscript>\n' if script else ""
    scripts = (
        '<div id="live" class="hidden" aria-live="polite"></div>\n'
        f'<script type="application/json" id="data">{payload}</script>\n<script>{script}</script>\n'
        if script
        else ""
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
{before}<header><h1 dir="auto">{title}</h1><p class="lead">{lead}</p></header>
<nav aria-label="Sections"><div>{links}</div></nav>
<div class="layout{"" if aside else " plain"}">
<main>
{warning}{body}
</main>
{aside}
</div>
{scripts}</body>
</html>
"""


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")
