"""Node: a named distribution with dims and slots. A new type subclasses Latent or Observed.

A node type answers three questions:

- How is it generated? `Node.generate`.
- Which evidence does it send to each slot? `pgbn.extend.evidence_rule`.
- How is it drawn given the evidence that it receives? `pgbn.extend.draw_rule`, which gives the
  parameters of the posterior in its own family.
"""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import field_validator

from pgbn.errors import NetworkError, notify
from pgbn.nodes.expression import Constant, Dims, Expression
from pgbn.samplers.random import Stream

Array = NDArray[Any]

_types: dict[str, type[Node]] = {}
_definitions: dict[tuple[str, str], list[type[Node]]] = {}


class Node(Expression):
    """A random variable of the network: the base of `Latent` and `Observed`.

    Invariant: the class attribute `tag` is unique; it is the node's "type" in JSON.

    Parameters
    ----------
    name : str
        Its name in the network, in data and in draws.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.

    Examples
    --------
    >>> isinstance(pgbn.Gamma("theta", 2, 3), pgbn.extend.Node)
    True
    """

    # slots whose value must be positive; whether the node's own value can be exactly 0 for any
    # slots; the slots with which it is 0; and slots that may be negative, such as a mean
    positive_slots: ClassVar[tuple[str, ...]] = ()
    has_zeros: ClassVar[bool] = False
    zero_with: ClassVar[tuple[str, ...]] = ()
    real_slots: ClassVar[tuple[str, ...]] = ()
    # whether the value itself may be negative: then only such slots may use it
    real: ClassVar[bool] = False

    name: str
    dims: Dims = ()

    def __init__(self, name: str = "", /, *args: Any, **fields: Any) -> None:
        cls = type(self)
        if "name" in fields and not (isinstance(name, str) and name == ""):
            raise NetworkError(
                f"{cls.__name__}({name!r}): name is given twice, also as {fields['name']!r}"
            )
        name = fields.pop("name", name)
        super().__init__(*args, name=name, **fields)
        if len(set(self.axes)) < len(self.axes):
            both = next((dim for dim in self.sums_over if dim in self.dims), None)
            if both is not None:
                raise NetworkError(
                    f"{cls.__name__}({name!r}): {both!r} stands in over= and in dims=; remove it "
                    "from dims, which name the other dims"
                )
            raise NetworkError(
                f"{cls.__name__}({name!r}): its dims {self.axes} name a dim twice; give the second "
                "another name"
            )
        for dim in ("chain", "draw"):
            if dim in self.axes:
                raise NetworkError(
                    f"{cls.__name__}({name!r}): a dim {dim!r}, which every draw has already; give "
                    "it another name"
                )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "<locals>" not in cls.__qualname__:
            _definitions.setdefault((cls.__module__, cls.__qualname__), []).append(cls)
        if "tag" in cls.__dict__:
            if not isinstance(cls.tag, str) or not cls.tag:
                raise NetworkError(
                    f"{cls.__name__}.tag={cls.tag!r:.60}: give a text that names the type in JSON, "
                    'such as tag: ClassVar[str] = "my_package.my_type"'
                )
            known = _types.get(cls.tag)
            if known is not None and known.__qualname__ != cls.__qualname__:
                raise NetworkError(
                    f"the tag {cls.tag!r} of the node type {cls.__name__} is that of "
                    f"{known.__module__}.{known.__name__}; give another one, such as "
                    f"'my_package.{cls.tag}'"
                )
            _types[cls.tag] = cls
        elif not cls.__name__.startswith("_") and not cls.__module__.startswith("pgbn."):
            notify(
                f"the node type {cls.__name__} has no tag, so that networks of it cannot be saved; "
                'add to the class: tag: ClassVar[str] = "my_package.my_type" (if it is only the '
                "base of other types, begin its name with _)"
            )

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not f"_{name}".isidentifier() or not name:
            raise ValueError(f"{name!r} is not a name: use letters, digits and underscores")
        if name in ("self", "constant"):
            raise ValueError(f"{name!r} is reserved; choose another name")
        return name

    @property
    def _parts(self) -> tuple[Expression, ...]:
        """None: a node is not taken apart in the slots of other nodes."""
        return ()

    @property
    def axes(self) -> tuple[str, ...]:
        """All dims of the node's value."""
        return self.dims

    @property
    def simplex(self) -> str | None:
        """The dim over which the value sums to one, if there is one."""
        return None

    @property
    def sums_over(self) -> tuple[str, ...]:
        """The dims over which the value sums to one, all together: none, one or several."""
        return () if self.simplex is None else (self.simplex,)

    def slot_axes(self, slot: str) -> tuple[str, ...]:
        """The dims that the expression in a slot may have; by default those of the node.

        Parameters
        ----------
        slot : str
            The name of the slot.

        Returns
        -------
        tuple of str
            The dims.

        Examples
        --------
        >>> phi = pgbn.Dirichlet("phi", 0.1, over="term")
        >>> x = pgbn.Multinomial("x", phi, over="term", dims="doc")
        >>> x.slot_axes("probability"), x.slot_axes("total")
        (('doc', 'term'), ('doc',))
        """
        return self.axes

    def generate(self, stream: Stream, **slots: Any) -> Array:
        """A draw of the node given its slots. Every type defines it.

        Parameters
        ----------
        stream : Stream
            The random stream. ``stream.shape`` is the shape of the draw: the replicates, then three
            dims.
        **slots : array
            The value of each slot, by name. They broadcast to ``stream.shape``.

        Returns
        -------
        numpy.ndarray
            An array of shape ``stream.shape``.

        Examples
        --------
        >>> stream = pgbn.extend.Stream(7, (1, 1, 1, 3))
        >>> pgbn.Gamma("theta", 2, 3).generate(stream, shape=2.0, rate=3.0).shape
        (1, 1, 1, 3)
        """
        raise _undefined(self, "generate", "stream")

    def log_density(self, value: Array, **slots: Any) -> Array:
        """The log density of a value, elementwise; the sum is the log density of the node.

        Only what computes densities needs it, such as `pgbn.Chain.log_likelihood`.

        Parameters
        ----------
        value : array
            The value of the node.
        **slots : array
            The value of each slot, by name.

        Returns
        -------
        numpy.ndarray
            A number for each entry of ``value``.

        Examples
        --------
        >>> theta = pgbn.Gamma("theta", 1, 1)
        >>> found = theta.log_density(np.array([0.5, 2.0]), shape=1.0, rate=1.0)
        >>> bool(np.allclose(found, [-0.5, -2.0]))
        True
        """
        raise _undefined(self, "log_density", "value")

    def formula(self, **slots: str) -> str:
        r"""The distribution in LaTeX, for `pgbn.Network.explain`.

        Parameters
        ----------
        **slots : str
            Each slot in LaTeX, by name.

        Returns
        -------
        str
            The formula. By default it is the name of the type with its slots.

        Examples
        --------
        >>> print(pgbn.Gamma("theta", 2, 3).formula(shape="a", rate="b"))
        \mathrm{Gam}(a,\ b)
        """
        return rf"\mathrm{{{type(self).__name__}}}({', '.join(slots.values())})"

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        slots = ", ".join(f"{slot}={getattr(self, slot)}" for slot in self.slots())
        axes = f", dims={self.axes}" if self.axes else ""
        return f"{type(self).__name__}({self.name!r}, {slots}{axes})"


