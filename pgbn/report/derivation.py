"""The derivation of a network's sampler, from plain text to HTML that flows on a small screen."""

from __future__ import annotations

from html import escape

__all__ = ["derivation_html"]

_RULES = {"═": "h3", "─": "h3", "╌": "h4"}


def derivation_html(text: str) -> str:
    """Underlined lines become headings, bullets lists, indented blocks formulas, the rest prose."""
    parts = [_block(block) for block in text.strip("\n").split("\n\n") if block.strip()]
    return "\n".join(parts)


def _block(block: str) -> str:
    lines = block.split("\n")
    if len(lines) >= 2 and lines[1] and set(lines[1]) <= set(_RULES) and len(set(lines[1])) == 1:
        tag = _RULES[lines[1][0]]
        return f"<{tag}>{escape(lines[0])}</{tag}>"
    if lines[0].startswith("  • "):
        return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in _items(lines))}</ul>"
    if all(line.startswith("    ") for line in lines):
        formula = "\n".join(line[4:] for line in lines)
        return f'<pre tabindex="0" role="region" aria-label="Formulas">{escape(formula)}</pre>'
    return f"<p>{escape(' '.join(line.strip() for line in lines))}</p>"


def _items(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        if line.startswith("  • "):
            items.append(line[4:].strip())
        elif items:
            items[-1] += " " + line.strip()
    return items
