"""Index: entries of an expression by the categories of other rows, ``theta[author]``.

    g : doc → author,     value[doc] = theta[g(doc)]

The array g is given with the data of the nodes, or as ``values`` when the network is declared.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from pgbn.errors import NetworkError
from pgbn.nodes.categorical import Categorical
from pgbn.nodes.expression import Dim, Dims, Expression, Mix, Product, Slot, bracket, short


def as_categories(name: str, value: Any, dims: tuple[str, ...]) -> NDArray[np.int64]:
    """The numbers of categories, from 0 on, as an array of ``dims`` that cannot be changed."""
    what = f"{name}: {short(value)}"
    remedy = (
        "give integers from 0 on; np.unique(labels, return_inverse=True)[1] and "
        "series.cat.codes number labels"
    )
    if np.ma.is_masked(value):
        raise NetworkError(f"{what} has masked entries; {remedy}")
    try:
        found = np.array(value)
    except (TypeError, ValueError):
        raise NetworkError(f"{what} has rows of unequal length; {remedy}") from None
    whole = found.dtype.kind in "iu" or (
        found.dtype.kind == "f" and np.isfinite(found).all() and bool((found % 1 == 0).all())
    )
    if not whole or not found.size:
        raise NetworkError(f"{what} are no numbers of categories; {remedy}")
    if found.ndim != len(dims):
        raise NetworkError(
            f"{what} has {found.ndim} axes, but its dims are {dims}; give an array of these"
        )
    for end in (found.min(), found.max()):  # neither can be an index: the second would wrap around
        if not 0 <= end < 2**62:
            raise NetworkError(f"{name}: has the number {end:g}; {remedy}")
    array = found.astype(np.int64)
    array.flags.writeable = False
    return array


class Categories(Expression):
    """g : rows → entries: for every row of ``dims``, the number of an entry of the dim ``of``.

    ``theta[author]`` has the dims of ``author`` instead of ``of``.

    Parameters
    ----------
    name : str
        The name under which data give the numbers.
    dims : str or tuple of str
        The dims of the rows.
    of : str
        The dim whose entries are selected.
    values : array of int, optional
        The numbers, if they are known already.

    Examples
    --------
    >>> author = pgbn.Categories("author", dims="doc", of="writer", values=[0, 1, 1])
    >>> theta = pgbn.Gamma("theta", 1.0, 1.0, dims="writer")
    >>> pgbn.Poisson("x", theta[author], dims="doc")
    Poisson('x', rate=theta[author], dims=('doc',))
    """

    tag: ClassVar[str] = "categories"
    name: str
    dims: Dims
    of: Dim
    values: Any = None

    def __init__(self, name: str = "", /, **fields: Any) -> None:
        super().__init__(name=fields.pop("name", name), **fields)

    @model_validator(mode="after")
    def _check(self) -> Categories:
        if not self.name.isidentifier():
            raise ValueError(f"{self.name!r} is not a name: use letters, digits and underscores")
        if not self.dims:
            raise ValueError("dims=(): give the dims of its array, each once")
        if self.values is not None:
            object.__setattr__(self, "values", as_categories(self.name, self.values, self.dims))
        return self

    def __str__(self) -> str:
        return self.name


class Index(Expression):
    """y[doc, …] = of[g(doc), …]: each `Categories` g selects entries of one dim.

    Write ``theta[author]``, or ``rate[group, period]`` for several dims. An entry that many rows
    read receives the sum of their counts and exposures. The brackets may also contain a hidden
    choice z, a `pgbn.Categorical`: ``rate[z]`` is the rate that z chooses, Σ_k z_k rate_k.

    Parameters
    ----------
    of : node or expression
        What the entries are selected from.
    by : tuple
        The categories, or hidden choices (`pgbn.Categorical`).

    Examples
    --------
    >>> author = pgbn.Categories("author", dims="doc", of="writer")
    >>> theta = pgbn.Gamma("theta", 1.0, 1.0, dims="writer")
    >>> print(theta[author])
    theta[author]
    """

    tag: ClassVar[str] = "index"
    _multiplies: ClassVar[bool] = True
    of: Slot
    by: tuple[Categories | Categorical, ...] = Field(min_length=1)

    def __str__(self) -> str:
        return f"{bracket(self.of, Mix, Product)}[{', '.join(map(str, self.by))}]"
