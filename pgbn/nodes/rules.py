"""Rules: what they are, and their registry.

Rules say which evidence a node sends up, how a node is drawn, and which counts are behind data.
They are declared, never inferred: by `evidence_rule`, `link_rule`, `counts_are_data`, `draw_rule`
and `kernel_rule`, each in the module of its node type.

The parameters of its functions name the quantities that a rule reads. The schedule check and
`Network.explain` use these names. They are looked up once, since every network needs them many
times. A rule may use these names:

``stream``    the keyed random stream (counts only): the count is drawn on the way up and kept
``value``     the node's own value (data, for an observed node)
``count``     the count that the node receives; for an observed node, its (latent) counts
``exposure``  the exposure that the node receives
any slot      the value of that slot, e.g. ``shape`` and ``rate`` of a Gamma

A count function without ``stream`` draws nothing: it is computed whenever it is read.
A kernel rule may name ``log_conditional`` instead of ``count`` and ``exposure``. It is a function
of a value of the node: ln p(value | the slots, all that depends on it), for every entry.
Each rule draws independently: a quantity that two slots share must be a node, or the draw of a
link.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from importlib.metadata import entry_points
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import validated
from pgbn.errors import DataError, MissingRuleError, NetworkError, did_you_mean
from pgbn.nodes.base import Latent, Node, Observed, definitions_of, node_types

# ---- what a rule is -----------------------------------------------------------------------------

QUADRATIC = "quadratic"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The likelihood of a node's value that its children send up. The likelihood has four kinds:

    - "poisson", of a value λ: λ^count · exp(−exposure·λ);
    - "probability", of a probability p: p^count · (1−p)^exposure;
    - "odds": the same of the p in a value (1−p)/p;
    - "quadratic", of the value ψ of an entire slot: exp(count·ψ − ½ exposure·ψ²). ψ may be
      negative. The nodes in a weighted sum ψ receive the evidence through the weights.

    Evidence of several children is added up.

    Parameters
    ----------
    count : array
        The count of each entry.
    exposure : array
        The exposure of each entry.

    Examples
    --------
    >>> pgbn.extend.Evidence(count=3, exposure=1.5)
    Evidence(count=3, exposure=1.5)
    """

    count: Any
    exposure: Any


Function = Callable[..., Any]
DENSITY = "log_conditional"


@dataclass(frozen=True, eq=False)
class EvidenceRule:
    """What ``child`` sends to the nodes in its ``slot``.

    ``count`` and ``exposure`` are each a function, the name of a quantity that is passed on
    unchanged, or (exposure) a number. ``drawn`` means that the count function returns an
    `Evidence` whose exposure is random and is kept; it gives the dims of that exposure.
    ``relation`` is "collapsed" if the child's value is integrated out, otherwise "given".
    ``additive``: sums of the child depend on the slot only through the same sums of the slot.
    ``unit_exposure``: the rule is valid only if the child receives an exposure of 1.
    ``normalised``: the slot must sum to one over the child's simplex.
    ``log_probability``: the elementwise log probability of ``drawn``, the result of a count
    function that draws, given what it reads. Only `pgbn.testing.check_conjugacy` needs it.
    """

    child: type[Node]
    slot: str
    relation: str
    kind: str
    count: Function | str
    exposure: Function | str | float | None
    drawn: Callable[[Any], tuple[str, ...]] | None
    unit_exposure: bool
    normalised: bool
    additive: bool
    equation: str
    reference: str
    log_probability: Function | None

    @cached_property
    def count_reads(self) -> tuple[str, ...]:
        """Names that the count is made from."""
        return names_read(self.count)

    @cached_property
    def exposure_reads(self) -> tuple[str, ...]:
        """Names that the exposure is made from, when it is read."""
        return () if self.drawn else names_read(self.exposure)

    @cached_property
    def is_random(self) -> bool:
        """Whether the count is drawn on the way up and kept."""
        return callable(self.count) and "stream" in inspect.signature(self.count).parameters

    @property
    def passed_on(self) -> str:
        """The name of the quantity that is passed on as the count; empty if there is none."""
        return self.count if isinstance(self.count, str) else getattr(self.count, "passed_on", "")

    @property
    def is_computed(self) -> bool:
        """Whether the count is kept as a drawn one is, but computed."""
        return getattr(self.count, "is_computed", False)

    @property
    def is_integer(self) -> bool:
        """Whether the count is an integer, as thinning and tables need it."""
        return self.is_random or self.count == "count"

    @property
    def is_quadratic(self) -> bool:
        """Whether the evidence is a quadratic form in the value of the entire slot.

        Nothing is then shared out, and the nodes in the slot are drawn jointly."""
        return self.kind == QUADRATIC

    @property
    def sends_value(self) -> bool:
        """Whether it depends on the value of the child, and not on what the child receives."""
        reads = {*self.count_reads, *self.exposure_reads}
        return self.relation == "given" and not reads & {"count", "exposure"}


