"""The walk over the expression of a slot: it is multiplied out, and every term is checked.

How an expression of some type expands is said by a function ``expand(walk, expression)`` that
registers itself by `expands` and gives the terms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from pgbn.errors import NetworkError
from pgbn.network.apart import check_apart
from pgbn.network.terms import LATER, Polynomial, Term
from pgbn.nodes.base import Node
from pgbn.nodes.expression import Constant, Expression
from pgbn.nodes.rules.registry import is_own

__all__ = ["Walk", "expands", "lower"]

Expand = Callable[["Walk", Any], list[Term]]
E = TypeVar("E", bound=Expand)
_expansions: dict[type[Expression], Expand] = {}


def expands(kind: type[Expression]) -> Callable[[E], E]:
    """Register how expressions of a type expand."""

    def register(expand: E) -> E:
        _expansions[kind] = expand
        return expand

    return register


def lower(node: Node, slot: str) -> Polynomial:
    """The normal form of ``node``'s expression in ``slot``; dims are checked."""
    walk = Walk(node, slot)
    beyond = [dim for dim in walk.out if dim not in node.axes]
    if beyond:
        raise walk.error(
            f"{type(node).__name__}.slot_axes({slot!r}) names {beyond}, which {node.name} "
            f"{list(node.axes)} lacks; a slot may have the dims of its node only"
        )
    terms = [term for term in walk.expand(getattr(node, slot)) if term.coefficient != 0.0]
    for term in terms:
        walk.check(term)
    if not terms:
        if slot in node.real_slots or _is_default(node, slot):  # or not given, and not needed
            return Polynomial((Term(0.0, ()),))
        raise walk.error(f"is zero; give a positive number or a node{walk.or_allow()}")
    if walk.along is not None and all(term.phase == LATER for term in terms):
        raise walk.error(
            f"the first row of the Shift along {walk.along!r} would be zero; give "
            "pgbn.Shift(..., initial=1.0), or add a term that counts in every row"
        )
    through = next((f.through for term in terms for f in term.factors if f.through), None)
    if walk.along is not None and through is not None:
        raise walk.error(
            f"{through.operation.edge} is evaluated by itself and stands beside a Shift; put it "
            "into a node of its own, as the shape of a Gamma that stands here, or define expand()"
        )
    return Polynomial(tuple(terms), walk.along)


def _is_default(node: Node, slot: str) -> bool:
    given, default = getattr(node, slot), type(node).model_fields[slot].default
    if not isinstance(given, Constant) or not isinstance(default, Constant):
        return False
    return not issparse(given.value) and np.array_equal(given.value, default.value)


class Walk:
    """One walk over the expression of one slot, whose value may have the dims ``out``.

    ``along`` is the dim of the Shift that was met, if there is one; ``inside`` the lag of the one
    that the walk is inside of, where Self() stands for an earlier row, or 0; ``nodes`` are those
    that were met, by name.
    """

    def __init__(self, node: Node, slot: str, inside: int = 0) -> None:
        self.nodes: dict[str, Node] = {}
        self.node, self.slot, self.out = node, slot, node.slot_axes(slot)
        self.along: str | None = None
        self.inside = inside

    def error(self, message: str) -> NetworkError:
        """A complaint about the slot."""
        return NetworkError(f"{self.node.name}: {self.slot}: {message}")

    def or_allow(self) -> str:
        """How the author of a node type lets a slot be 0 or negative."""
        allow = f", or let {type(self.node).__name__} allow it: real_slots = ({self.slot!r},)"
        return allow if is_own(type(self.node)) else ""

    def expand(self, expression: Expression) -> list[Term]:
        """The terms of an expression."""
        for kind in type(expression).__mro__:
            if kind in _expansions:
                return _expansions[kind](self, expression)
        raise self.error(f"cannot use {expression!r} in a slot")

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
        self._check_sparse(term)
        check_apart(term, self.error, self.nodes)

    def _check_sparse(self, term: Term) -> None:
        sparse = [factor for factor in term.factors if factor.is_sparse]
        if len(sparse) > 1:
            raise self.error(
                "two sparse constants stand in one product; multiply them before, as in "
                "pgbn.Constant(A @ B, dims=…)"
            )
        real = term.coefficient < 0 or any(factor.real for factor in term.factors)
        if sparse and real:
            raise self.error(
                f"a sparse constant {sparse[0].dims} stands where values may be negative; give the "
                "whole array there: pgbn.Constant(W.toarray(), dims=…)"
            )
        if sparse and term.phase == LATER:
            raise self.error(
                f"a sparse constant {sparse[0].dims} stands beside Self(); in time give the whole "
                "array: pgbn.Constant(W.toarray(), dims=…)"
            )
