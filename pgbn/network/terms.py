"""The normal form of a slot: a sum of terms, each a product of factors summed over dims.

    y[out] = Σ_terms  coefficient · Σ_contracted Π_factors value[dims]

Mix, Sum, Product, scaling by numbers and shifts in time all reduce to it, so that
evaluating, thinning counts and passing exposures are each written once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import NetworkError
from pgbn.nodes.base import Node
from pgbn.nodes.expression import Constant, Expression, Mix, Product, Rename, Self, Shift, Sum
from pgbn.nodes.rules.registry import is_own

__all__ = ["ALWAYS", "FIRST", "LATER", "PREVIOUS", "Factor", "Polynomial", "Term", "lower"]

PREVIOUS = "self"  # what counts for the row before are called, beside those for other nodes

# In a node in time, a term may count in every row, in the first row only, or in the later
# rows only.
ALWAYS, FIRST, LATER = "always", "first", "later"


@dataclass(frozen=True, eq=False)
class Factor:
    """A node's value, or a constant array; ``dims`` are the names that its dims have here,
    ``own_dims`` those in the node itself."""

    name: str
    dims: tuple[str, ...]
    own_dims: tuple[str, ...] = ()
    simplex: str | None = None
    constant: NDArray[np.float64] | None = None
    previous: bool = False  # the row before of the node whose slot this is


@dataclass(frozen=True, eq=False)
class Term:
    """coefficient · Σ_contracted Π factors."""

    coefficient: float
    factors: tuple[Factor, ...]
    contracted: tuple[str, ...] = ()
    phase: str = ALWAYS

    @property
    def dims(self) -> tuple[str, ...]:
        """All dims of the factors, summed ones included."""
        return tuple(dict.fromkeys(dim for factor in self.factors for dim in factor.dims))


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A slot's normal form; ``along`` is the dim of its Shift, if it has one."""

    terms: tuple[Term, ...]
    along: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes that the slot depends on; its own row before is left out."""
        found = (
            factor.name
            for term in self.terms
            for factor in term.factors
            if factor.constant is None and not factor.previous
        )
        return tuple(dict.fromkeys(found))

    @property
    def is_plain(self) -> bool:
        """A single product without a sum: counts pass through it without a draw."""
        return len(self.terms) == 1 and not self.terms[0].contracted and self.along is None


def lower(node: Node, slot: str) -> Polynomial:
    """The normal form of ``node``'s expression in ``slot``; dims are checked."""
    lowering = _Lowering(node, slot, node.slot_axes(slot))
    beyond = [dim for dim in lowering.out if dim not in node.axes]
    if beyond:
        raise lowering.error(
            f"{type(node).__name__}.slot_axes({slot!r}) names {beyond}, which {node.name} "
            f"{list(node.axes)} lacks; a slot may have the dims of its node only"
        )
    terms = [term for term in lowering.expand(getattr(node, slot)) if term.coefficient != 0.0]
    for term in terms:
        lowering.check(term)
    if not terms:
        if slot in node.real_slots or _is_default(node, slot):  # or not given, and not needed
            return Polynomial((Term(0.0, ()),))
        raise lowering.error(f"is zero; give a positive number or a node{lowering.or_allow()}")
    if lowering.along is not None and all(term.phase == LATER for term in terms):
        raise lowering.error(
            f"the first row of the Shift along {lowering.along!r} would be zero; give "
            "pgbn.Shift(..., initial=1.0), or add a term that counts in every row"
        )
    return Polynomial(tuple(terms), lowering.along)


def _is_default(node: Node, slot: str) -> bool:
    given, default = getattr(node, slot), type(node).model_fields[slot].default
    both = isinstance(given, Constant) and isinstance(default, Constant)
    return both and np.array_equal(given.value, default.value)


