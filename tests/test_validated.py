"""Arguments of public functions are checked by the types in their signatures."""

from typing import Annotated, Any

import pytest

from pgbn import checks
from pgbn.checks import validated
from pgbn.errors import DataError


def check_even(value: Any, name: str) -> int:
    if value % 2:
        raise DataError(f"{name}={value!r}: give an even number")
    return int(value)


Even = Annotated[int, check_even]


@validated
def add(first: Even, second: Even = 2, *, third: Even | None = None, other: str = "x") -> Any:
    """Adds."""
    return first, second, third, other


def test_checks_return_the_value_to_use():
    assert add(4.0) == (4, 2, None, "x")
    assert isinstance(add(4.0)[0], int)


def test_none_passes_where_the_type_allows_it():
    assert add(4, third=None)[2] is None
    assert add(4, third=6.0)[2] == 6


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((1,), {}, "first=1: give an even number"),
        ((2, 3), {}, "second=3"),
        ((2,), {"third": 5}, "third=5"),
    ],
)
def test_errors_name_the_argument(arguments, options, message):
    with pytest.raises(DataError, match=message):
        add(*arguments, **options)


def test_a_default_is_checked_too():
    @validated
    def wrong(value: Even = 3) -> int:
        return value

    with pytest.raises(DataError, match="value=3"):
        wrong()


def test_calls_fail_as_those_of_the_function_and_its_signature_stays():
    with pytest.raises(TypeError, match="the argument 'first' is missing; write"):
        add()
    with pytest.raises(TypeError, match=r"add has no argument 'thrid'\. Did you mean 'third'"):
        add(2, thrid=3)
    assert add.__doc__ == "Adds."
    assert add.__name__ == "add"


def test_a_type_that_is_not_imported_carries_no_check():
    def half(value: "Even", other: "Unknown") -> Any:  # type: ignore[name-defined]  # noqa: F821
        return value, other

    assert validated(half)(4.0, "x") == (4, "x")
    with pytest.raises(DataError, match="value=3"):
        validated(half)(3, "x")


@pytest.mark.parametrize(
    ("kind", "good", "bad", "message"),
    [
        (checks.Seed, 2**64 - 1, -1, "must be an integer from 0 to"),
        (checks.Sweeps, 0, -1, "at least 0"),
        (checks.Count, 1, 0, "at least 1"),
        (checks.Replicates, 2, 1, "at least 2"),
        (checks.Flag, True, "yes", "give True or False"),
        (checks.Sizes, {"doc": 2}, 3, "give a dict"),
    ],
)
def test_common_types(kind, good, bad, message):
    check = kind.__metadata__[0]
    assert check(good, "argument") == good
    with pytest.raises(DataError, match=f"argument=.*{message}"):
        check(bad, "argument")
