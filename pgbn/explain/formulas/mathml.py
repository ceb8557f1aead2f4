r"""LaTeX → MathML, which browsers draw by themselves: ``\theta_{k}`` → <msub><mi>θ</mi>…</msub>.

Only what `Network.explain` writes is known; any other command is shown by its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import pairwise

from pgbn.explain.document import align_parts
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

__all__ = ["aligned_mathml", "inline_mathml"]

_TYPESET = {"-": "−", "'": "′"}  # what a character looks like in a formula
_RIGID = ' stretchy="false"'


def inline_mathml(latex: str) -> str:
    """A formula in a line of text."""
    return f"<math>{_row(parse(latex))}</math>"


def aligned_mathml(lines: Iterable[str]) -> str:
    """A block of formulas, aligned at the first ``&`` of each line."""
    rows = [[parse(part) for part in align_parts(line)] for line in lines]
    return f'<math display="block">{_table(rows)}</math>'


def _table(rows: list[list[Row]]) -> str:
    body = "".join(
        f"<mtr>{''.join(f'<mtd>{_row(cell)}</mtd>' for cell in cells)}</mtr>" for cells in rows
    )
    return f"<mtable>{body}</mtable>"


def _row(row: Row) -> str:
    """Items one after another, each with its scripts."""
    pairs = _with_scripts(row)
    parts = []
    for (base, scripts), (after, _) in pairwise([*pairs, (None, [])]):
        following = scripts[0] if scripts else after
        shown = "<mrow></mrow>" if base is None else _item(base, following)
        parts.append(_scripted(shown, scripts, large=_is_large(base)))
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def _with_scripts(row: Row) -> list[tuple[Item | None, list[Item]]]:
    """Each item with the scripts that follow it; the item is None if a row begins with one."""
    pairs: list[tuple[Item | None, list[Item]]] = []
    for item in row:
        if isinstance(item, Blank):
            continue
        if pairs and _place(item):
            pairs[-1][1].append(item)
        elif isinstance(item, Script):
            pairs.append((None, [item]))
        else:
            pairs.append((item, []))
    return pairs


def _place(item: Item) -> str:
    """ "^" or "_" for a script, "^" for a prime, "" for anything else."""
    if isinstance(item, Script):
        return item.place
    return "^" if item == Char("'") else ""


def _is_large(item: Item | None) -> bool:
    return isinstance(item, Command) and item.name in signs.LARGE


def _scripted(base: str, scripts: list[Item], *, large: bool) -> str:
    """A base with what stands below and above it."""
    if not scripts:
        return base
    marks = {"_": "", "^": ""}
    for script in scripts:
        body = _row(script.body) if isinstance(script, Script) else "<mo>′</mo>"
        marks[_place(script)] += body
    below, above = (f"<mrow>{marks[place]}</mrow>" for place in "_^")
    places = {_place(script) for script in scripts}
    under, over, both = ("munder", "mover", "munderover") if large else ("msub", "msup", "msubsup")
    if len(places) == 2:
        return f"<{both}>{base}{below}{above}</{both}>"
    return (
        f"<{under}>{base}{below}</{under}>" if "_" in places else f"<{over}>{base}{above}</{over}>"
    )


def _item(item: Item, following: Item | None) -> str:
    match item:
        case Char(text):
            return _character(text)
        case Group(body):
            return _row(body)
        case Environment("cases", rows):
            table = _table([list(cells) for cells in rows])
            return f'<mrow><mo stretchy="true">{{</mo>{table}</mrow>'
        case Environment(_, rows):
            return _table([list(cells) for cells in rows])
        case Command(name, ()):
            return _sign(name, following)
        case Command(name, arguments):
            return _command(name, arguments)
    raise AssertionError(item)


def _character(text: str) -> str:
    if text[0].isdigit():
        return f"<mn>{escape(text)}</mn>"
    if text.isalpha():
        return f"<mi>{escape(text)}</mi>"
    return _operator(_TYPESET.get(text, text), _RIGID)


def _operator(sign: str, attributes: str = "") -> str:
    """Relations stand apart from both sides, at the beginning of a cell too."""
    infix = ' form="infix"' if sign in signs.RELATIONS else ""
    return f"<mo{infix}{attributes}>{escape(sign)}</mo>"


def _sign(name: str, following: Item | None) -> str:
    """A command without arguments."""
    if name in signs.LETTERS:
        upright = ' mathvariant="normal"' if name[0].isupper() else ""
        return f"<mi{upright}>{signs.LETTERS[name]}</mi>"
    if name in signs.LARGE:
        return f"<mo>{signs.LARGE[name][0]}</mo>"
    if name in signs.OPERATORS:
        return _operator(signs.OPERATORS[name])
    if name in signs.WORDS:
        tight = following is None or following == Char("(") or isinstance(following, Script)
        return f"<mi>{name}</mi>" + ("" if tight else '<mspace width="0.17em"></mspace>')
    if name in signs.SPACES:
        return f'<mspace width="{signs.SPACES[name]}em"></mspace>'
    if name in signs.SILENT or name in signs.ARGUMENTS:
        return ""
    return f"<mtext>{escape(name)}</mtext>"  # an escaped character, or a command not known


def _command(name: str, arguments: tuple[Row, ...]) -> str:
    """A command with arguments."""
    shown = "".join(map(_row, arguments))
    if name in signs.FONTS:
        letters = _letters(arguments[0], "\u00a0" if name == "text" else "")
        return f'<mi mathvariant="normal">{escape(letters)}</mi>'
    if name in signs.ACCENTS:
        return f'<mover accent="true">{shown}<mo>{signs.ACCENTS[name][0]}</mo></mover>'
    if name in signs.FRACTIONS:
        return f"<mfrac>{shown}</mfrac>"
    if name == "sqrt":
        return f"<msqrt>{shown}</msqrt>"
    if name in signs.SIZES:  # the delimiter may grow
        return shown.replace(_RIGID, "", 1)
    return ""  # the end of what nothing began


def _letters(row: Row, blank: str) -> str:
    """The characters of a word in upright letters; only text keeps its blanks."""
    out = ""
    for item in row:
        match item:
            case Char(text):
                out += text
            case Blank():
                out += blank
            case Group(body):
                out += _letters(body, blank)
            case Script(place, body):
                out += place + _letters(body, blank)
            case Command(name, ()):
                out += signs.LETTERS.get(name) or signs.OPERATORS.get(name) or name
            case Command(name, arguments):
                out += "".join(_letters(argument, blank) for argument in arguments)
    return out