class _Lowering:
    """One walk over the expression of one slot."""

    def __init__(self, node: Node, slot: str, out: tuple[str, ...]) -> None:
        self.node, self.slot, self.out = node, slot, out
        self.along: str | None = None

    def error(self, message: str) -> NetworkError:
        return NetworkError(f"{self.node.name}: {self.slot}: {message}")

    def or_allow(self) -> str:
        """How the author of a node type lets a slot be 0 or negative."""
        allow = f", or let {type(self.node).__name__} allow it: real_slots = ({self.slot!r},)"
        return allow if is_own(type(self.node)) else ""

    def expand(self, expression: Expression) -> list[Term]:
        """The terms of an expression."""
        match expression:
            case Node():
                if expression is self.node:
                    raise self.error("refers to itself; use pgbn.Shift(pgbn.Self(), ...)")
                axes = expression.axes
                factor = Factor(expression.name, axes, axes, expression.simplex)
                return [Term(1.0, (factor,))]
            case Constant():
                return [self._constant(expression)]
            case Sum():
                return [term for part in expression.terms for term in self.expand(part)]
            case Product():
                return self._all(expression, lambda parts: ())
            case Mix():
                return self._all(expression, lambda parts: self._summed(expression, parts))
            case Rename():
                return [self._rename(term, expression) for term in self.expand(expression.of)]
            case Self():
                raise self.error("Self() may stand only inside a Shift")
            case Shift():
                return self._shift(expression)
        raise self.error(f"cannot use {expression!r} in a slot")

    def _constant(self, constant: Constant) -> Term:
        value = constant.value
        if value.ndim == 0:
            return Term(float(value), ())
        dims = constant.dims
        if not dims and value.ndim == 1 and self.node.simplex is not None:
            dims = (self.node.simplex,)
        if len(dims) != value.ndim:
            raise self.error(
                f"an array of {value.ndim} axes needs as many names: "
                f"pgbn.Constant(value=array, dims={self.out[-value.ndim :]})"
            )
        return Term(1.0, (Factor("constant", dims, constant=value),))

    def _all(
        self, expression: Mix | Product, summed: Callable[[tuple[Term, ...]], tuple[str, ...]]
    ) -> list[Term]:
        """Multiply out: every choice of one term of each factor."""
        terms = []
        for parts in product(*(self.expand(factor) for factor in expression.factors)):
            self._check_inner(parts)
            terms.append(self._multiply(parts, summed(parts)))
        return [term for term in terms if term is not None]

    def _check_inner(self, parts: tuple[Term, ...]) -> None:
        """A dim that one part has summed may not be used by another."""
        for dim in (dim for part in parts for dim in part.contracted):
            if sum(dim in part.dims for part in parts) > 1:
                first, *rest = [factor.name for part in parts for factor in part.factors]
                raise self.error(
                    f"dim {dim!r} is summed inside and used outside; to sum once over all of them "
                    f"write {first} @ ({' * '.join(rest)}) or pgbn.Mix(factors=({first}, "
                    f"{', '.join(rest)})), else rename one"
                )

    def _multiply(self, parts: tuple[Term, ...], summed: tuple[str, ...]) -> Term | None:
        phases = {part.phase for part in parts} - {ALWAYS}
        if len(phases) > 1:
            return None  # one part counts in the first row only, the other in later rows only
        inner = tuple(dim for part in parts for dim in part.contracted)
        return Term(
            float(np.prod([part.coefficient for part in parts])),
            tuple(factor for part in parts for factor in part.factors),
            inner + summed,
            phases.pop() if phases else ALWAYS,
        )

    def _summed(self, mix: Mix, parts: tuple[Term, ...]) -> tuple[str, ...]:
        free = [set(part.dims) - set(part.contracted) for part in parts]
        if mix.over is not None:
            for dim in mix.over:
                if not any(dim in dims for dims in free):
                    raise self.error(
                        f"{mix} sums over {dim!r}, which no factor has; they have "
                        f"{sorted(set().union(*free))}"
                    )
                if dim in self.out:
                    raise self.error(
                        f"{mix} sums over {dim!r}, which {self.node.name} {list(self.out)} has "
                        f"itself; rename it in the factors: .rename({dim}='other')"
                    )
            return mix.over
        every = dict.fromkeys(dim for part in parts for dim in part.dims)
        shared = [d for d in every if sum(d in dims for dims in free) > 1 and d not in self.out]
        if not shared:
            names = " and ".join(str(sorted(dims)) for dims in free)
            raise self.error(
                f"{mix} has no dim to sum over: the factors have {names}, "
                f"and {self.node.name} has {list(self.out)}; a shared dim that "
                f"{self.node.name} lacks is summed, or write * for an elementwise product"
            )
        return tuple(shared)

    def _rename(self, term: Term, rename: Rename) -> Term:
        names = dict(rename.names)
        free = [dim for dim in term.dims if dim not in term.contracted]
        missing = set(names) - set(free)
        if missing:
            raise self.error(
                f"rename of {sorted(missing)}, but {rename.of} has the dims {free}; rename one of "
                "these"
            )
        renamed = [names.get(dim, dim) for dim in term.dims]
        if len(set(renamed)) < len(renamed):
            raise self.error(f"rename by {names} gives {rename.of} a dim twice: {renamed}")
        factors = tuple(
            replace(
                factor,
                dims=tuple(names.get(dim, dim) for dim in factor.dims),
                simplex=names.get(factor.simplex or "", factor.simplex),
            )
            for factor in term.factors
        )
        return replace(term, factors=factors)

    def _shift(self, shift: Shift) -> list[Term]:
        if self.along is not None:
            raise self.error("holds two Shifts; one is supported")
        if shift.along not in self.node.axes:
            raise self.error(f"Shift along {shift.along!r}, but its dims are {self.node.axes}")
        self.along = shift.along
        first = [replace(term, phase=FIRST) for term in self.expand(shift.initial)]
        later = _Inner(self.node, self.slot, self.out).expand(shift.of)
        if not all(term.phase == LATER for term in later):
            raise self.error("every term of a Shift must contain Self()")
        return later + first

    def check(self, term: Term) -> None:
        """Every dim of a term is one of the slot's or is summed."""
        for factor in term.factors:
            extra = set(factor.dims) - set(self.out) - set(term.contracted)
            if extra:
                dims = ", ".join(sorted(extra))
                raise self.error(
                    f"{factor.name} has dim {dims}, which {self.node.name} {list(self.out)} lacks; "
                    f"add it to dims= of {self.node.name}, or sum it out with @"
                )
        constants = [factor.constant for factor in term.factors if factor.constant is not None]
        least = min([term.coefficient, *(float(array.min()) for array in constants)])
        if least < 0 and self.slot not in self.node.real_slots:
            raise self.error(
                f"holds the negative number {least:g}; give one that is not{self.or_allow()}"
            )
        names = [factor.name for factor in term.factors if factor.constant is None]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise self.error(
                f"{twice.pop()!r} appears twice in one product, which has no conjugate update; "
                "use two nodes, or a number for one of them"
            )


class _Inner(_Lowering):
    """The walk inside a Shift, where Self() stands for the previous row."""

    def expand(self, expression: Expression) -> list[Term]:
        if isinstance(expression, Self):
            names = dict(expression.names)
            dims = tuple(names.get(dim, dim) for dim in self.node.axes)
            simplex = self.node.simplex
            simplex = names.get(simplex or "", simplex)
            factor = Factor(PREVIOUS, dims, self.node.axes, simplex, previous=True)
            return [Term(1.0, (factor,), phase=LATER)]
        if isinstance(expression, Shift):
            raise self.error("a Shift inside a Shift")
        return super().expand(expression)