@dataclass(frozen=True, eq=False)
class DrawRule:
    """How ``node`` is drawn given evidence of ``kind``.

    ``posterior`` gives new parameters of its own family. A ``kernel`` gives the new value itself,
    and need only leave the conditional of the value invariant.
    ``constant_over_simplex``: the rule is valid only if the exposure does not vary along the
    node's simplex; the exposure then cancels.
    """

    node: type[Node]
    kind: str
    posterior: Function
    constant_over_simplex: bool
    equation: str
    reference: str
    kernel: bool = False
    name: str = ""

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Names that the draw is made from."""
        return tuple(name for name in names_read(self.posterior) if name != DENSITY)

    @cached_property
    def reads_value(self) -> bool:
        """Whether the draw begins from the node's own value, which must then be current."""
        return "value" in self.reads

    @cached_property
    def receives(self) -> bool:
        """Whether the draw uses evidence. Otherwise it uses log densities, given all that depends
        on the node."""
        return DENSITY not in names_read(self.posterior)


@dataclass(frozen=True, eq=False)
class LinkRule:
    """The latent Poisson counts behind the data of ``node``, at its non-zero cells.

    With ``all_cells`` there may also be counts behind a datum of 0. ``log_probability`` is as in
    `EvidenceRule`."""

    node: type[Node]
    slot: str
    counts: Function | None
    equation: str
    reference: str
    log_probability: Function | None = None
    all_cells: bool = False


def names_read(source: object) -> tuple[str, ...]:
    """The names that a function reads, or the one name of a quantity that is passed on."""
    if isinstance(source, str):
        return (source,)
    if callable(source):
        return tuple(name for name in inspect.signature(source).parameters if name != "stream")
    return ()


def kept_count(source: Function | str) -> Function:
    """A computed count as a function of the stream, so that it is kept as a drawn count is."""
    names = names_read(source)
    if callable(source) and "stream" in inspect.signature(source).parameters:
        return source

    def count(stream: object, **given: Any) -> Any:
        found = np.asarray(source(**given) if callable(source) else given[source])
        return found.astype(np.int64) if (found == np.floor(found)).all() else found

    kind = inspect.Parameter.KEYWORD_ONLY
    reads = [inspect.Parameter(name, kind) for name in ("stream", *names)]
    count.__signature__ = inspect.Signature(reads)  # type: ignore[attr-defined]
    count.is_computed = True  # type: ignore[attr-defined]
    count.passed_on = "" if callable(source) else source  # type: ignore[attr-defined]
    return count


# ---- draws: a posterior in the family of the node, or a kernel ----------------------------------

_draws: dict[tuple[type[Node], str], DrawRule] = {}
_kernels: dict[tuple[type[Node], str], DrawRule] = {}  # by name; "" is the default of a type


def check_reads(child: type[Node], reads: tuple[str, ...], *others: str) -> None:
    """Reject a rule that names a quantity which it cannot read."""
    known = {"value", "count", "exposure", *child.slots(), *others}
    for name in reads:
        if name not in known:
            raise NetworkError(
                f"a rule of {child.__name__} names {name!r}; it may read {sorted(known)}"
            )


def check_type(caller: str, kind: Any, base: type[Node], why: str = "") -> None:
    """Reject what is not a class of nodes of the kind ``base``."""
    if not isinstance(kind, type) or not issubclass(kind, base):
        shown = kind.__name__ if isinstance(kind, type) else f"{kind!r:.60}"
        raise NetworkError(
            f"{caller}({shown}): give a class derived from pgbn.extend.{base.__name__}{why}"
        )


