"""Sums and products: multiplied out, every choice of one term of each factor."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from pgbn.network.lowering.walk import Walk, expands
from pgbn.network.terms import ALWAYS, Term
from pgbn.nodes.expression import Mix, Product, Sum

__all__ = ["expand_mix", "expand_product", "expand_sum"]


@expands(Sum)
def expand_sum(walk: Walk, expression: Sum) -> list[Term]:
    """The terms of all parts."""
    return [term for part in expression.terms for term in walk.expand(part)]


@expands(Product)
def expand_product(walk: Walk, expression: Product) -> list[Term]:
    """Products of terms, summed over nothing."""
    return _all(walk, expression, lambda parts: ())


@expands(Mix)
def expand_mix(walk: Walk, expression: Mix) -> list[Term]:
    """Products of terms, summed over the dims of the Mix."""
    return _all(walk, expression, lambda parts: _summed(walk, expression, parts))


def _all(
    walk: Walk,
    expression: Mix | Product,
    summed: Callable[[tuple[Term, ...]], tuple[str, ...]],
) -> list[Term]:
    terms = []
    for parts in product(*(walk.expand(factor) for factor in expression.factors)):
        _check_inner(walk, parts)
        terms.append(_multiply(parts, summed(parts)))
    return [term for term in terms if term is not None]


def _check_inner(walk: Walk, parts: tuple[Term, ...]) -> None:
    """A dim that one part has summed may not be used by another."""
    for dim in (dim for part in parts for dim in part.contracted):
        if sum(dim in part.dims for part in parts) > 1:
            first, *rest = [factor.name for part in parts for factor in part.factors]
            raise walk.error(
                f"dim {dim!r} is summed inside and used outside; to sum once over all of them "
                f"write {first} @ ({' * '.join(rest)}) or pgbn.Mix(factors=({first}, "
                f"{', '.join(rest)})), else rename one"
            )


def _multiply(parts: tuple[Term, ...], summed: tuple[str, ...]) -> Term | None:
    phases = {(part.phase, part.lag) for part in parts if part.phase != ALWAYS}
    if len({phase for phase, _ in phases}) > 1:
        return None  # one part counts in the first rows only, the other in later rows only
    phase, lag = phases.pop() if phases else (ALWAYS, 1)
    inner = tuple(dim for part in parts for dim in part.contracted)
    return Term(
        float(np.prod([part.coefficient for part in parts])),
        tuple(factor for part in parts for factor in part.factors),
        inner + summed,
        phase,
        lag,
    )


def _summed(walk: Walk, mix: Mix, parts: tuple[Term, ...]) -> tuple[str, ...]:
    free = [set(part.dims) - set(part.contracted) for part in parts]
    if mix.over is not None:
        for dim in mix.over:
            if not any(dim in dims for dims in free):
                raise walk.error(
                    f"{mix} sums over {dim!r}, which no factor has; they have "
                    f"{sorted(set().union(*free))}"
                )
            if dim in walk.out:
                raise walk.error(
                    f"{mix} sums over {dim!r}, which {walk.node.name} {list(walk.out)} has "
                    f"itself; rename it in the factors: .rename({dim}='other')"
                )
        return mix.over
    every = dict.fromkeys(dim for part in parts for dim in part.dims)
    shared = [d for d in every if sum(d in dims for dims in free) > 1 and d not in walk.out]
    if not shared:
        names = " and ".join(str(sorted(dims)) for dims in free)
        raise walk.error(
            f"{mix} has no dim to sum over: the factors have {names}, "
            f"and {walk.node.name} has {list(walk.out)}; a shared dim that "
            f"{walk.node.name} lacks is summed, or write * for an elementwise product"
        )
    return tuple(shared)
