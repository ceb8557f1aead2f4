"""Arguments of nodes and expressions: what they may be, and what is said of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pgbn import Constant, Dirichlet, Gamma, Mix, NetworkError, PgbnError, Product, Self, Shift, Sum
from pgbn.nodes.expression import as_array, by_position, is_real, short
from tests.helpers.refusals import Case, check_refused
from tests.helpers.small_networks import gamma

A, B = gamma("a"), gamma("b")

REFUSED: dict[str, Case] = {
    "nan": (lambda: gamma(shape=float("nan")), NetworkError, ["shape", "nan", "finite"]),
    "infinite": (lambda: gamma(rate=np.inf), NetworkError, ["rate", "inf", "finite"]),
    "complex": (lambda: gamma(shape=1j), NetworkError, ["shape", "1j", "give a number"]),
    "string": (lambda: gamma(shape="1"), NetworkError, ["shape", "'1'", "str", "give a number"]),
    "none": (lambda: gamma(shape=None), NetworkError, ["shape", "None", "give a number"]),
    "bool": (lambda: gamma(shape=True), NetworkError, ["shape", "True", "give a number"]),
    "dict": (lambda: gamma(shape={}), NetworkError, ["shape", "{}", "give a number"]),
    "strings": (lambda: gamma(shape=["a"]), NetworkError, ["shape", "['a']", "numbers"]),
    "complex array": (lambda: gamma(shape=np.array([1j])), NetworkError, ["1.j", "numbers"]),
    "objects": (lambda: gamma(shape=[None]), NetworkError, ["[None]", "numbers"]),
    "ragged": (lambda: gamma(shape=[[1, 2], [3]]), NetworkError, ["shape", "unequal length"]),
    "empty": (lambda: gamma(shape=[]), NetworkError, ["shape", "[]", "empty"]),
    "long array": (lambda: gamma(shape=["a"] * 999), NetworkError, ["'a', 'a'", "…"]),
    "unknown": (
        lambda: Gamma("t", shape=1, scale=2),
        NetworkError,
        ["Gamma('t')", "scale", "not a parameter", "shape, rate"],
    ),
    "missing": (lambda: Gamma("t", 1), NetworkError, ["rate", "missing", "takes name, dims"]),
    "too many": (lambda: Gamma("t", 1, 2, 3), NetworkError, ["2 positional", "got 3"]),
    "twice": (lambda: Gamma("t", 1, 2, shape=2), NetworkError, ["shape is given twice"]),
    "over": (lambda: Dirichlet("d", 1), NetworkError, ["over", "missing"]),
    "over holds a number": (
        lambda: Dirichlet("d", 1, over=("k", 3)),
        NetworkError,
        ["over", "string", "3"],
    ),
    "over names no dim": (lambda: Dirichlet("d", 1, over=()), NetworkError, ["over", "no dim"]),
    "shift": (lambda: Shift(Self()), NetworkError, ["Shift", "along", "missing"]),
    "shift along a number": (lambda: Shift(Self(), along=3), NetworkError, ["along", "got 3"]),
    "mix": (lambda: Mix(factors=3), NetworkError, ["Mix", "factors", "got 3"]),
    "mix of nothing": (lambda: Mix(factors=()), NetworkError, ["Mix", "factors", "at least 1"]),
    "product of nothing": (lambda: Product(factors=()), NetworkError, ["factors", "at least 1"]),
    "sum of nothing": (lambda: Sum(terms=()), NetworkError, ["terms", "at least 1"]),
    "mix, unknown": (lambda: Mix(terms=()), NetworkError, ["Mix: terms", "not a parameter"]),
    "constant": (lambda: Constant("a"), NetworkError, ["Constant: value", "'a'"]),
    "rename": (lambda: gamma(dims="k").rename(k=3), NetworkError, ["Rename", "names.k", "got 3"]),
    "Product(g, 1)": (
        lambda: Product(A, 1),
        PgbnError,
        ["Product: takes 0", "got 2", "factors=… by name"],
    ),
    "Mix(a, b)": (lambda: Mix(A, B), PgbnError, ["Mix: takes 0", "factors=…, over=… by name"]),
    "Sum(a)": (lambda: Sum(A), PgbnError, ["Sum: takes 0", "terms=…"]),
    "Constant()": (lambda: Constant(), PgbnError, ["Constant: value: is missing"]),
    "Constant(1, 2)": (lambda: Constant(1, 2), PgbnError, ["Constant: takes 1", "dims=…"]),
    "Constant(1, value=2)": (
        lambda: Constant(1, value=2),
        PgbnError,
        ["Constant: value is given twice"],
    ),
    "Shift()": (lambda: Shift(along="d"), PgbnError, ["Shift: of: is missing"]),
    "Self(1)": (lambda: Self("k"), PgbnError, ["Self: takes 0"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    check_refused(*REFUSED[name])


@pytest.mark.parametrize(
    ("value", "real"),
    [(1, True), (2.5, True), (np.int8(3), True), (np.float32(1), True), (True, False),
     (np.bool_(True), False), (1j, False), ("1", False), (None, False), ([1], False)],
)  # fmt: skip
def test_real_numbers(value: Any, real: bool) -> None:
    assert is_real(value) is real


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3.0), ([1, 2], [1.0, 2.0]), (np.array([True, False]), [1.0, 0.0]),
     (np.array([[1, 2]], np.uint8), [[1.0, 2.0]])],
)  # fmt: skip
def test_arrays(value: Any, expected: Any) -> None:
    found = as_array(value)
    assert found.dtype == np.float64
    assert found.tolist() == expected
    assert not found.flags.writeable


def test_arguments_by_position_get_their_names() -> None:
    found = by_position(Gamma, ("shape", "rate"), (1, 2), {"name": "g", "dims": "doc"})
    assert found == {"name": "g", "dims": "doc", "shape": 1, "rate": 2}


@pytest.mark.parametrize(
    ("value", "text"), [("a  b\nc", "'a b\\nc'"), (list(range(99)), "[0, 1, 2, 3"), (3, "3")]
)
def test_long_values_are_cut(value: Any, text: str) -> None:
    assert short(value).startswith(text)
    assert len(short(value)) <= 81
    assert short(value).endswith("…") == (len(repr(value)) > 80)


def test_what_is_not_known_is_named_before_what_is_missing() -> None:
    with pytest.raises(NetworkError, match=r"shap: is not a parameter\. Did you mean 'shape'\?"):
        Gamma("g", shap=1)
