"""Edge: an operation of your own, made of other operations or with its own evaluation.

    class Twice(extend.Edge):
        tag: ClassVar[str] = "my_package.twice"
        of: extend.Slot

        def expand(self):
            return 2.0 * self.of

Any slot may then contain it. `expand` is all that you write: pgbn evaluates the expansion, shares
counts out among its terms and computes their exposures.

pgbn may have no operations, or none that is fast enough, for some operation

    y_v = Σ_e c_ve a_e,  c ≥ 0 given, or made of its other operands

Such a type defines `evaluate`, `split` and `expose` instead of `expand`.
`pgbn.testing.check_edge` compares the three with the complete matrix c.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from pgbn.errors import NetworkError
from pgbn.nodes.expression import Expression, to_expression

_types: dict[str, type[Edge]] = {}
_OWN = ("evaluate", "split", "expose")


class Edge(Expression):
    """An operation for expressions: it stands for another one, or brings an evaluation of its own.

    Invariants: the class attribute `tag` is unique; it is the "edge" in JSON. Fields annotated as
    `pgbn.extend.Slot` contain expressions, the others values that pydantic can write as JSON. A
    type defines `expand`, or all three of `evaluate`, `split` and `expose`.

    Examples
    --------
    >>> from pgbn import extend
    >>> class Twice(extend.Edge):
    ...     tag = "docs.twice"
    ...     of: extend.Slot
    ...     def expand(self):
    ...         return 2.0 * self.of
    >>> print(Twice(pgbn.Gamma("theta", 2, 3, dims="doc")))
    Twice(theta)
    """

    _multiplies: ClassVar[bool] = True
    positive: ClassVar[bool] = False  # an evaluated value is positive if its operands are

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "tag" not in cls.__dict__:
            raise NetworkError(
                f"the edge type {cls.__name__} has no tag, so JSON cannot name it; add to the "
                'class: tag: ClassVar[str] = "my_package.my_edge"'
            )
        defined = [name for name in _OWN if getattr(cls, name) is not getattr(Edge, name)]
        lacking = [name for name in _OWN if name not in defined]
        if defined and lacking:
            raise NetworkError(
                f"the edge type {cls.__name__} defines {', '.join(defined)} but not "
                f"{', '.join(lacking)}; define all three, or expand(self) instead"
            )
        if not isinstance(cls.tag, str) or not cls.tag:
            raise NetworkError(f"{cls.__name__}.tag={cls.tag!r:.60}: give a text, a name in JSON")
        known = _types.get(cls.tag)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise NetworkError(
                f"the tag {cls.tag!r} of the edge type {cls.__name__} is that of "
                f"{known.__module__}.{known.__name__}; give another one, such as "
                f"'my_package.{cls.tag}'"
            )
        _types[cls.tag] = cls

    def expand(self) -> Any:
        """The expression that it stands for, made of other operations.

        Returns
        -------
        Expression
            The expression. It is asked for once.

        Examples
        --------
        >>> def expand(self):  # of a type with the slot `of`
        ...     return 2.0 * self.of
        """
        raise NetworkError(
            f"{type(self).__name__}: does not define expand(self), which returns the expression "
            "that it stands for, such as pgbn.Constant(w, dims=…) @ self.of; nor evaluate, split "
            "and expose"
        )

    def dims_of(self, **operands: tuple[str, ...]) -> tuple[str, ...]:
        """The dims of the value, given those of the operands. By default they are all of them.

        Parameters
        ----------
        **operands : tuple of str
            The dims of the expression in each slot, by name.

        Returns
        -------
        tuple of str
            The dims.

        Examples
        --------
        >>> def dims_of(self, weights, of):  # of a type that sums over the dims of its weights
        ...     return of
        """
        return tuple(dict.fromkeys(dim for dims in operands.values() for dim in dims))

    def independent_dims(self, **operands: tuple[str, ...]) -> tuple[str, ...]:
        """The dims along which rows do not depend on each other. By default there are none.

        Row i of the value depends on row i alone of each operand that has the dim, in the same way
        for all rows. `pgbn.Network.infer` accepts new rows along these dims.

        Parameters
        ----------
        **operands : tuple of str
            The dims of the expression in each slot, by name.

        Returns
        -------
        tuple of str
            The dims.

        Examples
        --------
        >>> def independent_dims(self, of):  # of a type that works on one entry at a time
        ...     return of
        """
        return ()

    def evaluate(self, **operands: Any) -> Any:
        """The value, given those of the operands.

        It is linear in each operand, with coefficients that are never negative.

        Parameters
        ----------
        **operands : array
            The value of each slot, by name: (R or 1, dims of the operand). R is the number of
            replicates.

        Returns
        -------
        numpy.ndarray
            (R, `dims_of`).

        Examples
        --------
        >>> def evaluate(self, of):  # of a type that doubles its operand
        ...     return 2.0 * of
        """
        raise NotImplementedError

    def split(self, stream: Any, count: Any, **operands: Any) -> dict[str, Any]:
        """The counts of the entries of each slot.

        The count of every cell is shared out among its summands in proportion to them. A summand is
        a product of one entry of each operand; all these entries receive its counts.
        `pgbn.extend.share_out` draws the shares.

        Parameters
        ----------
        stream : Stream
            The random stream.
        count : array
            The count of each cell of the value, (R, `dims_of`).
        **operands : array
            The value of each slot, by name, as for `evaluate`.

        Returns
        -------
        dict
            The counts of each slot, by name: (R, dims of the operand).

        Examples
        --------
        >>> def split(self, stream, count, of):  # one summand: all counts belong to it
        ...     return {"of": count}
        """
        raise NotImplementedError

    def expose(self, slot: str, exposure: Any, shape: tuple[int, ...], **others: Any) -> Any:
        """The exposure of the entries of one operand: Σ_v q_v c_ve.

        Parameters
        ----------
        slot : str
            The slot of the operand.
        exposure : array
            The exposure q of each cell of the value, (R, `dims_of`).
        shape : tuple of int
            The shape of the result.
        **others : array
            The value of each other slot, by name.

        Returns
        -------
        numpy.ndarray
            The exposure of each entry.

        Examples
        --------
        >>> def expose(self, slot, exposure, shape):  # of a type that doubles its operand
        ...     return 2.0 * exposure
        """
        raise NotImplementedError

    @property
    def is_evaluated(self) -> bool:
        """Whether it has its own evaluation, split and exposure."""
        return type(self).evaluate is not Edge.evaluate

    @property
    def _parts(self) -> tuple[Expression, ...]:
        """The expressions that it is made of: its operands, or its expansion."""
        if self.is_evaluated:
            return tuple(getattr(self, slot) for slot in self.slots())
        return (self.expanded,)

    @cached_property
    def expanded(self) -> Expression:
        """The result of `expand`, called once: its nodes and constants are always the same ones."""
        found = self.expand()
        if found is self:
            raise NetworkError(f"{type(self).__name__}: expand() returned the edge itself")
        try:
            return to_expression(found)
        except NetworkError as error:
            raise NetworkError(f"{type(self).__name__}: expand() returned {error}") from None

    @cached_property
    def extent(self) -> tuple[int, int]:
        try:
            return super().extent
        except RecursionError:
            name = type(self).__name__
            raise NetworkError(f"{name}: expand() returns edges that expand without end") from None

    def __str__(self) -> str:
        fields = ", ".join(
            str(getattr(self, name)) if name in self.slots() else f"{name}={getattr(self, name)}"
            for name in type(self).model_fields
        )
        return f"{type(self).__name__}({fields})"


def edge_types() -> dict[str, type[Edge]]:
    """The registered edge types by tag."""
    return dict(_types)
