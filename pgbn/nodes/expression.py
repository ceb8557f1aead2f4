"""Expressions: the possible contents of a slot of a node, and the operators that build them.

A slot contains a number, a node, or a polynomial of nodes:

- ``phi @ theta``   Mix: a product summed over the dims that both share,
- ``tau * theta``   Product, ``gamma0 / K`` Product with a number,
- ``a + b``         Sum,
- ``theta[author]`` Index: entries by the categories of other rows,
- ``Shift(...)``    the previous row of a chain, see `pgbn.nodes.shift`.

Expressions are specifications only; `pgbn.network.terms` brings them to a normal form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from inspect import Parameter, Signature
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PydanticUserError,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from scipy.sparse import csr_array, issparse

from pgbn.checks import in_order, is_finite_number
from pgbn.errors import NetworkError, did_you_mean

# ---- arguments of the constructors of expressions -----------------------------------------------


def is_real(value: Any) -> bool:
    """Whether a value is a real number; a bool is not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def as_array(value: ArrayLike) -> NDArray[np.float64]:
    """Finite numbers as an array that cannot be changed."""
    if np.ma.is_masked(value):
        raise NetworkError(
            f"{short(value)} has masked entries; give numbers for them, e.g. with .filled(1.0)"
        )
    try:
        found = np.array(value)
    except (TypeError, ValueError):
        raise NetworkError(f"{short(value)} has rows of unequal length") from None
    if found.dtype.kind not in "iufb":
        raise NetworkError(f"{short(value)} is not a number or an array of numbers")
    if found.size == 0:
        raise NetworkError(f"{short(value)} is empty; give at least one number")
    array = found.astype(np.float64)
    if not np.isfinite(array).all():
        raise NetworkError(f"{short(value)} is not finite; give a finite number")
    array.flags.writeable = False
    return array


_MANY = 2_000_000  # rows or columns, some of which may be empty


def as_known(value: Any) -> Any:
    """The value of a constant, checked: an array, or a sparse matrix, which stays sparse."""
    if not issparse(value):
        return as_array(value)
    if value.dtype.kind not in "iufb":
        raise NetworkError(f"{short(value)} has no real numbers; give integers or floats")
    longest = max(value.shape, default=0)
    if longest > _MANY and longest > 100 * value.nnz:  # a few bytes may claim any size
        raise NetworkError(
            f"a sparse matrix of shape {value.shape} with {value.nnz} entries; remove empty rows "
            "and columns"
        )
    try:
        if hasattr(value, "check_format"):
            value.check_format(full_check=True)  # scipy follows indices that point outside
        elif value.format == "coo":
            value._check()
        matrix = csr_array(value, dtype=np.float64, copy=True)
    except (ValueError, TypeError, IndexError) as error:
        raise NetworkError(f"{short(value)} is damaged ({error}); build it again") from None
    if not all(matrix.shape):
        raise NetworkError(f"{short(value)} is empty; give at least one row and one column")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not np.isfinite(matrix.data).all():
        raise NetworkError(f"{short(value)} is not finite; give finite numbers")
    for array in (matrix.indptr, matrix.indices, matrix.data):
        array.flags.writeable = False
    return matrix


def all_fields(
    cls: type[Expression], args: tuple[Any, ...], fields: dict[str, Any]
) -> dict[str, Any]:
    """All fields: those given by name and those given by position."""
    named, positional = "name" in fields, cls._by_position()
    call = f"{cls.__name__}({fields['name']!r})" if named else cls.__name__
    if len(args) > len(positional):
        rest = [field for field in cls.__signature__.parameters if field not in positional]
        rest = [field for field in rest if field != "name"]
        after = " after the name" if named else ""
        which = f" {positional}" if positional else ""
        raise NetworkError(
            f"{call}: takes {len(positional)} positional parameters{after}{which}, got "
            f"{len(args)}; give {', '.join(f'{field}=…' for field in rest)} by name"
        )
    for field, value in zip(positional, args, strict=False):
        if field in fields:
            raise NetworkError(f"{call}: {field} is given twice")
        fields = {**fields, field: value}
    return fields


