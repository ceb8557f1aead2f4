r"""LaTeX → unicode for a terminal: ``\theta^{(1)}_{k j}`` → θ⁽¹⁾[k j]."""

from __future__ import annotations

import re

from pgbn.explain.names import GREEK

__all__ = ["to_unicode"]

_SIGNS = {
    r"\sim": "∼", r"\sum": "Σ", r"\prod": "Π", r"\cdot": "·", r"\ldots": "…", r"\propto": "∝",
    r"\mid": "|", r"\ge": "≥", r"\le": "≤", r"\ell": "ℓ", r"\ln": "ln", r"\max": "max",
    r"\min": "min", r"\infty": "∞", r"\quad": "  ", r"\qquad": "    ", r"\Longrightarrow": "⟹",
    r"\Rightarrow": "⇒", r"\to": "→", r"\in": "∈", r"\times": "×", r"\int": "∫", r"\ne": "≠",
    r"\bigl": "", r"\bigr": "", r"\Bigl": "", r"\Bigr": "", r"\left": "", r"\right": "",
    r"\big": "", r"\displaystyle": "", r"\textstyle": "",
    r"\lvert": "|", r"\rvert": "|",
} | {rf"\{name}": sign for name, sign in GREEK.items()}  # fmt: skip

_ABOVE = str.maketrans(
    "0123456789+-=()abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
)
_BELOW = str.maketrans("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_ACCENTS = {r"\tilde": "\u0303", r"\hat": "\u0302", r"\bar": "\u0304"}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_&~]|\s+|[^\\{}^_&~\s]", re.DOTALL)


def to_unicode(latex: str) -> str:
    """The formula in plain text."""
    text, _ = _sequence(_TOKEN.findall(latex), 0)
    text = re.sub(r"[ \t]+", " ", text)
    return re.sub(r" ([,;)\]])", r"\1", text).replace("( ", "(").strip()


def _sequence(tokens: list[str], start: int) -> tuple[str, int]:
    """The text up to a closing brace or the end, and the position behind it."""
    text, position = "", start
    while position < len(tokens) and tokens[position] != "}":
        piece, position = _item(tokens, position)
        text += piece
    return text, position + 1


def _group(tokens: list[str], position: int) -> tuple[str, int]:
    """The argument of a command: a braced group or a single item."""
    while position < len(tokens) and tokens[position].isspace():
        position += 1
    if position >= len(tokens):
        return "", position
    if tokens[position] == "{":
        return _sequence(tokens, position + 1)
    return _item(tokens, position)


def _item(tokens: list[str], position: int) -> tuple[str, int]:
    token = tokens[position]
    if token == "{":
        return _sequence(tokens, position + 1)
    if token in ("^", "_"):
        script, after = _group(tokens, position + 1)
        return (_above(script) if token == "^" else _below(script)), after
    if token in (r"\frac", r"\tfrac", r"\dfrac"):
        upper, after = _group(tokens, position + 1)
        lower, after = _group(tokens, after)
        return f"{_bracket(upper)}/{_bracket(lower)}", after
    if token == r"\sqrt":
        inner, after = _group(tokens, position + 1)
        return f"√({inner})", after
    if token in _ACCENTS:
        inner, after = _group(tokens, position + 1)
        return inner + _ACCENTS[token], after
    if token in (
        r"\mathrm",
        r"\mathcal",
        r"\text",
        r"\mathbf",
        r"\mathbb",
        r"\operatorname",
        r"\texttt",
    ):
        return _group(tokens, position + 1)
    if token in (r"\begin", r"\end"):
        name, after = _group(tokens, position + 1)
        mark = {(r"\begin", "cases"): "{ ", (r"\end", "cases"): " }"}.get((token, name), "")
        return mark, after
    if token == r"\\":
        return "; ", position + 1
    if token in (r"\,", r"\ ", r"\;", r"\:", "~"):
        return " ", position + 1
    if token in ("&", r"\!"):
        return "", position + 1
    if token.isspace():
        return " ", position + 1
    if token in _SIGNS:
        return _SIGNS[token], position + 1
    return token.removeprefix("\\"), position + 1


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
