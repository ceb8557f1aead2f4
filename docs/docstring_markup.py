"""From the plain text of pgbn's docstrings to reStructuredText.

The docstrings are written to be read in an editor: formulas as they are (θ_kj, |z|, x*), names in
`backticks`, code in ``double backticks``, formulas indented, and the sections of numpydoc:
Parameters, Returns, Raises, Examples (``>>>``). Nothing else has a meaning.
"""

from __future__ import annotations

import re

__all__ = ["to_rst"]

_CODE = re.compile(r"(``.+?``|`[A-Za-z_][\w.]*`)")
_ENTRY = re.compile(r"^(\S[^:]*?)(?: ?: (.*))?$")  # of a section: "name : type", or "name"


def to_rst(lines: list[str]) -> list[str]:
    """The lines of a docstring, dedented, as reStructuredText."""
    out: list[str] = []
    entries = False  # in a section of the kind "Parameters"
    block = False  # in an indented formula or example
    doctest = False  # from >>> to the next empty line
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        doctest = bool(line.strip()) and (doctest or line.startswith(">>> "))
        if doctest:
            out.append(line)
            continue
        if following and set(following) == {"-"} and len(following) == len(line):
            out += ["", f"**{line}**", ""]
            entries = True
            continue
        if line and set(line) == {"-"} and entries:
            continue
        entry = _ENTRY.match(line) if entries and following.startswith("    ") else None
        if entry:
            out += ["", f"``{entry[1]}``", *([f"    {_escape(entry[2])}"] if entry[2] else [])]
            out += [""] if entry[2] else []
            continue
        indented = line.startswith("    ")
        if indented and not entries and not block and (not out or not out[-1].strip()):
            out += ["::", ""]
            block = True
        elif line.strip() and not indented:
            block = False
        out.append(line if block else _escape(line))
    return [*out, ""]


def _escape(text: str) -> str:
    """Marks that would mean something, outside code."""
    bullet = re.match(r"\s*- ", text)
    start = bullet.end() if bullet else 0
    parts = _CODE.split(text[start:])
    plain = [re.sub(r"([\\*_|`])", r"\\\1", part) for part in parts[::2]]
    code = [*parts[1::2], ""]
    return text[:start] + "".join(a + b for a, b in zip(plain, code, strict=True))