class Latent(Node):
    """A node whose value is unknown and is drawn.

    Parameters
    ----------
    name : str
        Its name in the network and in draws.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.
    update : str
        The name of a kernel that draws it in place of its draw rule, such as "slice".

    Examples
    --------
    >>> from pgbn import extend
    >>> class Exponential(extend.Latent):
    ...     tag = "docs.exponential"
    ...     rate: extend.Slot
    ...     def generate(self, stream, **slots):
    ...         return extend.vectorised.gamma(stream, 1.0, slots["rate"])
    >>> Exponential("theta", 2, dims="doc").axes
    ('doc',)
    """

    # values above it are rejected: products of two of them would not be finite
    largest: ClassVar[float] = 1e150
    # the support of the values, for kernels that move them: "positive", the "unit" interval, or
    # "whole" numbers; "" if they cannot move the node
    support: ClassVar[str] = "positive"
    # whether the value is zeros with a single 1 along its simplex: all rows of a chain of such
    # values are drawn together
    finite: ClassVar[bool] = False

    update: str = ""  # the name of a kernel that draws it in place of its draw rule

    def refuses(self, value: Array) -> str | None:
        """The reason why some values of the node are impossible.

        The default accepts finite values of at least 0 that are not larger than `largest`. Values
        of a simplex must also sum to one.

        Parameters
        ----------
        value : array
            The values, with their dims in the order of ``axes``.

        Returns
        -------
        str or None
            The reason, which completes a sentence that begins with the node. None if all are
            possible.

        Examples
        --------
        >>> pgbn.Gamma("theta", 2, 3).refuses(np.array([-1.0]))
        'has the value -1; give finite values of at least 0'
        """
        if not np.isfinite(value).all() or (value < 0).any():
            bad = value[~(np.isfinite(value) & (value >= 0))].flat[0]
            return f"has the value {bad:g}; give finite values of at least 0"
        if value.size and value.max() > self.largest:
            return f"has the value {value.max():g}; give values of at most {self.largest:g}"
        if self.sums_over:
            sums = value.sum(axis=tuple(self.axes.index(dim) for dim in self.sums_over))
            if not np.allclose(sums, 1.0):
                worst = float(np.ravel(sums)[np.argmax(np.abs(sums - 1.0))])
                over = ", ".join(map(repr, self.sums_over))
                turned = value.ndim == 2 and any(
                    np.allclose(value.sum(axis=axis), 1.0) for axis in (0, 1)
                )
                hint = f"; is it transposed? its dims are {self.axes}" if turned else ""
                return f"sums to {worst:g} over {over}; divide by the sum, to make it 1{hint}"
        return None

    def refuses_mean(self, value: Array) -> str | None:
        """The reason why some means of values are impossible.

        By default it is `refuses`. A type of integers defines it, since their mean need not be one.

        Parameters
        ----------
        value : array
            The means, with their dims in the order of ``axes``.

        Returns
        -------
        str or None
            The reason, or None if all are possible.

        Examples
        --------
        >>> counts = pgbn.HiddenPoisson("n", 2)
        >>> counts.refuses(np.array(0.5)) is None, counts.refuses_mean(np.array(0.5)) is None
        (False, True)
        """
        return self.refuses(value)

    def expectation(self, **slots: Any) -> Array | None:
        """The expectation of the node given its slots. `pgbn.Network.estimate` uses it.

        Parameters
        ----------
        **slots : array
            The value of each slot, by name. A node with a simplex also receives the ``axis`` of it.

        Returns
        -------
        numpy.ndarray or None
            The expectation, or None if it has no formula.

        Examples
        --------
        >>> float(pgbn.Gamma("theta", 2, 4).expectation(shape=np.array(2.0), rate=np.array(4.0)))
        0.5
        """
        return None

    def expected_log_density(self, mean: Array, geometric: Array, /, **slots: Any) -> Array | None:
        """The expectation of ln p(x | slots) of a random value x.

        The bound of variational Bayes needs it.

        Parameters
        ----------
        mean : array
            The mean of x.
        geometric : array
            Its geometric mean e^{E ln x}.
        **slots : array
            The value of each slot, by name.

        Returns
        -------
        numpy.ndarray or None
            The expectation, or None if it has no formula.

        Examples
        --------
        >>> theta, one = pgbn.Gamma("theta", 1, 1), np.array(1.0)
        >>> bool(np.isclose(theta.expected_log_density(one, one, shape=1.0, rate=1.0), -1.0))
        True
        """
        return None

    def begin(self, value: Array) -> Array:
        """The value at which a chain begins. Any possible value will do.

        Parameters
        ----------
        value : array
            A draw of the prior, or of some of its rows.

        Returns
        -------
        numpy.ndarray
            The first value, by default the draw itself.

        Examples
        --------
        >>> pgbn.Dirichlet("phi", 0.1, over="term").begin(np.array([0.25, 0.75]))
        array([0.25, 0.75])
        """
        return value