def check_rule(caller: str, node: type[Node], function: Any) -> None:
    """Reject what cannot be called, in place of the function of a rule."""
    if not callable(function):
        raise NetworkError(
            f"{caller}({node.__name__}): decorates {function!r:.60}; it must decorate a function"
        )


def check_new(known: Any, function: Any, node: type[Node], what: str) -> None:
    """Reject a rule from outside for a type of pgbn that has one: all networks would change."""
    own = known is not None and node.__module__.startswith("pgbn.")
    if own and not str(getattr(function, "__module__", "pgbn.")).startswith("pgbn."):
        raise NetworkError(
            f"{node.__name__} has {what} already, which networks rely on; register yours for a "
            f"type of your own, class My{node.__name__}(pgbn.{node.__name__})"
        )


_DRAWN_ONLY = "; only these are drawn, while an observed node has data"


def draw_rule(
    node: type[Node],
    *,
    kind: str = "poisson",
    constant_over_simplex: bool = False,
    equation: str = "",
    reference: str = "",
) -> Callable[[Function], Function]:
    """Register how ``node`` is drawn given evidence: the posterior in its own family.

    Decorates a function of (count, exposure, slots…) that returns the new value of each slot, as a
    dict.

    Parameters
    ----------
    node : type
        The latent node type.
    kind : str
        The kind of evidence that it receives, see `Evidence`.
    constant_over_simplex : bool
        Whether the rule is valid only if the exposure does not vary along the simplex of the node.
    equation : str
        The rule in LaTeX, for `Network.explain`.
    reference : str
        Where it comes from.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> class Speed(pgbn.Gamma):
    ...     tag = "docs.speed"
    >>> @pgbn.extend.draw_rule(Speed, reference="gamma–Poisson conjugacy")
    ... def posterior(count, exposure, shape, rate):
    ...     return {"shape": shape + count, "rate": rate + exposure}
    """

    check_type("draw_rule", node, Latent, _DRAWN_ONLY)

    def register(posterior: Function) -> Function:
        check_rule("draw_rule", node, posterior)
        if "stream" in inspect.signature(posterior).parameters:
            raise NetworkError(
                f"the draw rule of {node.__name__} names 'stream', but it draws nothing: it "
                "returns the slots of the posterior. Remove stream or, for a function that "
                f"draws the new value itself, write @pgbn.extend.kernel_rule({node.__name__})"
            )
        check_reads(node, names_read(posterior))
        check_new(_draws.get((node, kind)), posterior, node, "a draw rule")
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
    """Register a kernel K(new | old) that leaves p(value | rest) invariant.

    Decorates a function of those of (stream, value, count, exposure, slots…) that it needs. The
    function returns the new value.

    Instead of ``count`` and ``exposure`` it may name ``log_conditional``, a function of a value:
    ln p(value | slots) + Σ ln p(child | value), for every entry. Everything that depends on the
    node is then fixed. A function that names ``value`` begins from the old value: the schedule
    then makes sure that no step has integrated it out.

    Parameters
    ----------
    node : type
        The latent node type.
    name : str
        The kernel serves nodes with ``update=name``. Without a name it serves all nodes of the
        type.
    kind : str
        The kind of evidence that it receives, if it names ``count`` or ``exposure``.
    equation : str
        The rule in LaTeX, for `Network.explain`.
    reference : str
        Where it comes from.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> class Walking(pgbn.Gamma):
    ...     tag = "docs.walking"
    >>> @pgbn.extend.kernel_rule(Walking, name="exact")
    ... def draw(stream, count, exposure, shape, rate):
    ...     return pgbn.extend.vectorised.gamma(stream, shape + count, rate + exposure)
    """

    check_type("kernel_rule", node, Latent, _DRAWN_ONLY)

    def register(function: Function) -> Function:
        check_rule("kernel_rule", node, function)
        rule = DrawRule(node, kind, function, False, equation, reference, True, name)
        check_reads(node, names_read(function), DENSITY, "stream")
        if not rule.receives and {"count", "exposure"} & set(rule.reads):
            raise NetworkError(
                f"the kernel rule of {node.__name__} names {DENSITY!r} and evidence; the log "
                "conditional contains all of the evidence: remove count and exposure"
            )
        known = _kernels.get((node, name)) or (None if name else _draws.get((node, kind)))
        check_new(known, function, node, f"the kernel {name!r}" if name else "a draw rule")
        if name or not rule.receives:
            _kernels[node, name] = rule
        else:
            _draws[node, kind] = rule
        return function

    return register


