"""The normal form of a slot: a sum of terms, each a product of factors summed over dims.

    y[out] = Σ_terms  coefficient · Σ_contracted Π_factors value[dims]

Mix, Sum, Product, scaling by numbers and shifts in time all reduce to it. So evaluating, thinning
counts and passing exposures are each written once. `pgbn.network.lowering` brings expressions to
this form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy.sparse import issparse

PREVIOUS = "self"  # the name of counts for the row before; others have the name of their node

# In a node in time, a term may count in every row, in the first rows only, or in the later
# rows only: those with t < lag, and those with t ≥ lag, from t = 0 on.
ALWAYS, FIRST, LATER = "always", "first", "later"


@dataclass(frozen=True)
class Lookup:
    """``dim`` of a node is read through the categories ``name``, an array of ``dims``."""

    name: str
    dim: str
    dims: tuple[str, ...]


@dataclass(frozen=True)
class Lagged(Lookup):
    """``dim`` of a node is read ``lag`` rows before.

    The first rows, which `Factor.when` excludes, read the first row."""

    lag: int


@dataclass(frozen=True, eq=False)
class Operation:
    """An edge with its own evaluation.

    It has the nodes and constants in the slots of the edge, with the names that their dims have
    there, and the dims of its value. Its rows are ``independent`` along some of these dims. In a
    term, the factor that ``leads``, the first node, has the value; the other nodes are factors of
    1."""

    edge: Any
    operands: dict[str, Factor]
    dims: tuple[str, ...]
    leads: str
    independent: tuple[str, ...] = ()


@dataclass(frozen=True)
class ViaEdge(Lookup):
    """``dim`` of a node is read through an operation that has the node in its ``slot``."""

    operation: Operation
    slot: str


@dataclass(frozen=True, eq=False)
class Factor:
    """A node's value, or a constant array or sparse matrix.

    ``dims`` are the names that its dims have here, ``own_dims`` those in the node itself. With
    ``lookups``, dims of the node are read through categories: ``own_dims`` are then those of the
    result, theta[author], and ``entries`` those of the node, theta.
    """

    name: str
    dims: tuple[str, ...]
    own_dims: tuple[str, ...] = ()
    simplex: tuple[str, ...] = ()  # it sums to one over these dims together
    constant: Any = None  # an array, or a scipy.sparse.csr_array
    previous: bool = False  # an earlier row, by ``lag`` rows, of the node whose slot this is
    lookups: tuple[Lookup, ...] = ()
    entries: tuple[str, ...] = ()
    when: str = ""  # 1 in the first ``lag`` rows of its dim, or in the later ones, else 0
    relation: str | None = None  # 1 at the pairs of its two dims in a relation, 0 at others
    lag: int = 1
    real: bool = False  # it may be negative

    @property
    def is_node(self) -> bool:
        """Whether it is a value of a node."""
        return self.constant is None and self.relation is None and not self.when

    @property
    def through(self) -> ViaEdge | None:
        """The operation through which it is read, or None."""
        first = self.lookups[0] if self.lookups else None
        return first if isinstance(first, ViaEdge) else None

    @property
    def is_sparse(self) -> bool:
        """Whether it is a sparse matrix."""
        return bool(issparse(self.constant))


@dataclass(frozen=True, eq=False)
class Term:
    """coefficient · Σ_contracted Π factors."""

    coefficient: float
    factors: tuple[Factor, ...]
    contracted: tuple[str, ...] = ()
    phase: str = ALWAYS
    lag: int = 1

    def counts_at(self, row: int) -> bool:
        """Whether it counts in a row, from 0 on, of a node in time."""
        return self.phase == ALWAYS or (self.phase == FIRST) == (row < self.lag)

    @property
    def dims(self) -> tuple[str, ...]:
        """All dims of the factors, summed ones included."""
        return tuple(dict.fromkeys(dim for factor in self.factors for dim in factor.dims))

    @property
    def free(self) -> list[str]:
        """The dims that are not summed."""
        return [dim for dim in self.dims if dim not in self.contracted]


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A slot's normal form; ``along`` is the dim of its Shift, if it has one."""

    terms: tuple[Term, ...]
    along: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes that the slot depends on, without earlier rows of the node itself."""
        found = (
            factor.name
            for term in self.terms
            for factor in term.factors
            if factor.is_node and not factor.previous
        )
        return tuple(dict.fromkeys(found))

    @property
    def lags(self) -> tuple[int, ...]:
        """The lags of its Shifts, the least first."""
        return tuple(sorted({term.lag for term in self.terms if term.phase != ALWAYS}))

    @property
    def is_plain(self) -> bool:
        """A single product without a sum: counts pass through it without a draw."""
        if len(self.terms) != 1 or self.terms[0].contracted or self.along is not None:
            return False
        return not any(factor.through for factor in self.terms[0].factors)
