"""Which nodes may have masked cells: those whose unknown counts can be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgbn.errors import DataError
from pgbn.nodes.base import Node
from pgbn.nodes.rules.registry import find_link
from pgbn.nodes.rules.types import EvidenceRule

if TYPE_CHECKING:
    from pgbn.network.network import Network

__all__ = ["check_imputable", "is_imputable"]


def is_imputable(node: Node) -> bool:
    """Masked cells are imputed as Poisson counts, so the data must rest on such counts."""
    return find_link(node) is not None and node.simplex is None


def _is_silent(rule: EvidenceRule) -> bool:
    """Whether a rule tells its slot nothing at masked cells: their value is 0, and what a function
    makes of the cells is left out there (`Quantities.known_only`), but a slot's value is not."""
    parts = ((rule.count, rule.count_reads), (rule.exposure, rule.exposure_reads))
    return rule.drawn is None and all(
        part in ("value", "count", 0) or (callable(part) and {"value", "count"} & set(reads))
        for part, reads in parts
    )


def check_imputable(network: Network, node: Node) -> None:
    """Refuse masked cells of a node that has no counts to impute them from."""
    link, kind = find_link(node), type(node).__name__
    wrong = "" if is_imputable(node) else f"for {kind}"
    for slot in node.slots():
        rule = network.wiring.rules.get((node.name, slot))
        if wrong or link is None or rule is None:
            continue
        reads = {"value", "count", "exposure"} & set(rule.exposure_reads)
        told = (rule.count, rule.kind, rule.drawn) == ("count", "poisson", None) and not reads
        if slot == link.slot and not told:
            wrong = f"since the rule of {kind} for {slot} is not that of Pois(exposure · {slot})"
        elif slot != link.slot and not _is_silent(rule):
            wrong = f"since the rule of {kind} for {slot} does not look at the data of each cell"
    if wrong:
        raise DataError(
            f"{node.name}: the data have masked cells, which cannot be imputed {wrong}; use a "
            "node with Poisson counts, such as pgbn.Poisson, or leave the rows with unknown "
            "cells out"
        )
