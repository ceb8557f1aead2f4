"""From names to LaTeX: ``theta2`` → θ^{(2)}, ``gamma0`` → γ_0, the dim ``doc`` → the index j."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pgbn.explain.formulas import GREEK, NAMES

_SIGN_TO_NAME = {sign: name for name, sign in GREEK.items()}

# the usual indices of the usual dims, and the letters of their sizes
_INDEX = {"doc": "j", "document": "j", "term": "v", "word": "v", "topic": "k", "factor": "k",
          "time": "t", "user": "u", "item": "i"}  # fmt: skip
_SIZE = {"doc": "J", "document": "J", "term": "V", "word": "V", "topic": "K", "factor": "K",
         "time": "T"}  # fmt: skip

_LONG = 8  # letters of a word below an index

# accents that every LaTeX knows without a package
_ACCENTS = "\u0300\u0301\u0302\u0303\u0308\u030a\u0327\u030c"


def escape_character(character: str) -> str:
    """One character of a name inside ``\\mathrm``; its code if LaTeX cannot print it."""
    if character in _SIGN_TO_NAME:
        return rf"\{_SIGN_TO_NAME[character]} "
    if character.isascii():
        if character.isalnum() or character in "-+=*'!?;@":
            return character
        if character in "_#%&":
            return "\\" + character
    parts = unicodedata.normalize("NFD", character)
    if character == "ß":
        return r"\text{ß}"
    if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in _ACCENTS:
        return rf"\text{{{unicodedata.normalize('NFC', character)}}}"
    return f"U{ord(character):04X}"


def escape_math(name: str) -> str:
    """A name as upright text in a formula."""
    return rf"\mathrm{{{''.join(escape_character(character) for character in name)}}}"


# signs of print that a formula writes as ASCII
_ASCII = {"−": "-", "–": "-", "′": "'"}


def clean_math(latex: str) -> str:
    """LaTeX written by others, with unicode signs replaced by commands that compile."""
    return "".join(character if character.isascii() else _command(character) for character in latex)


def _command(character: str) -> str:
    if character in NAMES:
        return rf"\{NAMES[character]} "
    return _ASCII.get(character) or escape_character(character)


@dataclass(frozen=True)
class Symbol:
    """A letter with the marks above and below it, before indices are attached."""

    base: str
    above: str = ""
    below: str = ""

    def at(self, indices: Sequence[str] = ()) -> str:
        """The LaTeX of the symbol with indices."""
        long = any(len(i) > 1 and set("+-(") & set(i) for i in indices)
        separator = ", " if long else " "
        joined = separator.join(indices)
        below = f"{self.below}, {joined}" if self.below and joined else self.below or joined
        above = rf"^{{{self.above}}}" if self.above else ""
        return f"{self.base}{above}" + (f"_{{{below}}}" if below else "")


def _letter(word: str) -> str:
    """A greek letter by its name or sign, a Latin letter, or an upright word."""
    if word in GREEK:
        return rf"\{word}"
    if word in _SIGN_TO_NAME:
        return rf"\{_SIGN_TO_NAME[word]}"
    return word if len(word) == 1 and word.isascii() and word.isalpha() else escape_math(word)


def _symbol(name: str) -> Symbol:
    """theta2 → θ^{(2)}; gamma0 → γ_0; phi_image → φ^{(image)}; others upright."""
    match = re.fullmatch(r"([^\W\d_]+)_?(\d*)(?:_(\w+))?", name)
    if match is None:
        return Symbol(escape_math(name))
    word, digits, rest = match.group(1), match.group(2), match.group(3) or ""
    if rest and _letter(word).startswith(r"\mathrm"):
        return Symbol(escape_math(name))
    below = digits if digits.strip("0") == "" and digits else ""
    marks = [digits] if digits and not below else []
    marks += [_letter(rest) if not rest.isdigit() else rest] if rest else []
    return Symbol(_letter(word), f"({', '.join(marks)})" if marks else "", below)


def symbols_of(names: Iterable[str]) -> dict[str, Symbol]:
    """A symbol for every name; names whose symbols would coincide are written out."""
    found = {name: _symbol(name) for name in names}
    seen = list(found.values())
    return {
        name: symbol if seen.count(symbol) == 1 else Symbol(escape_math(name))
        for name, symbol in found.items()
    }


def _parts(dim: str) -> tuple[str, str]:
    """topic2 → (topic, 2); term_words → (term, words); user_community → (user, c).

    The last form is short, since equations with several such indices would be too wide."""
    match = re.fullmatch(r"([^\W\d_]+)_?(\d*|(?<=_)\w+)", dim)
    if match is None or (match.group(1) not in _INDEX and not match.group(2).isdigit()):
        return dim, ""
    mark = match.group(2)
    if not mark or mark.isdigit():
        return match.group(1), mark
    return match.group(1), escape_math(mark if len(mark) <= _LONG else mark[0])


def indices_of(
    dims: Iterable[str], renamed: Mapping[str, str], symbols: Iterable[str] = ()
) -> dict[str, str]:
    """A letter for every dim; ``renamed`` maps other names of a dim to it (k → k').

    Letters of unusual dims avoid the ``symbols`` of nodes."""
    taken = set(symbols)
    found: dict[str, str] = {}
    later: list[str] = []
    for dim in dims:
        base, mark = _parts(dim)
        if base in _INDEX:
            found[dim] = _unused(_marked(_INDEX[base], mark), found)
        else:
            later.append(dim)
    for dim in later:
        base, mark = _parts(dim)
        if renamed.get(dim) in found:
            found[dim] = _unused(found[renamed[dim]] + "'", found)
        else:
            own = [c for c in base.lower() if c.isascii() and c.isalpha() and c not in "elo"]
            own = own[:1] + [c for c in own[1:] if c not in "mnq"]  # counts and exposures
            free = [c for c in [*own, *"ihgdbzwyu"] if c not in taken]
            letter = next((c for c in free if c not in found.values()), "i")
            found[dim] = _unused(_marked(letter, mark), found)
    return found


def _marked(letter: str, mark: str) -> str:
    if not mark:
        return letter
    return f"{letter}_{mark}" if len(mark) == 1 else f"{letter}_{{{mark}}}"


def _unused(letter: str, found: Mapping[str, str]) -> str:
    while letter in found.values():
        letter += "'"
    return letter


def sizes_of(dims: Iterable[str]) -> dict[str, str]:
    """The letter of the size of every dim: V, J, K_1, …"""
    found: dict[str, str] = {}
    for dim in dims:
        base, mark = _parts(dim)
        letter = _SIZE.get(base)
        size = _marked(letter, mark) if letter else None
        if size is None or size in found.values():
            size = f"N_{{{escape_math(dim)}}}"
        found[dim] = size
    return found