def ancestors_of(cls: type[Node]) -> Iterator[type[Node]]:
    """The types whose rules a type inherits, the closest first."""
    for base in cls.__mro__:
        if issubclass(base, Node):
            yield from definitions_of(base)


def kernel_of(node: Node) -> DrawRule | None:
    """The kernel that draws a node: the one that it names, or the density kernel of its type."""
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
        f"{did_you_mean(name, every)} Register it with "
        f"@pgbn.extend.kernel_rule({type(node).__name__}, name={name!r})"
    )


def is_moved_by_density(node: Node) -> bool:
    """Whether a node is drawn by a kernel from log densities, which receives no evidence."""
    rule = kernel_of(node)
    return rule is not None and not rule.receives


def begins_from_value(node: Node) -> bool:
    """Whether a draw of a node, given its evidence, begins from its own value."""
    rules = [find_draw(node, kind) for kind in kinds_received(node)]
    return any(rule.reads_value for rule in rules)


def suggest_remedy(node: Node) -> str:
    """The end of an error: how a node without a conjugate update can be drawn."""
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
        f"add one with @pgbn.extend.draw_rule({type(node).__name__}, kind={kind!r})"
    )


def kinds_received(node: Node) -> tuple[str, ...]:
    """The kinds of evidence that a node can be drawn with."""
    own = kernel_of(node)
    if own is not None:
        return (own.kind,) if own.receives else ()
    known = set(ancestors_of(type(node)))
    return tuple(dict.fromkeys(kind for (cls, kind) in _draws if cls in known))


def all_draws() -> list[DrawRule]:
    """All rules, in the order in which they were registered; kernels with names last."""
    return [*_draws.values(), *_kernels.values()]


# ---- evidence and links -------------------------------------------------------------------------

F = TypeVar("F", bound=Callable[..., Any])


def _check_slot(node: type[Node], slot: str) -> None:
    if slot not in node.slots():
        raise NetworkError(
            f"{node.__name__} has no slot {slot!r}.{did_you_mean(slot, node.slots())}"
        )


_evidence: dict[tuple[type[Node], str, str], EvidenceRule] = {}
_links: dict[type[Node], LinkRule] = {}
_sealed: dict[int, object] = {}  # by identity: a function of a rule need not have a hash


@validated
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
    """Register what ``child`` sends to its ``slot``; decorates the function of the count.

    The decorated function and ``exposure`` name what they read: the ``stream`` (only the function
    of the count), ``value``, ``count``, ``exposure`` and slots. If the count is passed on as it is,
    give its name as ``count``; then nothing is decorated.

    Parameters
    ----------
    child : type
        The node type that sends the evidence.
    slot : str
        The slot whose nodes receive it.
    relation : str
        "given" if the rule reads the value of the child, "collapsed" if the value is integrated
        out.
    kind : str
        The kind of evidence, see `Evidence`.
    count : str
        The name of the quantity that is the count.
    exposure : callable, str or float
        The exposure: a function, a name or a number.
    drawn : callable
        The dims of an exposure that is drawn, given the node. The count function then returns an
        `Evidence`.
    unit_exposure : bool
        Whether the rule is valid only if the child receives an exposure of 1.
    normalised : bool
        Whether the slot must sum to one over the simplex of the child.
    additive : bool
        Whether sums of the child depend on the slot only through the same sums of the slot.
    integer : bool
        Whether a count that is computed is an integer.
    equation : str
        The rule in LaTeX, for `Network.explain`.
    reference : str
        Where it comes from.
    log_probability : callable
        The log probability of a count that is drawn, for `pgbn.testing.check_conjugacy`.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> class Waiting(pgbn.extend.Observed):
    ...     tag = "docs.waiting"
    ...     rate: pgbn.extend.Slot
    >>> @pgbn.extend.evidence_rule(Waiting, "rate", relation="given", exposure="value")
    ... def count(value):
    ...     return np.ones_like(value)
    """
    check_type("evidence_rule", child, Node)
    _check_slot(child, slot)
    if relation not in ("collapsed", "given"):
        raise NetworkError(f"relation={relation!r}: must be 'collapsed' or 'given'")

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
                "collapsed relation integrates out; give relation='given'"
            )
        if drawn is not None and not rule.is_random:
            raise NetworkError(
                f"evidence rule of {child.__name__} for {slot!r}: drawn= needs a function of the "
                "stream that returns a pgbn.extend.Evidence"
            )
        what = f"an evidence rule for {slot!r}"
        check_new(_evidence.get((child, slot, kind)), source, child, what)
        _evidence[(child, slot, kind)] = rule

    def decorate(function: F) -> F:
        check_rule("evidence_rule", child, function)
        register(function)
        return function

    if count is not None:
        register(count)
    return decorate


