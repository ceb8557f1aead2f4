"""The registry of rules: which evidence a node passes up, how a node is drawn given evidence.

Rules are declared, never inferred: by `evidence_rule`, `draw_rule`, `link_rule` and
`counts_are_data`, each beside the node type that it is about. What a rule may read is told in
`pgbn.nodes.rules.types`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Any, TypeVar

from pgbn.errors import MissingRuleError, NetworkError
from pgbn.nodes.base import Latent, Node, node_types
from pgbn.nodes.rules.types import DrawRule, EvidenceRule, Function, LinkRule, names_read

__all__ = [
    "counts_are_data",
    "draw_rule",
    "evidence_rule",
    "find_draw",
    "find_evidence",
    "find_link",
    "find_told",
    "is_own",
    "is_own_rule",
    "kinds_heard",
    "link_rule",
    "load_plugins",
    "registered",
    "seal",
]

F = TypeVar("F", bound=Callable[..., Any])

_evidence: dict[tuple[type[Node], str, str], EvidenceRule] = {}
_draws: dict[tuple[type[Node], str], DrawRule] = {}
_links: dict[type[Node], LinkRule] = {}
_sealed: dict[int, object] = {}  # by identity: a function of a rule need not have a hash


def _check_reads(child: type[Node], reads: tuple[str, ...]) -> None:
    known = {"value", "count", "exposure", *child.slots()}
    for name in reads:
        if name not in known:
            raise NetworkError(
                f"a rule of {child.__name__} names {name!r}; it may read {sorted(known)}"
            )


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
    equation: str = "",
    reference: str = "",
    log_probability: Function | None = None,
) -> Callable[[F], F]:
    """Register what ``child`` tells its ``slot``; decorates the function of the count.

    With ``count="name"`` nothing is decorated: the named quantity is passed on as it is.
    """
    if slot not in child.slots():
        raise NetworkError(f"{child.__name__} has no slot {slot!r}; it has {child.slots()}")
    if relation not in ("collapsed", "held"):
        raise NetworkError(f"relation={relation!r}: must be 'collapsed' or 'held'")

    def register(source: Function | str) -> None:
        rule = EvidenceRule(
            child, slot, relation, kind, source, exposure, drawn, unit_exposure, normalised,
            additive, equation, reference, log_probability,
        )  # fmt: skip
        if exposure is None and drawn is None:
            raise NetworkError(
                f"evidence rule of {child.__name__} for {slot!r}: give exposure=, or drawn= "
                "if the function returns an Evidence with a random exposure"
            )
        _check_reads(child, rule.count_reads + rule.exposure_reads)
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


def draw_rule(
    node: type[Node],
    *,
    kind: str = "poisson",
    constant_over_simplex: bool = False,
    equation: str = "",
    reference: str = "",
) -> Callable[[Function], Function]:
    """Register the posterior of ``node``: decorates a function of (count, exposure, slots…)
    that returns the new value of each slot, as a dict."""

    def register(posterior: Function) -> Function:
        _check_reads(node, names_read(posterior))
        _draws[(node, kind)] = DrawRule(
            node, kind, posterior, constant_over_simplex, equation, reference
        )
        return posterior

    return register


def link_rule(
    node: type[Node],
    slot: str,
    *,
    equation: str = "",
    reference: str = "",
    log_probability: Function | None = None,
) -> Callable[[Function], Function]:
    """Register how the latent counts of an observed ``node`` are drawn: decorates a function
    of (stream, value, slot value, other slots…), each given at the non-zero cells."""

    def register(counts: Function) -> Function:
        _check_reads(node, names_read(counts))
        _links[node] = LinkRule(node, slot, counts, equation, reference, log_probability)
        return counts

    return register


def counts_are_data(node: type[Node], slot: str) -> None:
    """Register that the data of ``node`` are themselves the counts."""
    _links[node] = LinkRule(node, slot, None, "", "")


def _ancestors(cls: type[Node]) -> Iterator[type[Node]]:
    for base in cls.__mro__:
        if issubclass(base, Node):
            yield base


def find_evidence(child: Node, slot: str, parent: Node) -> EvidenceRule:
    """The rule by which ``child`` informs ``parent`` in its ``slot``; else an error."""
    kinds = list(kinds_heard(parent))
    rule = next(_rules_for(child, slot, parent), None)
    if rule is not None:
        return rule
    exist = [
        f"  {rule.child.__name__}.{rule.slot} tells {rule.kind!r} evidence to "
        + "/".join(cls.__name__ for (cls, kind) in _draws if kind == rule.kind)
        for rule in _evidence.values()
        if isinstance(child, rule.child)
    ]
    hears = f"{type(parent).__name__} hears {kinds}" if kinds else (
        f"no draw rule is registered for {type(parent).__name__}"
    )  # fmt: skip
    raise MissingRuleError(
        f"{parent.name} ({type(parent).__name__}) stands in the {slot} of {child.name} "
        f"({type(child).__name__}), and there is no conjugate update for that: {hears}. "
        f"Rules of {type(child).__name__}:\n" + ("\n".join(exist) or "  none")
        + f"\nAdd one with @pgbn.evidence_rule({type(child).__name__}, {slot!r}), "
        "or make the parameter a number."
    )  # fmt: skip


def _rules_for(child: Node, slot: str, parent: Node) -> Iterator[EvidenceRule]:
    """The rules by which ``child`` may inform ``parent``, the closest first."""
    for cls in _ancestors(type(child)):
        for kind in kinds_heard(parent):
            rule = _evidence.get((cls, slot, kind))
            if rule is not None:
                yield rule


def find_told(child: Node, slot: str, parent: Node) -> EvidenceRule:
    """The rule by which the given value of ``child`` informs ``parent``; else an error."""
    for rule in _rules_for(child, slot, parent):
        if rule.tells_value:
            return rule
    kind = type(child).__name__
    raise MissingRuleError(
        f"{child.name} ({kind}) is given, and {parent.name} ({type(parent).__name__}) stands in "
        f"its {slot}: what a given {kind} tells its {slot} has no closed form there. Give "
        f"{parent.name} too; or leave out what matters only through given nodes: "
        f"Network.holding({child.name!r}, above=False), as Network.infer does"
    )


def find_draw(node: Node, kind: str = "poisson") -> DrawRule:
    """The draw rule of a node for a kind of evidence."""
    for cls in _ancestors(type(node)):
        rule = _draws.get((cls, kind))
        if rule is not None:
            return rule
    raise MissingRuleError(
        f"{node.name}: no draw rule is registered for {type(node).__name__} and {kind!r} evidence; "
        f"add one with @pgbn.draw_rule({type(node).__name__}, kind={kind!r})"
    )


def kinds_heard(node: Node) -> tuple[str, ...]:
    """The kinds of evidence that a node can be drawn with."""
    return tuple(kind for (cls, kind) in _draws if isinstance(node, cls))


def find_link(node: Node) -> LinkRule | None:
    """The link rule of an observed node, if its type has one."""
    for cls in _ancestors(type(node)):
        if cls in _links:
            return _links[cls]
    return None


def seal() -> None:
    """What has been defined and registered so far is pgbn's own: it has its tests, and what it
    returns is not checked again in every sweep."""
    ours: list[object] = [*node_types().values(), *(rule.posterior for rule in _draws.values())]
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
    return list(_evidence.values()), list(_links.values()), list(_draws.values())
