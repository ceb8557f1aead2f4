"""The lemmas that a document cites, numbered in the order of their first use; its references.

The texts are in ``texts.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pgbn.explain.document import Block, Equations, Heading, Items, Paragraph, join
from pgbn.explain.notation import Notation
from pgbn.nodes.base import Node
from pgbn.nodes.bernoulli import Bernoulli, LogitBernoulli
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.multinomial import Multinomial
from pgbn.nodes.normal import LogNormal, Normal, ObservedNormal
from pgbn.nodes.poisson_gamma import PoissonGamma, RandomisedGamma
from pgbn.nodes.rules import QUADRATIC, DrawRule, EvidenceRule, find_link


@dataclass(frozen=True)
class Lemma:
    """A statement, its equations, the reason and where it comes from."""

    title: str
    statement: str
    equations: tuple[str, ...]
    proof: str
    reference: str = ""


@cache
def _sections() -> dict[str, str]:
    """The sections of ``texts.md`` by their headings."""
    text = (files("pgbn.explain") / "texts.md").read_text("utf-8")
    return dict(section.split("\n", 1) for section in text.split("\n# ")[1:])


@cache
def lemmas() -> dict[str, Lemma]:
    """All lemmas by their keys."""
    found = {}
    for heading, body in _sections().items():
        if ": " in heading:
            key, title = heading.split(": ")
            statement, equations, rest = body.split("$$\n")
            proof, _, reference = rest.partition("\n[")
            lines = tuple(equations.splitlines())
            found[key] = Lemma(title, " ".join(statement.split()), lines, " ".join(proof.split()),
                               reference.strip().removesuffix("]"))  # fmt: skip
    return found


def passage(key: str, **parts: str) -> str:
    """A passage of ``texts.md``, in which ``<name>`` is replaced by the part of this name."""
    text = " ".join(_sections()[key].split())
    return re.sub(r"<(\w+)>", lambda found: parts[found[1]], text)


_RULE_LEMMAS: dict[tuple[type[Node], str, str], tuple[str, ...]] = {
    (Gamma, "shape", "poisson"): ("gamma", "crt"),
    (Gamma, "rate", "poisson"): ("rate",),
    (Gamma, "rate", "odds"): ("odds",),
    (PoissonGamma, "noise", "poisson"): ("rate",),
    (Dirichlet, "concentration", "poisson"): ("dirichlet",),
    (Bernoulli, "probability", "probability"): ("bernoulli",),
    (Multinomial, "probability", "poisson"): ("multinomial",),
    (Normal, "precision", "poisson"): ("precision",),
    (ObservedNormal, "precision", "poisson"): ("precision",),
    (LogNormal, "precision", "poisson"): ("precision",),
    (LogitBernoulli, "logit", QUADRATIC): ("polya",),
}
_DRAW_LEMMAS: dict[type[Node], str] = {
    Gamma: "gamma",
    Dirichlet: "dirichlet",
    Bernoulli: "gate",
    LogitBernoulli: "gate",
    LogNormal: "log-rate",
}


def lemmas_of_rule(rule: EvidenceRule) -> tuple[str, ...]:
    """The lemmas behind an evidence rule of pgbn; none for a rule of a user."""
    return _RULE_LEMMAS.get((rule.child, rule.slot, rule.kind), ())


def lemma_of_draw(rule: DrawRule) -> str | None:
    """The lemma behind a draw rule of pgbn."""
    if rule.kind == QUADRATIC:
        return "form"
    return _DRAW_LEMMAS.get(rule.node)


def chain_lemma(node: Node) -> str:
    """The lemma behind a node that depends on its own earlier rows."""
    if isinstance(node, RandomisedGamma):
        return "hidden"
    return "proportions" if isinstance(node, Dirichlet) else "chain"


class Lemmas:
    """The lemmas that a document uses, numbered in the order of their first use."""

    def __init__(self) -> None:
        self.used: list[str] = []

    def cite(self, *keys: str) -> str:
        """ "Lemma 1", "Lemmas 1 and 2"; they are added to the list if they are new."""
        numbers = []
        for key in dict.fromkeys(keys):
            if key not in self.used:
                self.used.append(key)
            numbers.append(self.used.index(key) + 1)
        joined = join(map(str, sorted(numbers)))
        return f"Lemma {joined}" if len(numbers) == 1 else f"Lemmas {joined}"

    def blocks(self) -> list[Block]:
        """The statements and their proofs."""
        found: list[Block] = []
        for number, key in enumerate(self.used, 1):
            lemma = lemmas()[key]
            source = f" ({lemma.reference}.)" if lemma.reference else ""
            found += [
                Heading(3, f"Lemma {number}. {lemma.title}"),
                Paragraph(lemma.statement),
                Equations(lemma.equations),
                Paragraph(f"Why: {lemma.proof}{source}"),
            ]
        return found

    def references(self) -> list[str]:
        """The references of the used lemmas."""
        return [lemmas()[key].reference for key in self.used if lemmas()[key].reference]


@cache
def _bibliography() -> dict[str, str]:
    """The full entries of references by their short forms."""
    lines = _sections()["references"].strip().splitlines()
    return dict(line.removeprefix("- ").split(" | ") for line in lines)


def references(notation: Notation, used: Iterable[str]) -> list[Block]:
    """Full entries of references, or the short reference of a rule without one."""
    wiring = notation.wiring
    cited = ["van Dyk & Park 2008", *used]
    cited += [rule.reference for rule in wiring.rules.values()]
    cited += [rule.reference for rule in wiring.draws.values()]
    links = (find_link(node) for node in notation.network)
    cited += [link.reference for link in links if link is not None]
    entries: set[str] = set()
    for text in (part.strip() for whole in cited for part in whole.split(";")):
        known = [entry for key, entry in _bibliography().items() if text.startswith(key)]
        if known:
            entries |= set(known)
        elif re.search(r"\b(1[89]|20)\d\d\b", text):
            entries.add(text)
    return [Heading(2, "References"), Items(tuple(sorted(entries, key=str.casefold)))]