@validated
def link_rule(
    node: type[Node],
    slot: str,
    *,
    equation: str = "",
    reference: str = "",
    log_probability: Function | None = None,
    all_cells: bool = False,
) -> Callable[[Function], Function]:
    """Register how the latent counts of an observed ``node`` are drawn.

    Decorates a function of (stream, value, slots…) that returns the counts behind the data.

    Parameters
    ----------
    node : type
        The observed node type.
    slot : str
        The slot that is the rate of the counts.
    all_cells : bool
        Whether there may be counts behind a datum of 0. The function then receives every cell.
    equation : str
        The rule in LaTeX, for `Network.explain`.
    reference : str
        Where it comes from.
    log_probability : callable
        The log probability of the counts, for `pgbn.testing.check_conjugacy`.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> class Seen(pgbn.extend.Observed):
    ...     tag = "docs.seen"
    ...     rate: pgbn.extend.Slot
    >>> @pgbn.extend.link_rule(Seen, "rate")
    ... def counts(stream, value, rate):
    ...     return pgbn.extend.vectorised.truncated_poisson(stream, rate)
    """

    check_type("link_rule", node, Observed)
    _check_slot(node, slot)

    def register(counts: Function) -> Function:
        check_rule("link_rule", node, counts)
        check_reads(node, names_read(counts))
        _links[node] = LinkRule(
            node, slot, counts, equation, reference, log_probability, bool(all_cells)
        )
        return counts

    return register


@validated
def counts_are_data(node: type[Node], slot: str) -> None:
    """Register that the data of ``node`` are themselves the counts.

    Parameters
    ----------
    node : type
        The observed node type.
    slot : str
        The slot that is the rate of the counts.

    Examples
    --------
    >>> class Calls(pgbn.extend.Observed):
    ...     tag = "docs.calls"
    ...     rate: pgbn.extend.Slot
    >>> pgbn.extend.counts_are_data(Calls, "rate")
    """
    check_type("counts_are_data", node, Observed)
    _check_slot(node, slot)
    _links[node] = LinkRule(node, slot, None, "", "")


def find_evidence(child: Node, slot: str, parent: Node) -> EvidenceRule:
    """The rule by which ``child`` informs ``parent`` in its ``slot``; an error if none exists."""
    kinds = list(kinds_received(parent))
    rule = next(_rules_for(child, slot, parent), None)
    if rule is not None:
        return rule
    kind = type(parent).__name__
    if not kinds and kernel_of(parent) is None:
        raise MissingRuleError(
            f"{parent.name} ({kind}) has no draw rule: say how it is drawn given the evidence that "
            f"it receives, with @pgbn.extend.draw_rule({kind}) or @pgbn.extend.kernel_rule({kind})"
            + suggest_remedy(parent)
        )
    exist = [
        f"  {rule.child.__name__}.{rule.slot} sends {rule.kind!r} evidence to "
        + "/".join(
            dict.fromkeys(
                draw.node.__name__
                for draw in all_draws()
                if draw.receives and draw.kind == rule.kind
            )
        )
        for rule in _evidence.values()
        if rule.child in ancestors_of(type(child))
    ]
    raise MissingRuleError(
        f"{parent.name} ({kind}) stands in the {slot} of {child.name} "
        f"({type(child).__name__}), and there is no conjugate update for that: {kind} "
        f"receives {kinds}. Rules of {type(child).__name__}:\n" + ("\n".join(exist) or "  none")
        + f"\nAdd one with @pgbn.extend.evidence_rule({type(child).__name__}, {slot!r}), "
        "or make the parameter a number" + suggest_remedy(parent)
    )  # fmt: skip