class Observed(Node):
    """A node whose value is data.

    Parameters
    ----------
    name : str
        Its name in the network, and of its data.
    dims : str or tuple of str
        The names of its dims. Without dims the node is one number.

    Examples
    --------
    >>> from pgbn import extend
    >>> class Waiting(extend.Observed):
    ...     tag = "docs.waiting"
    ...     rate: extend.Slot
    ...     def generate(self, stream, **slots):
    ...         return extend.vectorised.gamma(stream, 1.0, slots["rate"])
    ...     def check(self, values):
    ...         return "negative times" if (values < 0).any() else None
    >>> Waiting("x", 2, dims="doc").check(np.array([1.5, -2.0]))
    'negative times'
    """

    # whether data above 0 have probability 0 if the latent counts behind them are 0
    positive_needs_counts: ClassVar[bool] = False

    def log_density_cells(self, value: Array, **slots: Any) -> Array:
        """The log density of separate cells, for types whose cells are independent.

        Parameters
        ----------
        value : array
            The data of some cells.
        **slots : array
            The value of each slot at these cells, by name.

        Returns
        -------
        numpy.ndarray
            A number for each cell.

        Examples
        --------
        >>> x = pgbn.Poisson("x", 1)
        >>> bool(np.allclose(x.log_density_cells(np.array([0.0, 1.0]), rate=1.0), -1.0))
        True
        """
        return self.log_density(value, **slots)

    def told_by_data(self, value: Array, axis: int) -> dict[str, Array]:
        """The slots that the data determine, such as the total of a multinomial.

        Predictions use these slots too.

        Parameters
        ----------
        value : array
            The data.
        axis : int
            The axis of the simplex.

        Returns
        -------
        dict
            The value of each such slot, by name. By default there are none.

        Examples
        --------
        >>> phi = pgbn.Dirichlet("phi", 0.1, over="term")
        >>> x = pgbn.Multinomial("x", phi, over="term", dims="doc")
        >>> x.told_by_data(np.array([[2, 3]]), axis=1)
        {'total': array([[5.]])}
        """
        return {}

    def check(self, values: Array) -> str | None:
        """The fault of data values. By default all finite values are possible.

        Parameters
        ----------
        values : array
            Values of data, which are finite.

        Returns
        -------
        str or None
            The fault, such as "negative values", and its remedy. None if there is none.

        Examples
        --------
        >>> pgbn.Poisson("x", 1).check(np.array([2, 0])) is None
        True
        """
        return None