def short(value: Any) -> str:
    """A value as an error shows it: long ones are cut."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:80]}…"


def explain_error(cls: type[Any], name: object, error: ValidationError) -> str:
    """An error of pydantic in the words of pgbn; an unknown argument is named first."""
    complaints = error.errors()
    first = next((c for c in complaints if c["type"] == "extra_forbidden"), complaints[0])
    field = ".".join(str(part) for part in first["loc"] if "(" not in str(part)) or "arguments"
    message, value = first["msg"].removeprefix("Value error, "), short(first["input"])
    takes = list(cls.__signature__.parameters)
    if first["type"] == "missing":
        along = "; give the dim along which the values sum to one, such as over='term'"
        such = f"; give {field}=…" if field in cls.slots() else ""
        message = f"is missing{along if field == 'over' else such}"
    elif first["type"] == "extra_forbidden":
        message = f"is not a parameter{_instead(field, takes)}"
    elif field == "name" and not (isinstance(first["input"], str) and first["input"]):
        found = f"{value} is no text" if not isinstance(first["input"], str) else "is missing"
        message = f"{found}; the first argument is the name, as in {cls.__name__}('theta', …)"
    elif field.startswith("dims") and not first["type"].startswith("value_error"):
        message = f"got {value}; give names of dims, such as dims=('doc', 'topic'). Sizes are "
        message += "given to the network: Network(x, sizes={'topic': 10})"
    elif first["type"] == "string_type":
        message = f"give a text, not {value}"
    elif not first["type"].startswith("value_error"):
        message = f"{message}, got {value}"
    call = cls.__name__ if name is None else f"{cls.__name__}({name!r})"
    return f"{call}: {field}: {message} ({cls.__name__} takes {', '.join(takes)})"


# The words of other packages: a parameter of the type, the words, and what to write.
_WORDS = (
    ("shape", "mu mean", "the mean is shape / rate: write rate=shape/{}"),
    ("shape", "alpha a", "write shape={}"),
    ("concentration", "alpha a eta", "write concentration={}"),
    ("a", "alpha", "write a={}"),
    ("b", "beta", "write b={}"),
    ("rate", "scale", "write rate=1/scale"),
    ("rate", "beta b lam lambda_ mu intensity", "write rate={}"),
    ("mean", "mu loc", "write mean={}"),
    ("precision", "sigma sd std", "write precision=1/{}**2"),
    ("precision", "variance var", "write precision=1/{}"),
    ("precision", "tau", "write precision={}"),
    ("probability", "p prob probs pi", "write probability={}"),
    ("logit", "logits logit_p psi", "write logit={}"),
    ("dims", "plate plates axes dim", "write dims="),
    ("dims", "size sizes shape", "sizes are given to the network: Network(x, sizes={'topic': 10})"),
    ("dims", "data observed obs value", "data are passed later: net.sample({'x': X})"),
)


def _instead(field: str, takes: list[str]) -> str:
    """What to write instead of an unknown parameter."""
    for parameter, words, remedy in _WORDS:
        if parameter in takes and field in words.split():
            return f"; {remedy.replace('{}', field)}"
    return f".{did_you_mean(field, takes)}"


# ---- numpy's functions: operators are supported, others are rejected with an error --------------

_OPERATORS = {
    "add": "add", "multiply": "mul", "matmul": "matmul", "divide": "truediv", "subtract": "sub",
    "power": "pow",
}  # fmt: skip


def apply_ufunc(kind: type[Any], ufunc: str, method: str, inputs: tuple[Any, ...]) -> Any:
    """Apply the operators of expressions, of type ``kind``, to ``array * node`` and the like.

    Equality is identity."""
    if method == "__call__" and len(inputs) == 2:
        left, right = inputs
        if ufunc in ("equal", "not_equal"):
            return (left is right) == (ufunc == "equal")
        if ufunc in _OPERATORS:
            name = _OPERATORS[ufunc]
            if isinstance(left, kind):
                return getattr(left, f"__{name}__")(right)
            return getattr(right, f"__r{name}__")(left)
    here = next(each for each in inputs if isinstance(each, kind))
    way = ". The exponential of a pgbn.Normal is a pgbn.LogNormal" if ufunc == "exp" else ""
    raise NetworkError(
        f"numpy.{ufunc} of {here}: it has no conjugate update; an expression is made with @, +, * "
        f"and / by a number{way}"
    )


# ---- expressions --------------------------------------------------------------------------------

MOST_TERMS, DEEPEST = 10_000, 200


def _as_dims(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _check_dim(dim: str) -> str:
    """The name of a dim: letters, digits and underscores."""
    if not dim:
        raise ValueError("has an empty name; name the dim, for example 'doc'")
    if not f"_{dim}".isidentifier():
        several = re.findall(r"\w+", dim)
        hint = f"; did you mean {tuple(several)}?" if len(several) > 1 else ""
        raise ValueError(f"{dim!r} is not the name of a dim: use letters, digits and _{hint}")
    return dim


def _check_dims(dims: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(dims)) < len(dims):
        raise ValueError(f"{dims} names a dim twice; give the second another name")
    for dim in dims:
        _check_dim(dim)
    return dims


Dim = Annotated[str, AfterValidator(_check_dim)]
Dims = Annotated[tuple[str, ...], BeforeValidator(_as_dims), AfterValidator(_check_dims)]


if TYPE_CHECKING:
    # For type checkers: the constructors take the name and the first slots by position, which
    # the constructors that pydantic synthesises do not.

    class _Model:
        model_fields: ClassVar[dict[str, FieldInfo]]

        def __init__(self, *args: Any, **fields: Any) -> None: ...

        @classmethod
        def __pydantic_init_subclass__(cls, **kwargs: Any) -> None: ...

else:

    class _Declared(type(BaseModel)):
        """Makes node types. A field without a type gets an error in the words of pgbn."""

        def __new__(mcs, name: str, *args: Any, **options: Any) -> type:
            try:
                return super().__new__(mcs, name, *args, **options)
            except PydanticUserError as error:
                field = re.search(r"non-annotated attribute was detected: `(\w+)", str(error))
                if field is None:
                    raise
                raise NetworkError(
                    f"class {name}: {field[1]} has no type; write {field[1]}: pgbn.extend.Slot for "
                    f"a slot, or {field[1]}: ClassVar[…] = … for a constant of the class"
                ) from None

    class _Model(BaseModel, metaclass=_Declared):
        pass


_slots: dict[type[Expression], tuple[str, ...]] = {}


class Expression(_Model):
    """Anything that has a value with named dims. Compared by identity, never changed.

    Parameters
    ----------
    *args : expression, array or number
        The slots without a default, in the order of their declaration. All other fields are given
        by name.

    Examples
    --------
    >>> theta = pgbn.Gamma("theta", 2, 3, dims=("doc", "topic"))
    >>> phi = pgbn.Dirichlet("phi", 0.1, over="term", dims="topic")
    >>> isinstance(2 * theta @ phi, pgbn.extend.Expression)
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    tag: ClassVar[str] = "expression"
    __signature__: ClassVar[Signature]
    # whether its parts are multiplied; otherwise they are added
    _multiplies: ClassVar[bool] = False

    def __init__(self, *args: Any, **fields: Any) -> None:
        fields = all_fields(type(self), args, fields)
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise NetworkError(explain_error(type(self), fields.get("name"), error)) from None
        terms, depth = self.extent
        if terms > MOST_TERMS or depth > DEEPEST:
            raise NetworkError(
                f"{type(self).__name__}: an expression of {terms} terms, nested {depth} times, is "
                f"too large (at most {MOST_TERMS} terms, {DEEPEST} times); sum along a dim instead"
            )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.__signature__ = _signature(cls)

    @classmethod
    def slots(cls) -> tuple[str, ...]:
        """The names of the fields that take one expression each.

        Returns
        -------
        tuple of str
            The names, in the order of their declaration.

        Examples
        --------
        >>> pgbn.Gamma.slots()
        ('shape', 'rate')
        """
        if cls in _slots:
            return _slots[cls]
        found = tuple(
            name
            for name, field in cls.model_fields.items()
            if isinstance(field.annotation, type) and issubclass(field.annotation, Expression)
        )
        if getattr(cls, "__pydantic_complete__", False):  # every network needs it a hundred times
            _slots[cls] = found
        return found

    @classmethod
    def _by_position(cls) -> tuple[str, ...]:
        """The slots that may be given without a keyword: those without a default, in order."""
        return tuple(slot for slot in cls.slots() if cls.model_fields[slot].is_required())

    @property
    def _parts(self) -> tuple[Expression, ...]:
        """The expressions that it is made of, from left to right."""
        values = [getattr(self, name) for name in type(self).model_fields]
        several = [value if isinstance(value, tuple) else (value,) for value in values]
        return tuple(part for each in several for part in each if isinstance(part, Expression))

    @cached_property
    def extent(self) -> tuple[int, int]:
        """The number of terms after multiplying out, and the depth of nesting."""
        if not self._parts:
            return 1, 0
        terms, depths = zip(*(part.extent for part in self._parts), strict=True)
        return prod(terms) if self._multiplies else sum(terms), 1 + max(depths)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **_: Any) -> Any:
        return apply_ufunc(Expression, ufunc.__name__, method, inputs)

    __pandas_priority__ = 10_000  # data frames leave their operators to it

    def __matmul__(self, other: Any) -> Mix:
        return Mix(factors=(self, to_expression(other)))

    def __rmatmul__(self, other: Any) -> Mix:
        return Mix(factors=(to_expression(other), self))

    def __mul__(self, other: Any) -> Product:
        return Product(factors=(self, to_expression(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Product:
        if not is_real(other):
            raise NetworkError(
                f"{self} / {other!r}: only division by a number is conjugate; "
                "give the divisor as a rate parameter instead"
            )
        if not is_finite_number(other) or not other > 0:
            raise NetworkError(f"{self} / {short(other)}: the divisor must be positive and finite")
        return Product(factors=(self, Constant(value=1.0 / float(other))))

    def __add__(self, other: Any) -> Sum:
        return Sum(terms=(self, to_expression(other)))

    __radd__ = __add__

    def _refuse(self, *others: Any) -> Expression:
        raise NetworkError(
            f"{self}: -, ** and division by a node have no conjugate update; an expression is made "
            "with @, +, * and / by a number"
        )

    __sub__ = __rsub__ = __neg__ = __pow__ = __rpow__ = __rtruediv__ = _refuse

    def _refuse_order(self, other: Any) -> bool:
        raise NetworkError(
            f"{self}: <, <=, > and >= are not supported: a node has no value before it is drawn; "
            "compare the draws, as in draws['theta'] > 0.5"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refuse_order

    def __setattr__(self, name: str, value: Any) -> None:
        raise NetworkError(
            f"{self}.{name} = {short(value)}: nodes and expressions never change; declare a new "
            f"{type(self).__name__}, and a network of it"
        )

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, by: Any) -> Expression:
        """``theta[author]``: the entries that `pgbn.Categories` name, or a hidden
        `pgbn.Categorical` chooses. See `pgbn.extend.Index`."""
        from pgbn.nodes.index import Index  # Index is an expression itself

        return Index(of=self, by=_as_categories(self, by))

    def rename(self, **names: str) -> Rename:
        """The same value with dims renamed.

        Parameters
        ----------
        **names : str
            The new name of each old one.

        Returns
        -------
        Rename
            An expression.

        Examples
        --------
        >>> theta = pgbn.Gamma("theta", 2, 3, dims=("doc", "topic"))
        >>> isinstance(theta.rename(topic="previous"), pgbn.Rename)
        True
        """
        return Rename(of=self, names=names)


def _signature(cls: type[Expression]) -> Signature:
    """The arguments as one writes them: ``Gamma(name, shape, rate, *, dims=(), update="")``."""
    fields, first = cls.model_fields, cls._by_position()
    first = ("name", *first) if "name" in fields else first
    by_name = sorted(
        (name for name in fields if name not in first),
        key=lambda name: (not fields[name].is_required(), name == "update", name != "dims"),
    )
    return Signature(
        [
            Parameter(
                name,
                Parameter.POSITIONAL_OR_KEYWORD if name in first else Parameter.KEYWORD_ONLY,
                default=Parameter.empty if fields[name].is_required() else _Default(fields[name]),
            )
            for name in (*first, *by_name)
        ]
    )


class _Default:
    """The default of a field, as a signature shows it."""

    def __init__(self, field: FieldInfo) -> None:
        self.field = field

    def __repr__(self) -> str:
        value = self.field.get_default(call_default_factory=True)
        return str(value) if isinstance(value, Expression) else repr(value)


def to_expression(value: Any) -> Expression:
    """Numbers and arrays become constants; expressions pass unchanged."""
    if isinstance(value, Expression):
        return value
    if is_real(value) or isinstance(value, (list, tuple, np.ndarray)) or issparse(value):
        return Constant(value=as_known(value))
    raise NetworkError(
        f"got {short(value)} of type {type(value).__name__}; give a number, a node, an array "
        "of numpy, or an expression such as phi @ theta"
    )


Slot = Annotated[Expression, BeforeValidator(to_expression)]


class Constant(Expression):
    """A fixed number, or an array with a named dim for each of its axes.

    ``Constant(W, dims=("doc", "author")) @ theta`` gives every document the weighted sum of its
    authors. A number or an array without names in a slot becomes a constant by itself.

    Parameters
    ----------
    value : number, array or scipy.sparse matrix
        The numbers. A ``scipy.sparse`` matrix stays sparse, and costs as much as it has
        entries.
    dims : str or tuple of str
        The names of the axes of the array.

    Examples
    --------
    >>> length = pgbn.Constant([120.0, 80.0], dims="doc")
    >>> theta = pgbn.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    >>> pgbn.Poisson("x", length * theta, dims=("doc", "topic"))
    Poisson('x', rate=constant('doc',) * theta, dims=('doc', 'topic'))
    """

    tag: ClassVar[str] = "constant"
    value: Annotated[Any, BeforeValidator(as_known)]
    dims: Dims = ()

    @classmethod
    def _by_position(cls) -> tuple[str, ...]:
        return ("value",)

    @model_validator(mode="before")
    @classmethod
    def _in_order(cls, fields: dict[str, Any]) -> dict[str, Any]:
        dims = _as_dims(fields.get("dims"))
        if not isinstance(dims, (tuple, list)) or "value" not in fields:
            return fields
        return {**fields, "value": in_order("value", tuple(dims), fields["value"])}

    def __str__(self) -> str:
        return f"{float(self.value):g}" if self.value.ndim == 0 else f"constant{self.dims}"


class Mix(Expression):
    """y = Σ Π factors, summed over the shared dims: ``phi @ theta``.

    Parameters
    ----------
    factors : tuple of nodes and expressions
        The factors of the product.
    over : str or tuple of str, optional
        The dims to sum. By default they are the dims that two factors share and the node that
        uses the Mix does not have.

    Examples
    --------
    >>> theta = pgbn.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    >>> phi = pgbn.Dirichlet("phi", 0.1, over="term", dims="topic")
    >>> weight = pgbn.Gamma("weight", 1.0, 1.0, dims="topic")
    >>> rate = pgbn.extend.Mix(factors=(phi, weight, theta), over="topic")
    >>> x = pgbn.Poisson("x", rate, dims=("doc", "term"))
    """

    tag: ClassVar[str] = "mix"
    _multiplies: ClassVar[bool] = True
    factors: tuple[Slot, ...] = Field(min_length=1)
    over: Dims | None = None

    def __str__(self) -> str:
        if len(self.factors) == 1:  # no @ shows that it is summed
            return f"Σ[{', '.join(self.over or ())}] {bracket(self.factors[0], Product)}"
        return " @ ".join(bracket(factor, Product) for factor in self.factors)


class Product(Expression):
    """y = Π factors, an elementwise product: ``tau * theta``.

    Parameters
    ----------
    factors : tuple of nodes and expressions
        The factors, aligned by the names of their dims.

    Examples
    --------
    >>> tau = pgbn.Gamma("tau", 1.0, 1.0, dims="doc")
    >>> theta = pgbn.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    >>> print(tau * theta)
    tau * theta
    """

    tag: ClassVar[str] = "product"
    _multiplies: ClassVar[bool] = True
    factors: tuple[Slot, ...] = Field(min_length=1)

    def __str__(self) -> str:
        return " * ".join(bracket(factor, Mix) for factor in self.factors)


class Sum(Expression):
    """y = Σ terms, an elementwise sum: ``a + b``.

    Parameters
    ----------
    terms : tuple of nodes and expressions
        The terms, aligned by the names of their dims.

    Examples
    --------
    >>> a = pgbn.Gamma("a", 1.0, 1.0)
    >>> print(a + 0.5)
    a + 0.5
    """

    tag: ClassVar[str] = "sum"
    terms: tuple[Slot, ...] = Field(min_length=1)

    def __str__(self) -> str:
        return " + ".join(str(term) for term in self.terms)


class Rename(Expression):
    """The value of an expression with some of its dims renamed: ``theta.rename(topic="other")``.

    Parameters
    ----------
    of : node or expression
        The expression.
    names : dict of str to str
        The new name of each renamed dim, by its present name.

    Examples
    --------
    >>> phi = pgbn.Gamma("phi", 1.0, 1.0, dims=("vertex", "community"))
    >>> pairs = phi.rename(vertex="i") @ phi.rename(vertex="j")
    """

    tag: ClassVar[str] = "rename"
    of: Slot
    names: Mapping[str, str]

    def __str__(self) -> str:
        return str(self.of)


def _as_categories(expression: Expression, by: Any) -> tuple[Any, ...]:
    """The contents of the brackets: one or several `pgbn.Categories` or `pgbn.Categorical`."""
    from pgbn.nodes.categorical import Categorical
    from pgbn.nodes.index import Categories

    several = by if isinstance(by, tuple) else (by,)
    for each in several:
        if not isinstance(each, Categories | Categorical):
            raise NetworkError(
                f"{expression}[{short(each)}]: give pgbn.Categories in the brackets, such as "
                "pgbn.Categories('author', dims='doc', of='writer'), with its numbers as data or "
                "as values=[…], or a pgbn.Categorical, which chooses"
            )
    return several


def bracket(expression: Expression, *others: type[Expression]) -> str:
    """An expression as a product shows it, in brackets if it is a sum or of one of the other types.

    ``phi @ (theta * w)`` sums over the dims of w too, ``(phi @ theta) * w`` does not."""
    return f"({expression})" if isinstance(expression, (Sum, *others)) else str(expression)