def _rules_for(child: Node, slot: str, parent: Node) -> Iterator[EvidenceRule]:
    """The rules by which ``child`` may inform ``parent``, the closest first."""
    for cls in ancestors_of(type(child)):
        for kind in kinds_received(parent):
            rule = _evidence.get((cls, slot, kind))
            if rule is not None:
                yield rule


def find_value_rule(
    child: Node, slot: str, parent: Node, given: Collection[str] = ()
) -> EvidenceRule:
    """The rule by which the value of ``child`` informs ``parent``; an error if none exists.

    It serves a ``child`` that cannot be integrated out, since it is ``given`` or drawn by a kernel.
    """
    for rule in _rules_for(child, slot, parent):
        if rule.sends_value:
            return rule
    kind, own = type(child).__name__, kernel_of(child)
    stands = f"{parent.name} ({type(parent).__name__}) stands in its {slot}"
    if child.name in given:
        raise MissingRuleError(
            f"{child.name} ({kind}) is given, and {stands}: what a given {kind} sends to its "
            f"{slot} has no closed form. Give {parent.name} too; or omit nodes that matter only "
            f"through given nodes: Network.with_given({child.name!r}, above=False), as "
            f"Network.infer does{suggest_remedy(parent)}"
        )
    how = f"update={own.name!r}" if own is not None and own.name else f"a rule of {kind}"
    raise MissingRuleError(
        f"{child.name} ({kind}) is drawn by {how} that begins from its value or fixes what depends "
        f"on it, so it cannot be integrated out; but {stands}, and what a fixed {kind} sends to "
        f"its {slot} has no closed form. Make {parent.name} a number{suggest_remedy(parent)}"
    )


def find_link(node: Node) -> LinkRule | None:
    """The link rule of an observed node, if its type has one."""
    for cls in ancestors_of(type(node)):
        if cls in _links:
            return _links[cls]
    return None


def seal() -> None:
    """Mark all types and rules registered so far as those of pgbn.

    They have tests, so that their results are not checked again in every sweep."""
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
    """Import the plug-ins of other packages in the entry-point group ``pgbn.nodes`` (once)."""
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
    """All rules, also those of other packages, in the order in which they were registered."""
    load_plugins()
    return list(_evidence.values()), list(_links.values()), all_draws()


# ---- results: what the functions of a user's rules return, checked when it is first read --------

# the counts of these kinds are numbers of events; the counts of other kinds are not checked
_KINDS = ("poisson", "probability", "odds")
_MOST = 2**53  # beyond it floats skip integers, and sums of integers may overflow


def checked_rule(
    function: Callable[..., Any], node: Node, slot: str, shape: tuple[int, ...]
) -> Callable[..., Any]:
    """A function of a rule that computes a count or an exposure, with a check of its result.

    The result must have the ``shape`` of all that it reads; () is one number."""
    if not is_own(function):
        return function

    @wraps(function)
    def check(**arguments: Any) -> Any:
        return _numbers(node, slot, function, function(**arguments), shape)

    return check


def drawn_counts(
    node: Node, slot: str, rule: EvidenceRule, result: Any, stream: tuple[int, ...],
    sizes: Mapping[str, int],
) -> Any:  # fmt: skip
    """The counts, or the `Evidence`, that a rule drew."""
    count = rule.count
    assert callable(count)
    if rule.drawn is None:
        if isinstance(result, Evidence):
            raise DataError(
                f"{_name(node, slot, count)} returned an Evidence; return the counts alone, or "
                "give drawn= instead of exposure= if the exposure is drawn too"
            )
        return whole_counts(node, slot, count, result, stream, rule.kind)
    if not isinstance(result, Evidence):
        raise DataError(
            f"{_name(node, slot, count)} returned {_what(result)}; a rule with drawn= must return "
            "pgbn.extend.Evidence(count, exposure)"
        )
    given = rule.drawn(node)
    shape = (stream[0], *(sizes[dim] for dim in node.axes if dim in given))
    exposure = _numbers(node, slot, count, result.exposure, shape, "as exposure ")
    return Evidence(whole_counts(node, slot, count, result.count, stream, rule.kind), exposure)


