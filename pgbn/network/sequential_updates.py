"""Which nodes are drawn one entry after another, since a product contains them several times.

    rate_ij = Σ_k r_k φ_ik φ_jk,  i ≠ j

is linear in each row φ_i, given the other rows. So the rows are drawn one after another, each given
the current values of the others. A value that is drawn with row i of φ integrated out, such as its
shape a_i, is drawn right before that row. The draws of other rows may not read a row of φ that was
integrated out. Both make one step, that of φ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from pgbn.errors import MissingRuleError, NetworkError
from pgbn.network.terms import Lagged
from pgbn.nodes.rules import is_moved_by_density, suggest_remedy

if TYPE_CHECKING:
    from pgbn.network.connections import Connections, Source
    from pgbn.network.terms import Factor, Polynomial, Term
    from pgbn.nodes.base import Node


@dataclass(frozen=True)
class InTurn:
    """A node whose entries along ``dim`` are drawn one after another.

    ``members`` are the nodes drawn with each entry, from the top down, each with its own name of
    the dim. They are drawn with the entry integrated out; the last one is the node itself."""

    node: str
    dim: str
    members: Mapping[str, str]


def check_apart(
    term: Term, error: Callable[[str], NetworkError], nodes: Mapping[str, Node]
) -> None:
    """Reject a product that contains one of ``nodes`` twice.

    It is allowed if `distinct` makes the entries different, or if a kernel moves the node by
    densities, which need not be linear in it."""
    for one, other in combinations([factor for factor in term.factors if factor.is_node], 2):
        if one.name != other.name or _apart(term, one, other):
            continue
        known = not one.previous and not other.previous
        if known and is_moved_by_density(nodes[one.name]):
            continue
        raise error(
            f"{one.name!r} stands twice in one product, and may meet itself there: an entry times "
            f"itself (a self loop) has no conjugate update. {_remedy(one, other)}use two nodes, or "
            f"a number for one of them{suggest_remedy(nodes[one.name]) if known else ''}"
        )


def _remedy(one: Factor, other: Factor) -> str:
    """How to make the entries of a node different, if it has several."""
    if not one.own_dims or one.previous or other.previous:
        return ""
    if one.through or other.through:
        return ""
    if one.lookups or other.lookups:
        ends = f"{one.name}[source] * {one.name}[target]"
        return f"Read the two through different categories, {ends}; or "
    pairs = [
        (o, a, b) for o, a, b in zip(one.own_dims, one.dims, other.dims, strict=True) if a != b
    ]
    dim, first, second = pairs[0] if pairs else (one.own_dims[0], "i", "j")
    left, right = (f"{one.name}.rename({dim}={here!r})" for here in (first, second))
    return f"Make the two differ, as in pgbn.distinct({left} * {right}, {first!r}, {second!r}); or "


def _apart(term: Term, one: Factor, other: Factor) -> str | None:
    """The dim in which two factors of one node always differ, by the node's own name.

    They differ by a relation of two dims or by two arrays of categories, which the data must
    confirm."""
    if one.through or other.through:
        return None
    for mine in one.lookups:
        for its in other.lookups:
            if isinstance(mine, Lagged) or isinstance(its, Lagged):
                continue  # the first rows read the same one
            if mine.dim == its.dim and mine.dims == its.dims and mine.name != its.name:
                return mine.dim
    for pair in (factor for factor in term.factors if factor.relation in ("upper", "distinct")):
        for first, second in (pair.dims, pair.dims[::-1]):
            if _has(one, first) and _has(other, second):
                own = one.own_dims[one.dims.index(first)]
                if own == other.own_dims[other.dims.index(second)]:
                    return own
    return None


def _has(factor: Factor, dim: str) -> bool:
    """Whether a factor has a dim directly: not of an earlier row, and not by categories."""
    return dim in factor.dims and not factor.previous and not factor.lookups


def find_sequential(connections: Connections) -> dict[str, InTurn]:
    """The nodes whose entries are drawn one after another, by name."""
    dims: dict[str, str] = {}
    for (child, slot), polynomial in connections.polynomials.items():
        for name, dim in _dims_apart(polynomial):
            if name not in connections.sources or name in connections.by_density:
                continue  # given, or its kernel moves the entries one after another
            if dims.setdefault(name, dim) != dim:
                raise MissingRuleError(
                    f"{child}: {slot}: the entries of {name} differ along {dim!r} here and along "
                    f"{dims[name]!r} elsewhere; they can be drawn in turn along one dim only"
                )
    return {name: _sequential(connections, name, dim) for name, dim in dims.items()}


def _dims_apart(polynomial: Polynomial) -> Iterable[tuple[str, str]]:
    for term in polynomial.terms:
        for one, other in combinations([factor for factor in term.factors if factor.is_node], 2):
            dim = _apart(term, one, other) if one.name == other.name else None
            if dim is not None:
                yield one.name, dim


def _sequential(connections: Connections, name: str, dim: str) -> InTurn:
    """The step of a node whose entries are drawn one after another.

    It is rejected if a draw integrates out all entries at once."""
    along = {name: dim}
    waiting = [name]
    while waiting:
        child = waiting.pop()
        if connections.time_dim(child) is not None:
            raise MissingRuleError(
                f"{child} depends on its own row before, and {name} is drawn one entry of {dim!r} "
                f"after another; use {name} once in a product, or remove the Shift"
            )
        for parent, sources in connections.sources.items():
            for source in sources:
                if parent == child and source.factor.through is not None:
                    raise MissingRuleError(
                        f"{child} is drawn one entry after another along {along[child]!r}, and "
                        f"stands in {source.factor.through.operation.edge} too, which is evaluated "
                        "for all entries at once; use another node there"
                    )
                if source.child.name == child and source.rule.relation == "collapsed":
                    own = _own_dim(source, along[child])
                    if own is None or along.setdefault(parent, own) != own:
                        raise _not_sequential(parent, child, name, dim)
                    waiting.append(parent)
    ordered = {other: along[other] for other in connections.nodes if other in along}
    for other in ordered:
        if connections.draws[other].kernel:
            kind = type(connections.nodes[other]).__name__
            raise MissingRuleError(
                f"{other} is drawn by a kernel rule of {kind} for all entries at once, but {name} "
                f"stands several times in a product, so that entries of {dim!r} are drawn in turn; "
                "remove the kernel, or let it read value and log_conditional instead of count "
                "and exposure"
            )
    return InTurn(name, dim, ordered)


def _own_dim(source: Source, dim: str) -> str | None:
    """The parent's own name of a dim of its child, or None."""
    return None if source.factor.lookups else source.own.get(dim)


def _not_sequential(parent: str, child: str, name: str, dim: str) -> MissingRuleError:
    through = "" if child == name else f" (through {child})"
    return MissingRuleError(
        f"{parent} has no conjugate update: it would be drawn with all of {name} integrated "
        f"out{through}, but {name} stands several times in a product and its entries are drawn one "
        f"after another along {dim!r}. Give {parent} the dim {dim!r}, so that it is drawn with "
        f"each entry of {name}; or make {parent} a number"
    )
