"""Which lemmas a rule rests on, and those that a document cites, numbered as they come."""

from __future__ import annotations

from pgbn.explain.document import Block, Equations, Heading, Paragraph
from pgbn.explain.normal_statements import NORMAL_LEMMAS
from pgbn.explain.statements import LEMMAS
from pgbn.nodes.base import Node
from pgbn.nodes.bernoulli import Bernoulli
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.log_normal import LogNormal
from pgbn.nodes.logit_bernoulli import LogitBernoulli
from pgbn.nodes.multinomial import Multinomial
from pgbn.nodes.normal import Normal
from pgbn.nodes.observed_normal import ObservedNormal
from pgbn.nodes.poisson_gamma import PoissonGamma
from pgbn.nodes.randomised_gamma import RandomisedGamma
from pgbn.nodes.rules.evidence import QUADRATIC
from pgbn.nodes.rules.types import DrawRule, EvidenceRule

__all__ = ["Lemmas", "chain_lemma", "lemma_of_draw", "lemmas_of_rule"]

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
_EVERY = LEMMAS | NORMAL_LEMMAS


def lemmas_of_rule(rule: EvidenceRule) -> tuple[str, ...]:
    """The lemmas behind one of our evidence rules; none for a rule of somebody else."""
    return _RULE_LEMMAS.get((rule.child, rule.slot, rule.kind), ())


def lemma_of_draw(rule: DrawRule) -> str | None:
    """The lemma behind one of our draw rules."""
    if rule.kind == QUADRATIC:
        return "form"
    return _DRAW_LEMMAS.get(rule.node)


def chain_lemma(node: Node) -> str:
    """The lemma behind a node that depends on its own row before."""
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
        joined = " and ".join(map(str, sorted(numbers)))
        return f"Lemma {joined}" if len(numbers) == 1 else f"Lemmas {joined}"

    def blocks(self) -> list[Block]:
        """The statements and their proofs."""
        found: list[Block] = []
        for number, key in enumerate(self.used, 1):
            lemma = _EVERY[key]
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
        return [_EVERY[key].reference for key in self.used if _EVERY[key].reference]