def whole_counts(
    node: Node, slot: str, function: Callable[..., Any], result: Any, shape: tuple[int, ...],
    kind: str = "poisson",
) -> NDArray[Any]:  # fmt: skip
    """The counts that an evidence rule of some kind, or a link rule, drew."""
    array = _numbers(node, slot, function, result, shape).reshape(shape)
    if kind not in _KINDS:
        return array
    wrong = array[~((array >= 0) & (array <= _MOST) & (array == np.floor(array)))]
    if wrong.size:
        raise DataError(
            f"{_name(node, slot, function)} drew the count {wrong[0]:g}; a count that is drawn "
            "must be 0, 1, 2, …, and so must one of a rule with integer=True, since it may be "
            "shared out (a count that needs no random numbers may be real: remove the parameter "
            "stream, and integer=True)"
        )
    return array.astype(np.int64, copy=False)


def _numbers(
    node: Node, slot: str, function: Callable[..., Any], result: Any, shape: tuple[int, ...],
    part: str = "",
) -> NDArray[Any]:  # fmt: skip
    array = np.asarray(result)
    same = [n for n in array.shape if n != 1] == [n for n in shape if n != 1]
    if array.dtype.kind not in "iufb" or not same:
        expected = f"an array of the shape {shape}" if shape else "one number"
        remedy = "; np.broadcast_to(…, …) fills an array" if prod(shape) != 1 else ""
        raise DataError(
            f"{_name(node, slot, function)} returned {part}{_what(result)}; it must return "
            f"{expected}, that of what it reads{remedy}"
        )
    return array


def _name(node: Node, slot: str, function: Callable[..., Any]) -> str:
    own = getattr(function, "__qualname__", repr(function)).rpartition(".")[2]
    return f"{node.name}: the rule of {type(node).__name__} for {slot!r}, {own}(),"


def _what(result: Any) -> str:
    if isinstance(result, np.ndarray) and result.ndim:
        return f"an array of the shape {result.shape} and the type {result.dtype}"
    return "None" if result is None else f"{result!r:.60} of the type {type(result).__name__}"


# ---- the table of all rules ---------------------------------------------------------------------


def plain_formula(latex: str) -> str:
    """LaTeX as unicode for a terminal."""
    from pgbn.explain.formulas import to_unicode

    return to_unicode(latex)


class _Table(str):
    """Text that a prompt shows unchanged, and a notebook as a table with formulas."""

    markdown: str

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return self.markdown


@validated
def rules() -> str:
    """The table of all rules; it shows itself at a prompt and, with formulas, in a notebook.

    Returns
    -------
    str
        The rules: evidence, links and draws, and the names of all node types.

    Examples
    --------
    >>> print(pgbn.rules().splitlines()[0])
    Evidence: what a node sends to a slot
    """
    evidence, links, draws = registered()
    parts = {
        "Evidence: what a node sends to a slot": [
            (f"{rule.child.__name__}.{rule.slot}", rule.relation, rule.kind, rule.equation)
            for rule in evidence
        ],
        "Links: the counts behind data": [
            (f"{link.node.__name__}.{link.slot}", "", "", link.equation) for link in links
        ],
        "Draws: a node given the evidence it receives": [
            (
                draw.node.__name__,
                repr(draw.name) if draw.name else "",
                draw.kind if draw.receives else "densities",
                draw.equation,
            )
            for draw in draws
        ],
    }
    lines, tables = [], []
    for title, rows in parts.items():
        lines.append(title)
        tables.append(f"**{title}**\n\n| | relation | kind | equation |\n|---|---|---|---|")
        for place, relation, kind, equation in rows:
            unstated = "the data are the counts" if "Links" in title else "(no equation= was given)"
            plain = plain_formula(equation) if equation else unstated
            lines.append(f"  {place:<26}{relation:<11}{kind:<13}{plain}")
            formula = f"${equation}$".replace("|", r"\vert ") if equation else plain
            tables[-1] += f"\n| `{place}` | {relation} | {kind} | {formula} |"
    types = ", ".join(
        sorted(cls.__name__ for cls in node_types().values() if issubclass(cls, Latent | Observed))
    )
    lines.append(f"Node types: {types}")
    table = _Table("\n".join(lines))
    table.markdown = "\n\n".join([*tables, f"Node types: {types}"]) + "\n"
    return table
