"""Symbols: the letters, marks and indices of a concrete network.

An ``at`` maps each dim to the index that is written for it; a dot stands for a sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from pgbn.explain.algebra import Formula
from pgbn.explain.names import Symbol, escape_math, indices_of, sizes_of, symbols_of
from pgbn.network.terms import ALWAYS, Polynomial, Term
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.beta import BetaOdds
from pgbn.nodes.rules.registry import find_link

if TYPE_CHECKING:
    from pgbn.network.network import Network


At = Mapping[str, str]
DOT = r"\cdot"
Phase = int | None  # the first of the rows of a chain in which the same terms count; None: no chain


def in_phase(term: Term, phase: Phase) -> bool:
    """Whether a term counts in the rows of a phase."""
    return term.phase == ALWAYS or (phase is not None and term.counts_at(phase))


def shift(index: str, by: int) -> str:
    """t → t-1 or t+1."""
    if index == DOT:
        return index
    if index.isdigit():
        return str(int(index) + by)
    undo = f"{-by:+d}"
    return index.removesuffix(undo) if index.endswith(undo) else f"{index}{by:+d}"


class Symbols:
    """The symbols of values and counts."""

    def __init__(self, network: Network) -> None:
        self.network, self.wiring = network, network.wiring
        self.symbols = symbols_of(network.nodes)
        renamed: dict[str, str] = {}
        used: dict[str, None] = dict.fromkeys(network.dims)
        self.constants: list[tuple[object, Symbol, str]] = []
        for (name, slot), polynomial in self.wiring.polynomials.items():
            for factor in (factor for term in polynomial.terms for factor in term.factors):
                pairs = zip(factor.dims, factor.own_dims, strict=False)
                renamed |= {dim: own for dim, own in pairs if dim != own}
                used |= dict.fromkeys(factor.dims)
                if factor.constant is not None:
                    mark = f"({len(self.constants) + 1})" if self.constants else ""
                    symbol = Symbol(r"\mathrm{const}", mark)
                    self.constants.append((factor.constant, symbol, f"{slot} of `{name}`"))
        self.index = indices_of(used, renamed)
        self.size = sizes_of(self.index)
        self.same_as = {dim: own for dim, own in renamed.items() if own in self.size}
        self.size |= {dim: self.size[own] for dim, own in self.same_as.items()}
        self.passing = [node.name for node in network if self._passes_on(node)]
        self.marks = self._marks()

    def _passes_on(self, node: Node) -> bool:
        """Whether what a node hears travels on, so that it deserves the names m and q."""
        rules = [self.wiring.rules.get((node.name, slot)) for slot in node.slots()]
        return isinstance(node, Latent) and any(
            rule is not None and {"count", "exposure"} & {*rule.count_reads, *rule.exposure_reads}
            for rule in rules
        )

    def _marks(self) -> dict[str, str]:
        """What stands above the counts of a node: its layer if that tells it apart."""
        short = {name: symbol.above or f"({symbol.at()})" for name, symbol in self.symbols.items()}
        used = [short[name] for name in self.passing]
        return {
            name: mark if used.count(mark) <= 1 else f"({self.symbols[name].at()})"
            for name, mark in short.items()
        }

    def letter(self, letter: str) -> str:
        """A letter for counts or exposures; with a tilde if a node already uses it."""
        taken = {symbol.base for symbol in self.symbols.values()}
        return rf"\tilde{{{letter}}}" if letter in taken else letter

    # ---- values -----------------------------------------------------------------------

    def is_odds(self, node: Node) -> bool:
        """Whether a node is drawn as p and its value is (1−p)/p."""
        return isinstance(node, BetaOdds)

    def odds(self, name: str) -> Symbol | None:
        """For a BetaOdds named p…: the letter c of its value (1−p)/p, if it is free."""
        symbol = self.symbols[name]
        value = Symbol("c", symbol.above, symbol.below)
        return value if symbol.base == "p" and value not in self.symbols.values() else None

    def value(self, name: str, at: At | None = None, own: Iterable[str] | None = None) -> Formula:
        """A node's value; ``own`` renames its axes, in their order, to the dims of ``at``."""
        node = self.network.nodes[name]
        dims = dict(zip(node.axes, own or node.axes, strict=True))
        at = self.index if at is None else at
        indices = [at[dims[dim]] for dim in reversed(node.axes)]
        if self.is_odds(node):
            short = self.odds(name)
            p = Formula(self.symbols[name].at(indices))
            return Formula(short.at(indices)) if short else (1 - p) / p
        return Formula(self.symbols[name].at(indices))

    def own_symbol(self, node: Node, at: At | None = None) -> str:
        """The symbol of the node itself, a vector over its simplex; of a BetaOdds, that is p."""
        at = self.index if at is None else at
        symbol = self.symbols[node.name].at([at[dim] for dim in reversed(node.axes)])
        return self.vector(node, symbol)

    def vector(self, node: Node, latex: str) -> str:
        """(…)_v for what is a vector over the node's simplex."""
        over = ", ".join(self.index[dim] for dim in node.sums_over)
        return rf"({latex})_{{{over}}}" if over else latex

    def bare(self, name: str) -> str:
        """A node's symbol without indices."""
        return self.symbols[name].at()

    def constant(self, array: object, dims: Iterable[str], at: At) -> Formula:
        """A known array."""
        symbol = next(symbol for known, symbol, _ in self.constants if known is array)
        return Formula(symbol.at([at[dim] for dim in reversed(tuple(dims))]))

    def category(self, name: str, indices: Iterable[str]) -> str:
        """The number of the category of a row, such as author(j)."""
        return f"{escape_math(name)}({', '.join(indices)})"

    # ---- chains -----------------------------------------------------------------------

    def along(self, node: Node) -> str | None:
        """The dim along which a node is a Markov chain."""
        return self.wiring.connections.time_dim(node.name)

    def has_lag(self, node: Node, slot: str) -> bool:
        """Whether a slot reads the node's own previous row."""
        return self.wiring.polynomials[node.name, slot].along is not None

    def lags(self, node: Node) -> tuple[int, ...]:
        """How many rows back a chain reads itself, the least first."""
        every = (self.wiring.polynomials[node.name, slot].lags for slot in node.slots())
        return next((lags for lags in every if lags), ())

    def rows(self, node: Node) -> list[tuple[At, Phase, str]]:
        """(indices, phase, condition): one for a plain node; the first and the later rows of
        a chain, and what is between them if it has several lags."""
        dim = self.along(node)
        if dim is None:
            return [(self.index, None, "")]
        found: list[tuple[At, Phase, str]] = []
        begins, index = (0, *self.lags(node)), self.index[dim]
        for begin, end in pairwise(begins):
            above = f"{begin} < " if begin else ""
            found.append(({**self.index, dim: str(end)}, begin, "") if end == begin + 1 else
                         (self.index, begin, rf"{above}{index} \le {end}"))  # fmt: skip
        return [*found, (self.index, begins[-1], f"{index} > {begins[-1]}")]

    # ---- counts -----------------------------------------------------------------------

    def cells(
        self, node: Node, at: At | None = None, extra: tuple[str, ...] = (), tag: str = ""
    ) -> Formula:
        """The counts at a node's cells: data, the latent counts behind data, or its tables."""
        at = self.index if at is None else at
        indices = [at[dim] for dim in (*reversed(node.axes), *extra)]
        link = find_link(node)
        if link is not None and link.counts is None:
            symbol = self.symbols[node.name]
        elif link is not None:
            several = len(self.network.observed) > 1
            symbol = Symbol(self.letter("n"), self.marks[node.name] if several else "")
        else:
            symbol = Symbol(r"\ell", self.marks[node.name])
        return Formula(Symbol(symbol.base, symbol.above + tag, symbol.below).at(indices))

    def known_total(self, node: Node) -> Formula:
        """N_j, the total of data whose sum over their simplex is known."""
        several = sum(other.simplex is not None for other in self.network
                      if isinstance(other, Observed)) > 1  # fmt: skip
        mark = self.marks[node.name] if several else ""
        indices = [self.index[dim] for dim in reversed(node.axes) if dim != node.simplex]
        return Formula(Symbol(self.letter("N"), mark).at(indices))

    def drawn(self, node: Node, slot: str, at: At | None = None) -> Formula:
        """The counts at a node's cells that speak to a slot, before they are shared out."""
        return self.cells(node, at, tag=self.slot_mark(node, slot))

    def split(
        self, node: Node, slot: str, term: Term, at: At | None = None, mark: str = ""
    ) -> Formula:
        """The share of a term in the counts at a node's cells, with the summed dims as indices."""
        tag = self._tag(node, slot, self.wiring.polynomials[node.name, slot], term)
        return self.cells(node, at, term.contracted, tag + mark)

    def _tag(self, node: Node, slot: str, polynomial: Polynomial, term: Term) -> str:
        """[2] for the second of several terms; the slot's name too if other slots have counts."""
        rivals = [t for t in polynomial.terms if any(t.counts_at(row) and term.counts_at(row)
                                                     for row in (0, *polynomial.lags))]  # fmt: skip
        tag = f"[{polynomial.terms.index(term) + 1}]" if len(rivals) > 1 else ""
        mark, link = self.slot_mark(node, slot), find_link(node)
        if not mark and link is not None and slot != link.slot and (tag or term.contracted):
            mark = f"[{escape_math(slot)}]"
        return mark + tag

    def slot_mark(self, node: Node, slot: str) -> str:
        """[slot] for what is drawn for it, if a node draws for several slots or has a link too."""
        own = [s for s, rule in self.wiring.connections.rules_of(node).items() if rule.is_random]
        several = len(own) > 1 or find_link(node) is not None
        return f"[{escape_math(slot)}]" if several and slot in own else ""

    def is_split(self, node: Node, slot: str, phase: Phase = None) -> bool:
        """Whether counts in this slot are shared between several terms or summed indices."""
        rule = self.wiring.rules.get((node.name, slot))
        if rule is not None and rule.is_quadratic:
            return False
        terms = [t for t in self.wiring.polynomials[node.name, slot].terms if in_phase(t, phase)]
        through = any(factor.through for term in terms for factor in term.factors)
        return through or len(terms) > 1 or any(term.contracted for term in terms)
