"""A recursive descent over formulas in LaTeX, to functions of the indices."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from itertools import product
from math import exp, gamma, inf, log, sqrt
from typing import TYPE_CHECKING, Any

from scipy.special import expit, logit

if TYPE_CHECKING:
    from tests.helpers.printed_formulas import Reader

At = dict[str, int]
Value = Callable[[At], float]
_SPACE = re.compile(r"(?:\s|\\[,;: ]|\\quad|\\bigl|\\bigr|\\Bigl|\\Bigr|\\left|\\right)+")
LOOKUP = re.compile(r"\\mathrm\{(\w+)\}\(([\w', ]+)\)")  # author(j), window(i s)
_RELATION = re.compile(r"\s*(=|<|>|\\ne|\\ge)\s*")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<": operator.lt, ">": operator.gt, r"\ne": operator.ne
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[float], Any]] = {
    "ln": log, "Gamma": gamma, "sigma": expit, "mathrm{expit}": expit, "mathrm{logit}": logit
}  # fmt: skip
_FUNCTION = re.compile(
    r"\\(ln|Gamma|sigma|mathrm\{expit\}|mathrm\{logit\})(?=(?:\\bigl|\\Bigl|\\left)?\()"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Parser:
    """A recursive descent over one formula, to a function of the indices."""

    def __init__(self, reader: Reader, text: str) -> None:
        self.reader, self.text, self.at = reader, text, 0
        self.skip()

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def sees(self, sign: str) -> bool:
        return self.text.startswith(sign, self.at)

    def take(self, sign: str) -> bool:
        if self.sees(sign):
            self.at += len(sign)
            self.skip()
            return True
        return False

    def group(self) -> str:
        """The text between braces."""
        assert self.text[self.at] == "{", self.text[self.at :]
        depth, start = 0, self.at
        while True:
            depth += (self.text[self.at] == "{") - (self.text[self.at] == "}")
            self.at += 1
            if depth == 0:
                break
        inside = self.text[start + 1 : self.at - 1]
        self.skip()
        return inside

    def inner(self, text: str) -> Value:
        return Parser(self.reader, text).whole()

    def whole(self) -> Value:
        value = self.sum()
        assert self.at == len(self.text), f"{self.text!r} after {self.text[: self.at]!r}"
        return value

    def sum(self) -> Value:
        value = self.product()
        while self.sees("+") or self.sees("-"):
            sign = 1 if self.take("+") else -1
            if sign < 0:
                self.take("-")
            value = _plus(value, self.product(), sign)
        return value

    def product(self) -> Value:
        if self.take("-"):
            negative = self.product()
            return lambda at: -negative(at)
        value = self.factor()
        while (
            self.at < len(self.text)
            and self.text[self.at] not in "+-),]&=<>"
            and not self.sees(r"\ge")
        ):
            if self.take("/"):
                value = _over(value, self.factor())
            else:
                self.take(r"\cdot")
                value = _times(value, self.factor())
        return value

    def bracket(self) -> Value:
        assert self.take("("), self.text[self.at :]
        value = self.sum()
        assert self.take(")"), self.text[self.at :]
        return value

    def factor(self) -> Value:
        if match := _FUNCTION.match(self.text, self.at):
            self.at = match.end()
            self.skip()
            function, inside = _FUNCTIONS[match[1]], self.bracket()
            return lambda at: float(function(inside(at)))
        if self.take(r"\ln"):
            inside = self.factor()
            return lambda at: log(inside(at))
        if self.take(r"\infty"):
            return lambda at: inf
        if self.take(r"\frac") or self.take(r"\tfrac"):
            return _over(self.inner(self.group()), self.inner(self.group()))
        if self.take(r"\sqrt"):
            root = self.inner(self.group())
            return lambda at: sqrt(root(at))
        if self.take(r"\sum_"):
            return self.large_sum(self.group())
        if self.take(r"\max_"):
            letters, each = self.group().split(", "), self.product()
            return lambda at: max(each(here) for here in self.reader.cells_over(letters, at))
        if self.take(r"\begin{cases}"):
            return self.cases()
        if self.take("e^"):
            power = self.inner(self.group())
            return lambda at: exp(power(at))
        if self.sees("("):
            return self.powered(self.bracket())
        if match := _NUMBER.match(self.text, self.at):
            self.at = match.end()
            return self.number(float(match[0]))
        return self.letter()

    def powered(self, value: Value) -> Value:
        if not self.take("^"):
            return value
        power = self.inner(self.group() if self.sees("{") else self.single())
        self.skip()
        return lambda at: value(at) ** power(at)

    def number(self, value: float) -> Value:
        if value == 1.0 and self.sees("("):
            end = self.text.index(")", self.at)
            condition = self.text[self.at + 1 : end]
            self.at = end + 1
            self.skip()
            return self.indicator(condition)
        if self.take("^"):
            value = value ** float(self.group())
        self.skip()
        return lambda at: value

    def indicator(self, condition: str) -> Value:
        left, sign, right = _RELATION.split(condition)
        one, two = self.condition_side(left), self.condition_side(right)
        compare = _COMPARE[sign]
        return lambda at: float(compare(one(at), two(at)))

    def condition_side(self, text: str) -> Value:
        if text in self.reader.range or re.fullmatch(r"[a-z](_\w+)?'*", text):
            return lambda at: float(at[text] + 1)
        return self.inner(text)

    def cases(self) -> Value:
        body, _, rest = self.text[self.at :].partition(r"\end{cases}")
        self.at = len(self.text) - len(rest)
        self.skip()
        then, otherwise = body.split(r"\\")
        value, condition = then.split(r"& \text{if }")
        one, other = self.inner(value.strip()), self.inner(otherwise.split("&")[0].strip())
        holds = self.indicator(condition.strip())
        return lambda at: one(at) if holds(at) else other(at)

    def large_sum(self, index: str) -> Value:
        """A sum over an index, over those in a relation (i < j, t > 1), or over the rows of a
        category (j : author(j) = a)."""
        reader = self.reader
        if " : " in index:
            letter, condition = index.split(" : ")
            category, rows = condition.split(" = ")
            match = LOOKUP.fullmatch(category)
            at_rows = self.text[self.at :]
            each = self.product()
            symbol = re.match(r"(.*?)_\{(.*?)\}", at_rows)
            assert match is not None
            symbols = reader.notation.symbols
            known = [symbols[name].at() for name in reader.notation.network.latent]
            whole = at_rows.startswith(("(", r"\left(", r"\ln("))
            number = at_rows[:1].isdigit() or symbol is None
            if number or symbol[1] in known or whole:  # no counts, which are kept as sums
                return lambda at: sum(
                    each(here) for here in reader.cells_over(letter.split(", "), at)
                    if reader.index(category, here) == reader.index(rows, at)
                )  # fmt: skip
            return lambda at: reader.of_category(symbol[1], symbol[2], letter, match[1], rows, at)
        left, *rest = _RELATION.split(index)
        letters = [side.strip() for side in (left, *rest[1:]) if not side.strip().isdigit()]
        body = self.product()
        holds = self.indicator(index) if rest else lambda at: 1.0

        def value(at: At) -> float:
            free = [letter for letter in letters if letter not in at or not rest]
            sizes = [range(reader.range.get(x, reader.range.get(x.rstrip("'"), 0))) for x in free]
            inner = ({**at, **dict(zip(free, cell, strict=True))} for cell in product(*sizes))
            return sum(body(each) for each in inner if holds(each))

        return value

    def letter(self) -> Value:
        match = re.match(r"\\(?:hat|tilde|mathrm|text)\{(?:[^{}]|\\\w+|\{[^{}]*\})*\}|\\[A-Za-z]+|[A-Za-z]",
                         self.text[self.at :])  # fmt: skip
        assert match, f"{self.text!r} at {self.text[self.at :]!r}"
        self.at += match.end()
        base, reader, above, below = match[0], self.reader, "", ""
        while self.at < len(self.text) and self.text[self.at] in "^_":
            place = self.text[self.at]
            self.at += 1
            script = self.group() if self.sees("{") else self.single()
            if place == "^" and below and script.isdigit():  # β_{ck}^{2}
                self.skip()
                return lambda at: reader.symbol(base, above, below, at) ** int(script)
            above, below = (script, below) if place == "^" else (above, script)
        self.skip()
        if self.take("!"):
            return lambda at: gamma(reader.symbol(base, above, below, at) + 1)
        return lambda at: reader.symbol(base, above, below, at)

    def single(self) -> str:
        self.at += 1
        return self.text[self.at - 1]


def _plus(a: Value, b: Value, sign: int) -> Value:
    return lambda at: a(at) + sign * b(at)


def _times(a: Value, b: Value) -> Value:
    return lambda at: a(at) * b(at)


def _over(a: Value, b: Value) -> Value:
    return lambda at: a(at) / b(at)


# ---- texts: lines, parts and indices ------------------------------------------------------------


def unfolded(text: str) -> str:
    """Equations that were too long for one line, in one line."""
    return re.sub(r" \\notag \\\\\n&\\qquad \{\} ?", " ", text)


def split_top(text: str, separators: str = ",") -> list[str]:
    """Split where no bracket or brace is open."""
    parts, depth, last = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "({[") - (sign in ")}]")
        if depth == 0 and sign in separators and text[place - 1] != "\\":
            parts.append(text[last:place])
            last = place + 1
    return [part.strip() for part in (*parts, text[last:])]


def indices_of(below: str) -> list[str]:
    return split_top(below.replace(", ", " ").replace(r"\cdot", "·"), " ") if below else []
