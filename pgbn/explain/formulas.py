"""Formulas: the LaTeX that explain writes is read once, and shown as plain text or as MathML."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from pgbn.explain.document import align_parts

# ---- signs --------------------------------------------------------------------------------------
#
# The commands of LaTeX that explain writes, with the unicode sign of each: the one table.


_LOWER = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau"
_UPPER = "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
_LOWER_SIGNS = "α β γ δ ε ζ η θ ι κ λ μ ν ξ π ρ σ τ"
_UPPER_SIGNS = "Γ Δ Θ Λ Ξ Π Σ Υ Φ Ψ Ω"

# name of a letter → its unicode sign
GREEK = dict(
    zip(
        f"{_LOWER} upsilon phi chi psi omega {_UPPER}".split(),
        f"{_LOWER_SIGNS} υ φ χ ψ ω {_UPPER_SIGNS}".split(),
        strict=True,
    )
)
LETTERS = {"ell": "ℓ", **GREEK}

OPERATORS = {
    "sim": "∼", "cdot": "·", "ldots": "…", "propto": "∝", "mid": "|", "ge": "≥", "le": "≤",
    "infty": "∞", "to": "→", "in": "∈", "times": "×", "int": "∫", "ne": "≠", "lvert": "|",
    "partial": "∂", "rvert": "|", "Longrightarrow": "⟹", "Rightarrow": "⇒", "cdots": "⋯",
    "square": "□", "top": "⊤",
}  # fmt: skip

# signs with space on both sides
RELATIONS = frozenset({"=", ":=", "∼", "≥", "≤", "∝", "≠", "∈", "→", "⟹", "⇒"})

# as large operators, and in a line of text
LARGE = {"sum": ("∑", "Σ"), "prod": ("∏", "Π")}

WORDS = frozenset({"ln", "log", "exp", "max", "min"})

# spaces and their widths in em
SPACES = {",": 0.17, ":": 0.22, ";": 0.28, " ": 0.3, "quad": 1.0, "qquad": 2.0}

# as a sign above, and as a combining character
ACCENTS = {"hat": ("^", "\u0302"), "tilde": ("~", "\u0303"), "bar": ("¯", "\u0304")}

FONTS = frozenset(
    {"mathrm", "text", "operatorname", "mathit", "mathcal", "mathbf", "mathbb", "texttt"}
)
FRACTIONS = frozenset({"frac", "tfrac", "dfrac"})
SIZES = frozenset({"bigl", "bigr", "Bigl", "Bigr", "big", "Big", "left", "right"})
SILENT = frozenset({"textstyle", "displaystyle", "!"})

# how many arguments a command takes
ARGUMENTS = (
    dict.fromkeys(FRACTIONS, 2)
    | dict.fromkeys([*FONTS, *ACCENTS, *SIZES, "sqrt", "end"], 1)
)  # fmt: skip

# unicode sign → the command that writes it
NAMES = {
    sign: name
    for name, sign in (
        *LETTERS.items(),
        *OPERATORS.items(),
        *((name, signs[0]) for name, signs in LARGE.items()),
    )
    if not sign.isascii()
}


# ---- parse --------------------------------------------------------------------------------------
#
# LaTeX → a tree: ``\theta_{k}`` → (Command("theta"), Script("_", (Char("k"),))).
#
# It reads what `Network.explain` writes, not LaTeX in general. Nothing is rejected, and an unknown
# command is a `Command` without arguments.


_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|:=|\d+(?:\.\d+)?|\s+|.", re.DOTALL)


@dataclass(frozen=True)
class Char:
    """A character, a number or ``:=``."""

    text: str


@dataclass(frozen=True)
class Blank:
    """White space between tokens, which a formula does not show."""


@dataclass(frozen=True)
class Command:
    r"""``\name`` with its arguments; fewer than it takes if the formula ends early."""

    name: str
    arguments: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Group:
    """``{…}``."""

    body: Row


@dataclass(frozen=True)
class Script:
    """``^{…}`` or ``_{…}``, after its base."""

    place: str
    body: Row


@dataclass(frozen=True)
class Environment:
    r"""``\begin{name} … & … \\ … \end{name}``: rows of cells."""

    name: str
    rows: tuple[tuple[Row, ...], ...]


Item = Char | Blank | Command | Group | Script | Environment
Row = tuple[Item, ...]


def parse(latex: str) -> Row:
    """The tree of a formula, up to a closing brace that nothing opened."""
    return _Parser(latex).row()


class _Parser:
    """A recursive descent over the tokens of one formula."""

    def __init__(self, latex: str) -> None:
        self.tokens: list[str] = _TOKEN.findall(latex)
        self.at = 0

    def next(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def row(self, ends: Collection[str] = ()) -> Row:
        """Everything before a closing brace, one of the ``ends``, or the end."""
        items: list[Item] = []
        while (token := self.next()) is not None and token != "}" and token not in ends:
            items.append(self.item())
        return tuple(items)

    def item(self) -> Item:
        token = self.tokens[self.at]
        self.at += 1
        if token.isspace() or token == "\\":  # a backslash at the very end is no command
            return Blank()
        if token == "{":
            return Group(self.braced())
        if token in ("^", "_"):
            return Script(token, self.argument() or ())
        if token == r"\begin":
            return self.environment()
        if token.startswith("\\") and len(token) > 1:
            name = token[1:]
            read = (self.argument() for _ in range(ARGUMENTS.get(name, 0)))
            return Command(name, tuple(row for row in read if row is not None))
        return Command(" ") if token == "~" else Char(token)

    def braced(self) -> Row:
        """The inside of a group whose opening brace has been read."""
        body = self.row()
        self.at += 1
        return body

    def argument(self) -> Row | None:
        """A group or a single item; None at the end. The item of a number is its first digit."""
        while (token := self.next()) is not None and token.isspace():
            self.at += 1
        if token is None:
            return None
        if token == "{":
            self.at += 1
            return self.braced()
        if token[0].isdigit() and len(token) > 1:
            self.tokens[self.at] = token[1:]
            return (Char(token[0]),)
        return (self.item(),)

    def environment(self) -> Environment:
        name = "".join(item.text for item in self.argument() or () if isinstance(item, Char))
        rows, cells = [], []
        while True:
            cells.append(self.row(("&", r"\\", r"\end")))
            token = self.next()
            self.at += 1
            if token == "&":
                continue
            rows.append(tuple(cells))
            cells = []
            if token != r"\\":
                break
        self.argument()  # the name again
        return Environment(name, tuple(rows))


# ---- LaTeX → unicode for a terminal: ``\theta^{(1)}_{k j}`` → θ⁽¹⁾[k j] ----


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
    if name in FRACTIONS:
        upper, lower = [*arguments, "", ""][:2]
        return f"{_bracket(upper)}/{_bracket(lower)}"
    if name == "sqrt":
        return f"√({''.join(arguments)})"
    if name in ACCENTS:
        return "".join(arguments) + ACCENTS[name][1]
    if name in FONTS or name in SIZES:
        return "".join(arguments)
    if name in SPACES:
        return " "
    if name in SILENT or name == "end":
        return ""
    if name == "\\":
        return "; "
    if name in LARGE:
        return LARGE[name][1]
    return LETTERS.get(name) or OPERATORS.get(name) or name


def _bracket(text: str) -> str:
    return text if re.fullmatch(r"[\w.⁽⁾¹²³₀-₉\[\]]+", text) else f"({text})"


def _above(script: str) -> str:
    tight = script.replace(" ", "")
    raised = tight.translate(_ABOVE)
    if tight == "'" or all(new != old for new, old in zip(raised, tight, strict=True)):
        return raised
    return f"^{script}" if re.fullmatch(r"[(\[][^()]*[)\]]|\w", script) else f"^({script})"


def _below(script: str) -> str:
    """Short marks become subscripts; lists of indices are put in square brackets."""
    script = script.strip()
    if script.isdigit() or (len(script) == 1 and script.translate(_BELOW) != script):
        return script.translate(_BELOW)
    if "=" in script or ">" in script:
        return f"_({script})"
    return f"_{script}" if re.fullmatch(r"\w[₀-₉]*'*|\w+", script) else f"[{script}]"


# ---- mathml -------------------------------------------------------------------------------------
#
# LaTeX → MathML, which browsers draw by themselves: ``\theta_{k}`` → <msub><mi>θ</mi>…</msub>.
#
# It covers what `Network.explain` writes; any other command is shown by its name.


_TYPESET = {"-": "−", "'": "′"}  # the form of a character in a formula
_RIGID = ' stretchy="false"'


def inline_mathml(latex: str) -> str:
    """A formula in a line of text."""
    return f"<math>{_mathml_row(parse(latex))}</math>"


def aligned_mathml(lines: Iterable[str]) -> str:
    """A block of formulas, aligned at the first ``&`` of each line."""
    rows = [[parse(part) for part in align_parts(line)] for line in lines]
    return f'<math display="block">{_table(rows)}</math>'


def _table(rows: list[list[Row]]) -> str:
    body = "".join(
        f"<mtr>{''.join(f'<mtd>{_mathml_row(cell)}</mtd>' for cell in cells)}</mtr>"
        for cells in rows
    )
    return f"<mtable>{body}</mtable>"


def _mathml_row(row: Row) -> str:
    """Items one after another, each with its scripts."""
    pairs = _with_scripts(row)
    parts = []
    for (base, scripts), (after, _) in pairwise([*pairs, (None, [])]):
        following = scripts[0] if scripts else after
        shown = "<mrow></mrow>" if base is None else _mathml_item(base, following)
        large = isinstance(base, Command) and base.name in LARGE
        parts.append(_scripted(shown, scripts, large=large))
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


def _scripted(base: str, scripts: list[Item], *, large: bool) -> str:
    """A base with the scripts below and above it."""
    if not scripts:
        return base
    marks = {"_": "", "^": ""}
    for script in scripts:
        body = _mathml_row(script.body) if isinstance(script, Script) else "<mo>′</mo>"
        marks[_place(script)] += body
    below, above = (f"<mrow>{marks[place]}</mrow>" for place in "_^")
    places = {_place(script) for script in scripts}
    under, over, both = ("munder", "mover", "munderover") if large else ("msub", "msup", "msubsup")
    if len(places) == 2:
        return f"<{both}>{base}{below}{above}</{both}>"
    return (
        f"<{under}>{base}{below}</{under}>" if "_" in places else f"<{over}>{base}{above}</{over}>"
    )


def _mathml_item(item: Item, following: Item | None) -> str:
    match item:
        case Char(text):
            return _character(text)
        case Group(body):
            return _mathml_row(body)
        case Environment("cases", rows):
            table = _table([list(cells) for cells in rows])
            return f'<mrow><mo stretchy="true">{{</mo>{table}</mrow>'
        case Environment(_, rows):
            return _table([list(cells) for cells in rows])
        case Command(name, ()):
            return _sign(name, following)
        case Command(name, arguments):
            return _mathml_command(name, arguments)
    raise AssertionError(item)


def _character(text: str) -> str:
    if text[0].isdigit():
        return f"<mn>{escape(text)}</mn>"
    if text.isalpha():
        return f"<mi>{escape(text)}</mi>"
    return _operator(_TYPESET.get(text, text), _RIGID)


def _operator(sign: str, attributes: str = "") -> str:
    """An operator; a relation has space on both sides, also at the beginning of a cell."""
    infix = ' form="infix"' if sign in RELATIONS else ""
    return f"<mo{infix}{attributes}>{escape(sign)}</mo>"


def _sign(name: str, following: Item | None) -> str:
    """A command without arguments."""
    if name in LETTERS:
        upright = ' mathvariant="normal"' if name[0].isupper() else ""
        return f"<mi{upright}>{LETTERS[name]}</mi>"
    if name in LARGE:
        return f"<mo>{LARGE[name][0]}</mo>"
    if name in OPERATORS:
        return _operator(OPERATORS[name])
    if name in WORDS:
        tight = following is None or following == Char("(") or isinstance(following, Script)
        return f"<mi>{name}</mi>" + ("" if tight else '<mspace width="0.17em"></mspace>')
    if name in SPACES:
        return f'<mspace width="{SPACES[name]}em"></mspace>'
    if name in SILENT or name in ARGUMENTS:
        return ""
    return f"<mtext>{escape(name)}</mtext>"  # an escaped character, or an unknown command


def _mathml_command(name: str, arguments: tuple[Row, ...]) -> str:
    """A command with arguments."""
    shown = "".join(map(_mathml_row, arguments))
    if name in FONTS:
        letters = _letters(arguments[0], "\u00a0" if name == "text" else "")
        return f'<mi mathvariant="normal">{escape(letters)}</mi>'
    if name in ACCENTS:
        return f'<mover accent="true">{shown}<mo>{ACCENTS[name][0]}</mo></mover>'
    if name in FRACTIONS:
        return f"<mfrac>{shown}</mfrac>"
    if name == "sqrt":
        return f"<msqrt>{shown}</msqrt>"
    if name in SIZES:  # the delimiter may grow
        return shown.replace(_RIGID, "", 1)
    return ""  # an end without a beginning


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
                out += LETTERS.get(name) or OPERATORS.get(name) or name
            case Command(name, arguments):
                out += "".join(_letters(argument, blank) for argument in arguments)
    return out


# ---- fold ---------------------------------------------------------------------------------------
#
# Long formulas in several lines: ``a &= b + c + …`` → ``a &= b``, ``&\qquad {} + c``, …


# a line with more characters than the first is wider than a page, and is made of pieces that have
# at most the second; a fraction counts twice, above and below
_WIDTH, _PIECE = 130, 50
CONTINUED = r"&\qquad {}"
# growing brackets and braces, which stay in one line; where a line may end; other brackets
_SIGNS = re.compile(
    r"(?P<open>\\left.|(?<!\\)\{)|(?P<close>\\right.|(?<!\\)\})"
    r"|(?P<end> \+ |(?<!\\), |\\ (?=\\prod))|[()]"
)


def fold(line: str) -> list[str]:
    """The pieces of a line, cut before a plus sign or a product, or after a comma.

    Braces, and brackets that grow with their contents, stay in one line."""
    if len(to_unicode(line)) <= _WIDTH:
        return [line]
    pieces, last = [], ""
    for part in _parts(line):
        if last and len(to_unicode(last + part)) > _PIECE:
            pieces.append(last.rstrip())
            last = CONTINUED
        last += part
    return [*pieces, last]


def _parts(line: str) -> list[str]:
    """The line, cut at every possible place, in as few brackets as possible."""
    places: dict[int, list[int]] = {}
    depth = brackets = 0
    for match in _SIGNS.finditer(line):
        if match["open"] or match["close"]:
            depth += 1 if match["open"] else -1
        elif depth == 0 and match["end"]:
            places.setdefault(brackets, []).append(
                match.end() if match[0] == ", " else match.start()
            )
        elif depth == 0:
            brackets += 1 if match[0] == "(" else -1
    starts = [0, *places[min(places)]] if places else [0]
    return [line[start:stop] for start, stop in zip(starts, [*starts[1:], None], strict=True)]
