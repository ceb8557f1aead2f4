"""The registry of rules: which evidence a node passes up.

Rules are declared, never inferred: by `evidence_rule`, `link_rule` and `counts_are_data`, and in
`pgbn.nodes.rules.draws` by `draw_rule` and `kernel_rule`, each beside the node type that it is
about. What a rule may read is told in `pgbn.nodes.rules.types`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from importlib.metadata import entry_points
from typing import Any, TypeVar

from pgbn.errors import MissingRuleError, NetworkError
from pgbn.nodes.base import Latent, Node, node_types
from pgbn.nodes.rules.draws import (
    all_draws,
    ancestors_of,
    check_reads,
    kernel_of,
    kinds_heard,
    way_out,
)
from pgbn.nodes.rules.types import (
    DrawRule,
    EvidenceRule,
    Function,
    LinkRule,
    kept_count,
    names_read,
)

__all__ = [
    "counts_are_data",
    "evidence_rule",
    "find_evidence",
    "find_link",
    "find_told",
    "is_own",
    "is_own_rule",
    "link_rule",
    "load_plugins",
    "registered",
    "seal",
]

F = TypeVar("F", bound=Callable[..., Any])

_evidence: dict[tuple[type[Node], str, str], EvidenceRule] = {}
_links: dict[type[Node], LinkRule] = {}
_sealed: dict[int, object] = {}  # by identity: a function of a rule need not have a hash


def evidence_rule(
    child: type[Node],
    slot: str,
    *,
    relation: str = "collapsed",
    kind: str = "poisson",
    count: str | None = None,
    exposure: Function | str | float | None = None,
    drawn: Callable[[Any], tuple[str, ...]] | None = None,
    unit_exposure: bool = False,
    normalised: bool = False,
    additive: bool = False,
    integer: bool = False,
    equation: str = "",
    reference: str = "",
    log_probability: Function | None = None,
) -> Callable[[F], F]:
    """Register what ``child`` tells its ``slot``; decorates the function of the count.

    With ``count="name"`` nothing is decorated: the named quantity is passed on as it is. With
    ``integer=True`` a count that is computed, or passed on, is a whole number: it is kept and
    shared out as those that are drawn are.
    """
    if slot not in child.slots():
        raise NetworkError(f"{child.__name__} has no slot {slot!r}; it has {child.slots()}")
    if relation not in ("collapsed", "held"):
        raise NetworkError(f"relation={relation!r}: must be 'collapsed' or 'held'")

    def register(source: Function | str) -> None:
        source = kept_count(source) if integer else source
        rule = EvidenceRule(
            child, slot, relation, kind, source, exposure, drawn, unit_exposure, normalised,
            additive, equation, reference, log_probability,
        )  # fmt: skip
        if exposure is None and drawn is None:
            raise NetworkError(
                f"evidence rule of {child.__name__} for {slot!r}: give exposure=, or drawn= "
                "if the function returns an Evidence with a random exposure"
            )
        check_reads(child, rule.count_reads + rule.exposure_reads)
        reads_value = "value" in rule.count_reads + rule.exposure_reads
        if relation == "collapsed" and reads_value and issubclass(child, Latent):
            raise NetworkError(
                f"evidence rule of {child.__name__} for {slot!r}: it reads the value that a "
                "collapsed relation integrates out; give relation='held'"
            )
        if drawn is not None and not rule.is_random:
            raise NetworkError(
                f"evidence rule of {child.__name__} for {slot!r}: drawn= needs a function of the "
                "stream that returns a pgbn.Evidence"
            )
        _evidence[(child, slot, kind)] = rule

    def decorate(function: F) -> F:
        register(function)
        return function

    if count is not None:
        register(count)
    return decorate


def link_rule(
    node: type[Node],
    slot: str,
    *,
    equation: str = "",
    reference: str = "",
    log_probability: Function | None = None,
    all_cells: bool = False,
) -> Callable[[Function], Function]:
    """Register how the latent counts of an observed ``node`` are drawn: decorates a function
    of (stream, value, slot value, other slots…), each given at the non-zero cells.

    A datum of 0 is then taken for a count of 0. Where there may be counts behind it, as behind a
    zero that was not seen, give ``all_cells=True``: data are kept as whole arrays.
    """

    def register(counts: Function) -> Function:
        check_reads(node, names_read(counts))
        _links[node] = LinkRule(
            node, slot, counts, equation, reference, log_probability, bool(all_cells)
        )
        return counts

    return register


def counts_are_data(node: type[Node], slot: str) -> None:
    """Register that the data of ``node`` are themselves the counts."""
    _links[node] = LinkRule(node, slot, None, "", "")


def find_evidence(child: Node, slot: str, parent: Node) -> EvidenceRule:
    """The rule by which ``child`` informs ``parent`` in its ``slot``; else an error."""
    kinds = list(kinds_heard(parent))
    rule = next(_rules_for(child, slot, parent), None)
    if rule is not None:
        return rule
    kind = type(parent).__name__
    if not kinds and kernel_of(parent) is None:
        raise MissingRuleError(
            f"{parent.name} ({kind}) has no draw rule: say how it is drawn given the evidence that "
            f"it hears, with @pgbn.draw_rule({kind}) or @pgbn.kernel_rule({kind})" + way_out(parent)
        )
    exist = [
        f"  {rule.child.__name__}.{rule.slot} tells {rule.kind!r} evidence to "
        + "/".join(
            dict.fromkeys(
                draw.node.__name__ for draw in all_draws() if draw.hears and draw.kind == rule.kind
            )
        )
        for rule in _evidence.values()
        if rule.child in ancestors_of(type(child))
    ]
    raise MissingRuleError(
        f"{parent.name} ({kind}) stands in the {slot} of {child.name} "
        f"({type(child).__name__}), and there is no conjugate update for that: {kind} "
        f"hears {kinds}. Rules of {type(child).__name__}:\n" + ("\n".join(exist) or "  none")
        + f"\nAdd one with @pgbn.evidence_rule({type(child).__name__}, {slot!r}), "
        "or make the parameter a number" + way_out(parent)
    )  # fmt: skip


def _rules_for(child: Node, slot: str, parent: Node) -> Iterator[EvidenceRule]:
    """The rules by which ``child`` may inform ``parent``, the closest first."""
    for cls in ancestors_of(type(child)):
        for kind in kinds_heard(parent):
            rule = _evidence.get((cls, slot, kind))
            if rule is not None:
                yield rule


def find_told(child: Node, slot: str, parent: Node, held: Collection[str] = ()) -> EvidenceRule:
    """The rule by which the value of ``child`` informs ``parent`` where it cannot be integrated
    out, since it is ``held`` or drawn by a kernel; else an error."""
    for rule in _rules_for(child, slot, parent):
        if rule.tells_value:
            return rule
    kind, own = type(child).__name__, kernel_of(child)
    stands = f"{parent.name} ({type(parent).__name__}) stands in its {slot}"
    if child.name in held:
        raise MissingRuleError(
            f"{child.name} ({kind}) is given, and {stands}: what a given {kind} tells its {slot} "
            f"has no closed form there. Give {parent.name} too; or leave out what matters only "
            f"through given nodes: Network.holding({child.name!r}, above=False), as Network.infer "
            f"does{way_out(parent)}"
        )
    how = f"update={own.name!r}" if own is not None and own.name else f"a rule of {kind}"
    raise MissingRuleError(
        f"{child.name} ({kind}) is drawn by {how} that begins from its value or holds what depends "
        f"on it, so it cannot be integrated out; but {stands}, and what a held {kind} tells its "
        f"{slot} has no closed form. Make {parent.name} a number{way_out(parent)}"
    )


def find_link(node: Node) -> LinkRule | None:
    """The link rule of an observed node, if its type has one."""
    for cls in ancestors_of(type(node)):
        if cls in _links:
            return _links[cls]
    return None


def seal() -> None:
    """What has been defined and registered so far is pgbn's own: it has its tests, and what it
    returns is not checked again in every sweep."""
    ours: list[object] = [*node_types().values(), *(rule.posterior for rule in all_draws())]
    for rule in _evidence.values():
        ours += [rule.count, rule.exposure]
    ours += [link.counts for link in _links.values()]
    _sealed.update({id(thing): thing for thing in ours if callable(thing)})


def is_own(thing: object) -> bool:
    """Whether a function of a rule or a type is a user's own."""
    return id(thing) not in _sealed


def is_own_rule(rule: EvidenceRule) -> bool:
    """Whether an evidence rule, or a part of it, is a user's own."""
    parts = [part for part in (rule.count, rule.exposure) if callable(part)]
    return is_own(rule.child) or any(map(is_own, parts))


_loaded = False


def load_plugins() -> None:
    """Import what other packages offer in the entry-point group ``pgbn.nodes`` (once)."""
    global _loaded
    if not _loaded:
        for entry in entry_points(group="pgbn.nodes"):
            try:
                entry.load()
            except Exception as error:
                raise NetworkError(
                    f"the plug-in {entry.name!r} ({entry.value}) cannot be loaded: "
                    f"{type(error).__name__}: {error}; repair or uninstall that package"
                ) from error
        _loaded = True


def registered() -> tuple[list[EvidenceRule], list[LinkRule], list[DrawRule]]:
    """All rules, those of other packages too, in the order in which they were registered."""
    load_plugins()
    return list(_evidence.values()), list(_links.values()), all_draws()
