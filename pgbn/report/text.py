"""Texts, numbers and tables as HTML shows them."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def clean_text(text: object) -> str:
    """Text that is valid UTF-8. Lone surrogates become question marks, and control characters for a
    terminal become the replacement character."""
    return _CONTROL.sub("\ufffd", str(text).encode("utf-8", "replace").decode("utf-8"))


def html_text(value: object) -> str:
    """Any value as text that HTML shows as it is."""
    return escape(clean_text(value))


def grouped(number: int) -> str:
    """12 345, with narrow spaces that do not break lines."""
    return f"{number:,}".replace(",", "\u202f").replace("-", "\u2212")


def several(number: int, thing: str) -> str:
    """1 topic, 2 topics."""
    return f"{grouped(number)} {thing}{'' if number == 1 else 's'}"


def html_table(
    heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], caption: str
) -> str:
    """A table; the cells are HTML already."""
    kinds = [kind for _, kind in heads]
    head = "".join(f'<th scope="col" class="{kind}">{label}</th>' for label, kind in heads)
    body = "".join(
        "<tr>"
        + "".join(
            cell if cell.startswith("<td") else f'<td class="{kind}">{cell}</td>'
            for cell, kind in zip(row, kinds, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><caption class="hidden">{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def script_json(value: Any) -> str:
    """JSON that is safe inside <script>: no character in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def short_number(value: float, digits: int = 4) -> float | None:
    """A number with as many digits as the page shows; None if it is not finite."""
    number = float(f"{value:.{digits}g}")
    if not math.isfinite(number):
        return None
    return int(number) if number == int(number) else number


def base64_array(array: NDArray[Any]) -> str:
    """The bytes of an array; the script assumes its type."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
