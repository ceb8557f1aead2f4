"""The rules by which nodes are drawn: a posterior in their own family, or a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature

from pgbn.errors import MissingRuleError, NetworkError, did_you_mean
from pgbn.nodes.base import Latent, Node, definitions_of
from pgbn.nodes.rules.types import DENSITY, DrawRule, Function, names_read

__all__ = [
    "all_draws",
    "ancestors_of",
    "begins_from_value",
    "check_reads",
    "draw_rule",
    "find_draw",
    "kernel_of",
    "kernel_rule",
    "kinds_heard",
    "way_out",
]

_draws: dict[tuple[type[Node], str], DrawRule] = {}
_kernels: dict[tuple[type[Node], str], DrawRule] = {}  # by name; "" is the default of a type


def check_reads(child: type[Node], reads: tuple[str, ...], *others: str) -> None:
    """Refuse a rule that names what it cannot read."""
    known = {"value", "count", "exposure", *child.slots(), *others}
    for name in reads:
        if name not in known:
            raise NetworkError(
                f"a rule of {child.__name__} names {name!r}; it may read {sorted(known)}"
            )


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
        if "stream" in signature(posterior).parameters:
            raise NetworkError(
                f"the draw rule of {node.__name__} names 'stream', but it draws nothing: it "
                "returns the slots of the posterior. Leave stream out or, for a function that "
                f"draws the new value itself, write @pgbn.kernel_rule({node.__name__})"
            )
        check_reads(node, names_read(posterior))
        _draws[(node, kind)] = DrawRule(
            node, kind, posterior, constant_over_simplex, equation, reference
        )
        return posterior

    return register


def kernel_rule(
    node: type[Latent],
    *,
    name: str = "",
    kind: str = "poisson",
    equation: str = "",
    reference: str = "",
) -> Callable[[Function], Function]:
    """Register a kernel K(new | old) that leaves p(value | rest) invariant: decorates a function
    of (stream, value, count, exposure, slots…), as far as it needs them, that returns the new
    value.

    In place of ``count`` and ``exposure`` it may name ``log_conditional``, a function of a value:
    ln p(value | slots) + Σ ln p(child | value), for every entry; then everything that depends on
    the node is held. A function that names ``value`` begins from the old one: the schedule then
    makes sure that no step has integrated it out. With a ``name`` the kernel serves the nodes with
    ``update=name``, else all nodes of the type.
    """

    def register(function: Function) -> Function:
        rule = DrawRule(node, kind, function, False, equation, reference, True, name)
        check_reads(node, names_read(function), DENSITY, "stream")
        if not rule.hears and {"count", "exposure"} & set(rule.reads):
            raise NetworkError(
                f"the kernel rule of {node.__name__} names {DENSITY!r} and evidence; the log "
                "conditional holds all that the evidence says: leave out count and exposure"
            )
        if name or not rule.hears:
            _kernels[node, name] = rule
        else:
            _draws[node, kind] = rule
        return function

    return register


def ancestors_of(cls: type[Node]) -> Iterator[type[Node]]:
    """The types whose rules a type has, the closest first."""
    for base in cls.__mro__:
        if issubclass(base, Node):
            yield from definitions_of(base)


def kernel_of(node: Node) -> DrawRule | None:
    """The kernel that draws a node: the one that it names, or that of its type by densities."""
    name = node.update if isinstance(node, Latent) else ""
    for cls in ancestors_of(type(node)):
        if (cls, name) in _kernels:
            return _kernels[cls, name]
        if not name and any(cls is owner for owner, _ in _draws):
            return None  # a rule of a closer type
    if not name:
        return None
    every = sorted({own for (cls, own) in _kernels if own and isinstance(node, cls)})
    raise NetworkError(
        f"{node.name}: update={name!r}: there is no such kernel for {type(node).__name__}."
        f"{did_you_mean(name, every)} Register it with @pgbn.kernel_rule({type(node).__name__}, "
        f"name={name!r})"
    )


def is_moved_by_density(node: Node) -> bool:
    """Whether a node is drawn by a kernel from log densities, which hears no evidence."""
    rule = kernel_of(node)
    return rule is not None and not rule.hears


def begins_from_value(node: Node) -> bool:
    """Whether a draw of a node, given what it hears, begins from its own value."""
    rules = [find_draw(node, kind) for kind in kinds_heard(node)]
    return any(rule.reads_value for rule in rules)


def way_out(node: Node) -> str:
    """How a node without a conjugate update can be drawn, to end a sentence with."""
    if not isinstance(node, Latent) or not node.support or node.update:
        return ""
    prefix = "pgbn." if type(node).__module__.partition(".")[0] == "pgbn" else ""
    return (
        f"; or draw {node.name} by slice sampling: "
        f'{prefix}{type(node).__name__}({node.name!r}, ..., update="slice")'
    )


def find_draw(node: Node, kind: str = "poisson") -> DrawRule:
    """The draw rule of a node for a kind of evidence."""
    own = kernel_of(node)
    if own is not None:
        return own
    for cls in ancestors_of(type(node)):
        rule = _draws.get((cls, kind))
        if rule is not None:
            return rule
    raise MissingRuleError(
        f"{node.name}: no draw rule is registered for {type(node).__name__} and {kind!r} evidence; "
        f"add one with @pgbn.draw_rule({type(node).__name__}, kind={kind!r})"
    )


def kinds_heard(node: Node) -> tuple[str, ...]:
    """The kinds of evidence that a node can be drawn with."""
    own = kernel_of(node)
    if own is not None:
        return (own.kind,) if own.hears else ()
    known = set(ancestors_of(type(node)))
    return tuple(dict.fromkeys(kind for (cls, kind) in _draws if cls in known))


def all_draws() -> list[DrawRule]:
    """All rules, in the order in which they were registered; kernels with names last."""
    return [*_draws.values(), *_kernels.values()]
