"""Values of expressions that no node has: ``phi @ theta``, for whoever wants to keep them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import align
from pgbn.engine.compile.program import Program
from pgbn.errors import DataError, did_you_mean
from pgbn.network.lowering import lower
from pgbn.network.network import Network
from pgbn.network.sumproduct import operand_of, reduce_product
from pgbn.network.terms import Polynomial
from pgbn.nodes.base import Node
from pgbn.nodes.categorical import Categorical
from pgbn.nodes.edge import Edge
from pgbn.nodes.expression import Constant, Expression, Mix, Product, Rename, Sum
from pgbn.nodes.index import Index
from pgbn.nodes.normal import Normal
from pgbn.nodes.pairs import Pairs

__all__ = ["Deterministic", "free_dims"]


def free_dims(expression: Expression) -> tuple[str, ...]:
    """The dims of an expression's value. A Mix sums over what two of its factors share."""
    match expression:
        case Node():
            return expression.axes
        case Edge() if expression.is_evaluated:
            slots = zip(expression.slots(), expression.parts, strict=True)
            return expression.dims_of(**{slot: free_dims(part) for slot, part in slots})
        case Edge():
            return free_dims(expression.expanded)
        case Constant():
            return expression.dims
        case Index():
            return _seen(free_dims(expression.of), expression)
        case Rename():
            return tuple(expression.names.get(dim, dim) for dim in free_dims(expression.of))
        case Pairs():
            return tuple(
                dict.fromkeys((*free_dims(expression.of), expression.first, expression.second))
            )
        case Mix() | Product() | Sum():
            parts = expression.terms if isinstance(expression, Sum) else expression.factors
            each = [dim for part in parts for dim in free_dims(part)]
            every = tuple(dict.fromkeys(each))
            if not isinstance(expression, Mix):
                return every
            shared = [dim for dim in every if each.count(dim) > 1]
            over = shared if expression.over is None else expression.over
            return tuple(dim for dim in every if dim not in over)
    raise DataError(f"keep: {expression}: a {type(expression).__name__} has no value of its own")


def _seen(dims: tuple[str, ...], index: Index) -> tuple[str, ...]:
    """The dims of what is read through categories: theirs in the place of what they are about."""
    for each in index.by:
        of = each.over if isinstance(each, Categorical) else each.of
        places = ((each.dims if dim == of else (dim,)) for dim in dims)
        dims = tuple(dict.fromkeys(dim for place in places for dim in place))
    return dims


class Deterministic:
    """An expression of latent nodes under a name, with the dims of its value."""

    def __init__(self, network: Network, name: str, expression: Any) -> None:
        if not isinstance(expression, Expression):
            raise DataError(
                f"keep: {name!r}: {expression!r:.60}; give a node or an expression, such as "
                "phi @ theta"
            )
        self.name, self.expression, self.axes = name, expression, free_dims(expression)
        # A slot is where expressions are brought to their normal form: that of a passing node.
        polynomial: Polynomial = lower(Normal(name, expression, 1.0, dims=self.axes), "mean")
        self.terms, self.names = polynomial.terms, polynomial.names
        for each in self.names:
            if each not in network.latent:
                raise DataError(
                    f"keep: {name!r}: {each!r} is not a latent node of this network."
                    f"{did_you_mean(each, network.latent)}"
                )

    def reader(self, program: Program) -> Callable[[], NDArray[np.float64]]:
        """The function that gives the value at the values of a program, (R, *dims)."""
        shape = (program.replicates, *(program.sizes[dim] for dim in self.axes))
        parts = []
        for term in self.terms:
            operands = [operand_of(factor) for factor in term.factors]
            product = reduce_product(term.coefficient, operands, term.contracted)
            parts.append(align(program.product(product), self.axes, program.sizes))
        wide = (shape[0], *(1,) * (3 - len(self.axes)), *shape[1:])

        def read() -> NDArray[np.float64]:
            total = sum((np.asarray(part()) for part in parts[1:]), np.asarray(parts[0]()))
            return np.array(np.broadcast_to(total, wide), np.float64).reshape(shape)

        return read
