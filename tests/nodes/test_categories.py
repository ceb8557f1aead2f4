"""Categories, and what is read through them: declared, printed, refused."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import Categories, Index, NetworkError
from pgbn.nodes.index import as_categories
from tests.helpers.refusals import Case, check_refused
from tests.helpers.small_networks import gamma

THETA = gamma("theta", dims=("writer", "topic"))
AUTHOR = Categories("author", dims="doc", of="writer")

REFUSED: dict[str, Case] = {
    "no name": (lambda: Categories("", dims="doc", of="a"), NetworkError, ["not a name"]),
    "no dims": (lambda: Categories("g", dims=(), of="a"), NetworkError, ["dims=()"]),
    "a dim twice": (
        lambda: Categories("g", dims=("d", "d"), of="a"),
        NetworkError,
        ["names a dim twice"],
    ),
    "of nothing": (lambda: Categories("g", dims="d", of=""), NetworkError, ["of=''"]),
    "labels": (
        lambda: Categories("g", dims="d", of="a", values=["x", "y"]),
        NetworkError,
        ["g:", "integers from 0 on", "np.unique", "cat.codes"],
    ),
    "fractions": (
        lambda: Categories("g", dims="d", of="a", values=[0.5]),
        NetworkError,
        ["no numbers of categories"],
    ),
    "missing label": (
        lambda: Categories("g", dims="d", of="a", values=[0, -1]),
        NetworkError,
        ["has the number -1"],
    ),
    "so large that it would wrap": (
        lambda: Categories("g", dims="d", of="a", values=np.array([0, 2**64 - 1], np.uint64)),
        NetworkError,
        ["has the number 1.84467e+19"],
    ),
    "a float that is no index": (
        lambda: Categories("g", dims="d", of="a", values=[0.0, 1e300]),
        NetworkError,
        ["has the number 1e+300"],
    ),
    "axes": (
        lambda: Categories("g", dims="d", of="a", values=[[0], [1]]),
        NetworkError,
        ["2 axes", "('d',)"],
    ),
    "masked": (
        lambda: Categories("g", dims="d", of="a", values=np.ma.masked_equal([0, 1], 0)),
        NetworkError,
        ["masked"],
    ),
    "an array in brackets": (
        lambda: THETA[[0, 1]],
        NetworkError,
        ["theta[[0, 1]]", "pgbn.Categories('author', dims='doc', of='writer')", "values="],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    check_refused(*REFUSED[case])


def test_an_index_is_printed_as_it_is_written() -> None:
    other = Categories("year", dims="doc", of="topic")
    assert isinstance(THETA[AUTHOR], Index)
    assert str(THETA[AUTHOR]) == "theta[author]"
    assert str(THETA[AUTHOR, other]) == "theta[author, year]"
    assert str((THETA + THETA)[AUTHOR]) == "(theta + theta)[author]"


def test_numbers_of_categories_cannot_be_changed() -> None:
    found = as_categories("g", [0.0, 2.0], ("d",))
    assert found.dtype == np.int64
    assert found.tolist() == [0, 2]
    assert not found.flags.writeable