def check_methods(node: Node) -> None:
    """Reject a type without a method that every type must define."""
    if type(node).generate is Node.generate:
        raise _undefined(node, "generate", "stream")


def _undefined(node: Node, method: str, arguments: str) -> NetworkError:
    return NetworkError(
        f"{node.name}: the node type {type(node).__name__} does not define {method}(); add to the "
        f"class: def {method}(self, {arguments}, **slots): ..."
    )


def draw_node(node: Node, stream: Stream, shape: tuple[int, ...], slots: dict[str, Any]) -> Array:
    """A draw by ``node.generate``, in another shape with the same number of cells."""
    drawn = np.asarray(node.generate(stream, **slots))
    if drawn.size != prod(shape):
        raise NetworkError(
            f"{node.name}: {type(node).__name__}.generate() returned an array of shape "
            f"{drawn.shape}; it must be stream.shape, which is {stream.shape}"
        )
    return drawn.reshape(shape)


def check_positive(expression: Expression) -> Expression:
    """Reject constants that are not positive: a validator of slots.

    Parameters
    ----------
    expression : Expression
        What a slot contains.

    Returns
    -------
    Expression
        The same.

    Raises
    ------
    ValueError
        If it is a constant with another value; the user sees a `pgbn.NetworkError`.

    Examples
    --------
    >>> from pydantic import field_validator
    >>> class CheckedPositive(pgbn.extend.Observed):
    ...     tag = "docs.check_positive"
    ...     rate: pgbn.extend.Slot
    ...     _positive = field_validator("rate")(pgbn.extend.check_positive)
    """
    if isinstance(expression, Constant) and not expression.value.min() > 0:
        raise ValueError(f"must be positive, got {float(expression.value.min()):g}")
    return expression


def check_probability(expression: Expression) -> Expression:
    """Reject constants outside [0, 1]: a validator of slots.

    Parameters
    ----------
    expression : Expression
        What a slot contains.

    Returns
    -------
    Expression
        The same.

    Raises
    ------
    ValueError
        If it is a constant with another value; the user sees a `pgbn.NetworkError`.

    Examples
    --------
    >>> from pydantic import field_validator
    >>> class CheckedProbability(pgbn.extend.Observed):
    ...     tag = "docs.check_probability"
    ...     rate: pgbn.extend.Slot
    ...     _range = field_validator("rate")(pgbn.extend.check_probability)
    """
    if isinstance(expression, Constant):
        value = expression.value
        if value.min() < 0 or value.max() > 1:
            raise ValueError(f"must be a probability between 0 and 1, got {value}")
    return expression


def definitions_of(cls: type[Node]) -> list[type[Node]]:
    """A type and its earlier definitions, the newest first.

    A notebook has earlier definitions if a cell was run again."""
    known = _definitions.get((cls.__module__, cls.__qualname__), [])
    return [cls, *reversed(known[: known.index(cls)])] if cls in known else [cls]


def node_types() -> dict[str, type[Node]]:
    """The registered node types by tag."""
    return dict(_types)
