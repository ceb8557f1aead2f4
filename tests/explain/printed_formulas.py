"""Formulas that `explain` prints, read back from LaTeX and evaluated on the state of a chain.

`Parser` is a recursive descent over one formula, to a function of the indices. `Reader` looks up the
symbols: those of nodes in the arrays of the chain; m, q and ζ are evaluated by the lines that define
them. Only what is printed is used.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from math import exp, gamma, inf, log, sqrt
from typing import Any

import numpy as np
from scipy.special import expit, logit

from pgbn import Chain
from pgbn.engine.run.generate import to_axes
from pgbn.explain.notation import Notation
from pgbn.network.terms import FIRST, PREVIOUS
from pgbn.nodes.base import Observed
from pgbn.testing.conjugacy import _stack

__all__ = ["At", "Reader", "Value", "split_top", "unfolded"]

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


class Reader:
    """Evaluates formulas of one explanation on the state of its chain."""

    def __init__(self, chain: Chain, text: str) -> None:
        self.chain, self.program, self.notation = chain, chain._program, Notation(chain.network)
        notation = self.notation
        self.sizes = {notation.size[dim]: self.program.sizes.get(dim, 0) for dim in notation.index}
        for dim, own in notation.same_as.items():
            self.program.sizes.setdefault(dim, self.program.sizes[own])
        self.range = {index: self.program.sizes[dim] for dim, index in notation.index.items()}
        self.dim = {index: dim for dim, index in notation.index.items()}
        self.hearing = ""  # the node that \\text{child} is about
        self.letters: dict[str, float] = {}  # variables of a law: p(h), p(a)
        self.arrays: dict[str, Any] = {}  # what a step drew and forgot, by its symbol
        self.definitions: dict[str, list[tuple[list[str], str]]] = {}
        head = unfolded(text[: text.index("One sweep")])
        for line in re.findall(r"^(\S.*?) &= (.*?)(?: \\label\{.*?\})?(?: \\\\)?$", head, re.M):
            match = re.fullmatch(r"(\\?\w+)(?:\^\{(.*?)\})?(?:_\{([^=]*)\})?", line[0])
            if match and match[1] in ("m", "q", r"\zeta", r"\ell", r"\tilde"):
                key = f"{match[1]}^{match[2] or ''}"
                self.definitions.setdefault(key, []).append((indices_of(match[3] or ""), line[1]))
        self.parse = cache(lambda formula: Parser(self, formula).whole())

    def value(self, formula: str, at: At) -> float:
        return self.parse(formula)(at)

    def cells_over(self, letters: list[str], at: At) -> Iterator[At]:
        """All values of some indices beside those that are known."""
        for cell in product(*(range(self.range[letter]) for letter in letters)):
            yield {**at, **dict(zip(letters, cell, strict=True))}

    # ---- symbols ----------------------------------------------------------------------

    def index(self, token: str, at: At) -> int | None:
        """0-based; None is a dot."""
        if token == "·":
            return None
        if token.isdigit():
            return int(token) - 1
        if match := LOOKUP.fullmatch(token):
            where = tuple(at[letter] for letter in re.findall(r"[\w']+", match[2]))
            return int(self.program.indexes[match[1]][0][where])
        match = re.fullmatch(r"(.*?)([+-]\d+)?", token)
        assert match is not None
        base = at[match[1]] if match[1] in at else self.sizes[match[1]] - 1
        return base + int(match[2] or 0)

    def symbol(self, base: str, above: str, below: str, at: At) -> float:
        notation, written = self.notation, above
        if base in self.letters and not above and not below:
            return self.letters[base]
        if (known := self.arrays.get(f"{base}^{{{above}}}")) is not None:
            return float(known[tuple(self.index(t, at) for t in reversed(indices_of(below)))])
        if base in (r"\kappa", r"\omega") and above in self.drawn_by():
            return self.told(base, above, indices_of(below), at)
        if (whole := base + (f"_{{{below}}}" if below else "")) in self.sizes:
            return float(self.sizes[whole])
        if whole.replace("{", "").replace("}", "") in self.sizes:
            return float(self.sizes[whole.replace("{", "").replace("}", "")])
        for name, symbol in notation.symbols.items():
            indices = indices_of(below.removeprefix(symbol.below).removeprefix(", "))
            axes = [*reversed(notation.network[name].axes)]
            above, number = _term_number(symbol.above, written)
            if (symbol.base, symbol.above) == (base, above) and below.startswith(symbol.below):
                if number is not None:
                    places = [self.index(token, at) for token in indices]
                    return self.margin(name, places, number)
                if isinstance(notation.network[name], Observed):
                    return self.cells(name, indices, at)
                if len(indices) == len(axes):
                    value = self.array(name, indices, at, name)
                    return 1 / (1 + value) if notation.is_odds(notation.network[name]) else value
            odds = notation.odds(name) if notation.is_odds(notation.network[name]) else None
            if odds is not None and (odds.base, odds.above) == (base, above):
                return self.array(name, indices_of(below), at, name)
        for known, symbol, _ in notation.constants:
            if (symbol.base, symbol.above) == (base, above):
                places = [self.index(token, at) for token in reversed(indices_of(below))]
                array = np.asarray(known)
                return float(array[tuple(slice(None) if p is None else p for p in places)].sum())
        if match := re.fullmatch(r"\\text\{(\w+)\}", base):
            return self.received(
                self.hearing, [self.index(t, at) for t in indices_of(below)], match[1]
            )
        if base == "m" and (name := self.told_often(above)):
            return self.received(name, [self.index(token, at) for token in indices_of(below)])
        if base in ("m", "q", r"\zeta"):
            return self.defined(f"{base}^{above}", indices_of(below), at)
        hidden = [name for name in notation.network.latent if name in notation.marks]
        for name in dict.fromkeys((*notation.passing, *hidden, *notation.network.observed)):
            if base == r"\hat{q}" and above == notation.marks[name]:
                return self.drawn(name, indices_of(below), at)
            latent = base == "n" and above in ("", notation.marks[name])
            own, number = _term_number(notation.marks[name], above)
            if base == r"\ell" and number is not None and own == notation.marks[name]:
                return self.margin(
                    name, [self.index(each, at) for each in indices_of(below)], number
                )
            if (base == r"\ell" and above == notation.marks[name]) or (
                latent and isinstance(notation.network[name], Observed)
            ):
                return self.cells(name, indices_of(below), at, latent)
        raise AssertionError(f"what is {base}^{above}_{below}?")

    def told_often(self, mark: str) -> str | None:
        """The node of this mark, if a child tells it through several factors at once: only their
        sum is kept, so that it stands for the printed sum."""
        marks = self.notation.marks
        for name in (n for n in self.notation.network.latent if marks.get(n) == mark):
            for node in self.notation.network:
                for slot in node.slots():
                    if (node.name, slot) in self.program.wiring.rules and self.times(
                        node.name, slot, name
                    ) > 1:
                        return name
        return None

    def times(self, child: str, slot: str, name: str) -> int:
        """How often a node stands in a slot."""
        terms = self.program.wiring.polynomials[child, slot].terms
        return sum(factor.name == name for term in terms for factor in term.factors)

    def received(self, name: str, places: list[int | None], child: str | None = None) -> float:
        """What a node heard from all its children, or from one of them."""
        axes = self.notation.network[name].axes
        at = {dim: p for dim, p in zip(reversed(axes), places, strict=True) if p is not None}
        told = [np.asarray(counts) for (below, above), counts in self.program.counts.items()
                if above == name and child in (None, below)]  # fmt: skip
        return sum(_entry(to_axes(self.program, name, each)[0], axes, at) for each in told)

    def array(self, name: str, indices: list[str], at: At, values: Any) -> float:
        """An entry of a node's value; dots are sums, the row before the first is 0."""
        value = np.asarray(to_axes(self.program, name, self.program.values[name])[0])
        places = [self.index(token, at) for token in reversed(indices)]
        if any(place is not None and place < 0 for place in places):
            return 0.0
        return float(value[tuple(slice(None) if p is None else p for p in places)].sum())

    def defined(self, key: str, indices: list[str], at: At) -> float:
        """A symbol by the line that defines it."""
        wanted = [self.index(token, at) for token in indices]
        for tokens, formula in self.definitions[key]:
            if len(tokens) != len(wanted):
                continue
            fixed = [re.search(r"\+1$", token) for token in tokens]
            if any(
                f and self.index(t, {}) != w for f, t, w in zip(fixed, tokens, wanted, strict=True)
            ):
                continue
            if not any(fixed) and any(
                w is not None and w >= self.range[t] for t, w in zip(tokens, wanted, strict=True)
            ):
                continue
            ranges = [range(self.range[t]) if w is None else [w]
                      for t, w in zip(tokens, wanted, strict=True)]  # fmt: skip
            cells = product(*ranges)
            return sum(self.value(formula, dict(zip(tokens, cell, strict=True))) for cell in cells)
        raise AssertionError(f"{key} is not defined at {indices}")

    def told(self, base: str, mark: str, indices: list[str], at: At) -> float:
        """κ or ω, which a node drew about its predictor."""
        name, both = self.drawn_by()[mark]
        own = np.asarray(both)[int(base == r"\omega")].reshape(self.program.shape[name])
        places = [self.index(token, at) for token in reversed(indices)]
        return float(to_axes(self.program, name, own)[0][tuple(places)])

    def drawn_by(self) -> dict[str, tuple[str, Any]]:
        """The nodes that draw evidence, and what they drew, by their marks."""
        drawn = self.program.drawn.items()
        return {self.notation.marks[name]: (name, both) for (name, _), both in drawn}

    def drawn(self, name: str, indices: list[str], at: At) -> float:
        (pair,) = [pair for pair in self.program.drawn if pair[0] == name]
        dims = [d for d in self.program.storage[name]
                if d in self.notation.wiring.exposures.rule_dims(self.notation.network[name], pair[1])]  # fmt: skip
        shape = [self.program.sizes[dim] for dim in dims]
        value = np.asarray(self.program.drawn[pair]).reshape(shape)
        where = dict(zip(self.notation.wiring.exposures.rule_dims(
            self.notation.network[name], pair[1]), reversed(indices), strict=True))  # fmt: skip
        places = [self.index(where[dim], at) for dim in dims]
        return float(value[tuple(slice(None) if p is None else p for p in places)].sum())

    def cells(self, name: str, indices: list[str], at: At, latent: bool = False) -> float:
        """Counts at cells: data, latent counts, or margins of what was shared out."""
        node = self.notation.network[name]
        axes = [*reversed(node.axes)]
        places = [self.index(token, at) for token in indices]
        if isinstance(node, Observed) and len(indices) == len(axes):
            cells = self.program.cells[name]
            base = cells.dense(self.program.latent_counts[name] if latent else None)[0]
            where = [*reversed(places)]
            return float(base[tuple(slice(None) if p is None else p for p in where)].sum())
        return self.margin(name, places)

    def of_category(
        self, base: str, below: str, letter: str, category: str, rows: str, at: At
    ) -> float:
        """Σ_{j : author(j) = a} x_{v j k}: what the entry a of a node was told through categories;
        x^{[2]} is the share of the second term."""
        marks = self.notation.marks
        base, _, number = base.removesuffix("]}").partition("^{[")
        (child,) = [n for n, symbol in self.notation.symbols.items()
                    if base in (symbol.at(), rf"\ell^{{{marks.get(n)}}}")]  # fmt: skip
        node = self.notation.network[child]
        for (told, parent), counts in self.program.counts.items():
            for term in (t for slot in node.slots() if told == child
                         for place, t in enumerate(
                             self.program.wiring.polynomials[child, slot].terms, 1)
                         if number in ("", str(place))):  # fmt: skip
                for factor in (f for f in term.factors if f.name == parent):
                    for lookup in (each for each in factor.lookups if each.name == category):
                        dims = [*reversed(node.axes), *term.contracted]
                        places = dict(zip(dims, indices_of(below), strict=True))
                        here = dict(zip(factor.own_dims, factor.dims, strict=True))
                        fixed = {own: self.index(places[dim], at) for own, dim in here.items()
                                 if places[dim] not in ("·", *letter.split(", "))}  # fmt: skip
                        array = to_axes(self.program, parent, np.asarray(counts))[0]
                        return _entry(array, self.notation.network[parent].axes,
                                      {**fixed, lookup.dim: self.index(rows, at)})  # fmt: skip
        raise AssertionError(f"no node was told through {category}")

    def margin(self, child: str, places: list[int | None], number: int | None = None) -> float:
        """A sum of shares, from the counts that some parent was told; ``number`` is that of the
        term that they are of."""
        node, program = self.notation.network[child], self.program
        axes = [*reversed(node.axes)]
        along = self.notation.along(node)
        for slot in node.slots():
            if (child, slot) not in program.wiring.rules:
                continue
            for place, term in enumerate(program.wiring.polynomials[child, slot].terms, 1):
                dims = [*axes, *term.contracted]
                if len(dims) != len(places) or number not in (None, place):
                    continue
                fixed = {d: p for d, p in zip(dims, places, strict=True) if p is not None}
                if along in fixed and fixed[along] >= program.sizes[along]:
                    return 0.0
                for factor in (f for f in term.factors if f.is_node and not f.lookups):
                    own = dict(zip(factor.dims, factor.own_dims, strict=True))
                    pair = (child, PREVIOUS if factor.previous else factor.name)
                    if pair not in program.counts:
                        continue
                    if factor.previous:
                        assert along is not None
                        rows = _stack(program, node, list(program.counts[pair]))
                        array = to_axes(program, child, rows.reshape(program.shape[child]))[0]
                        if along not in fixed or fixed[along] == 0:
                            continue
                        near = {own[d]: p for d, p in fixed.items() if d in own}
                        near[along] = fixed[along] - 1
                        if {d for d in fixed if d not in own} - {along}:
                            continue
                        return _entry(array, node.axes, near)
                    parent = self.notation.network[factor.name]
                    rest = {d: p for d, p in fixed.items() if d not in own}
                    if term.phase == FIRST and rest.get(along) == 0:
                        rest.pop(along)
                    if rest:
                        continue
                    array = to_axes(program, factor.name, np.asarray(program.counts[pair]))[0]
                    return _entry(
                        array, parent.axes, {own[d]: p for d, p in fixed.items() if d in own}
                    )
        raise AssertionError(f"no parent of {child} was told {places}")


def _term_number(own: str, written: str) -> tuple[str, int | None]:
    """What stands above a symbol without the number [n] of a term, and that number."""
    match = re.fullmatch(r"(.*)\[(\d+)\]", written)
    return (match[1], int(match[2])) if match and match[1] == own else (written, None)


def _entry(array: Any, axes: tuple[str, ...], at: dict[str, int]) -> float:
    value = np.asarray(array)
    return float(value[tuple(at.get(dim, slice(None)) for dim in axes)].sum())
