"""The derivation of the sampler, as `pgbn.explain` writes it."""

from __future__ import annotations

from collections.abc import Sequence

from pgbn.explain.document import Block
from pgbn.explain.render.html import html_body
from pgbn.report.text import clean_text

__all__ = ["derivation_html"]

_HEADINGS = ("h3", "h3", "h4")  # below that of the section


def derivation_html(derivation: Sequence[Block]) -> str:
    """The whole derivation, folded."""
    body = html_body(derivation, _HEADINGS) if derivation else "<p>Not given.</p>"
    return (
        '<p class="note">Made from the network itself: the equations are written by the rules that '
        "the sampler runs.</p>"
        "<details><summary>Show the derivation</summary>"
        f'<div class="derivation">{clean_text(body)}</div></details>'
    )
