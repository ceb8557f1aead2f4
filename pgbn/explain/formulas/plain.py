r"""LaTeX → unicode for a terminal: ``\theta^{(1)}_{k j}`` → θ⁽¹⁾[k j]."""

from __future__ import annotations

import re

from pgbn.explain.formulas import signs
from pgbn.explain.formulas.parse import (
    Blank,
    Char,
    Command,
    Environment,
    Group,
    Item,
    Row,
    Script,
    parse,
)

__all__ = ["to_unicode"]

_ABOVE = str.maketrans(
    "0123456789+-=()abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
)
_BELOW = str.maketrans("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_BRACES = {"cases": ("{ ", " }")}


def to_unicode(latex: str) -> str:
    """The formula in plain text."""
    text = re.sub(r"[ \t]+", " ", _row(parse(latex)))
    return re.sub(r" ([,;)\]])", r"\1", text).replace("( ", "(").strip()


def _row(row: Row) -> str:
    return "".join(map(_item, row))


def _item(item: Item) -> str:
    match item:
        case Char(text):
            return "" if text == "&" else text
        case Blank():
            return " "
        case Group(body):
            return _row(body)
        case Script(place, body):
            return _above(_row(body)) if place == "^" else _below(_row(body))
        case Command(name, arguments):
            return _command(name, [_row(argument) for argument in arguments])
        case Environment(name, rows):
            opening, closing = _BRACES.get(name, ("", ""))
            return opening + "; ".join("".join(map(_row, cells)) for cells in rows) + closing


def _command(name: str, arguments: list[str]) -> str:
    if name in signs.FRACTIONS:
        upper, lower = [*arguments, "", ""][:2]
        return f"{_bracket(upper)}/{_bracket(lower)}"
    if name == "sqrt":
        return f"√({''.join(arguments)})"
    if name in signs.ACCENTS:
        return "".join(arguments) + signs.ACCENTS[name][1]
    if name in signs.FONTS or name in signs.SIZES:
        return "".join(arguments)
    if name in signs.SPACES:
        return " "
    if name in signs.SILENT or name == "end":
        return ""
    if name == "\\":
        return "; "
    if name in signs.LARGE:
        return signs.LARGE[name][1]
    return signs.LETTERS.get(name) or signs.OPERATORS.get(name) or name


def _bracket(text: str) -> str:
    return text if re.fullmatch(r"[\w.⁽⁾¹²³₀-₉\[\]]+", text) else f"({text})"


def _above(script: str) -> str:
    tight = script.replace(" ", "")
    raised = tight.translate(_ABOVE)
    if tight == "'" or all(new != old for new, old in zip(raised, tight, strict=True)):
        return raised
    return f"^{script}" if re.fullmatch(r"[(\[][^()]*[)\]]|\w", script) else f"^({script})"


def _below(script: str) -> str:
    """Short marks become subscripts; lists of indices stand in square brackets."""
    script = script.strip()
    if script.isdigit() or (len(script) == 1 and script.translate(_BELOW) != script):
        return script.translate(_BELOW)
    if "=" in script or ">" in script:
        return f"_({script})"
    return f"_{script}" if re.fullmatch(r"\w[₀-₉]*'*|\w+", script) else f"[{script}]"
