"""Designs of formulas."""

from datetime import date, timedelta

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation.effects import design_matrix
from tests.evaluation.test_entries import Boxed

COLUMNS = {"year": [1, 2, 3, 4], "kind": ["b", "a", "b", "c"], "treated": [True, False, True, True]}


def test_the_design_codes_texts_against_the_first_value():
    design, terms = design_matrix("~ year + kind + treated", COLUMNS)
    assert terms == ["(intercept)", "year", "kind[b]", "kind[c]", "treated[True]"]
    np.testing.assert_array_equal(design[:, 1], [1, 2, 3, 4])
    np.testing.assert_array_equal(design[:, 2], [1, 0, 1, 0])
    np.testing.assert_array_equal(design[:, 4], [1, 0, 1, 1])
    design, terms = design_matrix("1 + year:kind", COLUMNS)
    assert terms == ["(intercept)", "year:kind[b]", "year:kind[c]"]
    np.testing.assert_array_equal(design[:, 1], [1, 0, 3, 0])


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("~ yeer", "no column 'yeer'. Did you mean 'year'"),
        ("~ log(year)", r"'log\(year\)': give names of columns"),
        ("", "formula=''"),
        (3, "formula=3"),
    ],
)
def test_wrong_formulas(formula, told):
    with pytest.raises(DataError, match=told):
        design_matrix(formula, COLUMNS)


def test_wrong_columns():
    with pytest.raises(DataError, match="there are no columns"):
        design_matrix("~ year", {})
    with pytest.raises(DataError, match="year has missing values in 1 of 2 rows"):
        design_matrix("~ year", {"year": [1.0, np.nan]})
    with pytest.raises(DataError, match="kind has one value only"):
        design_matrix("~ kind", {"kind": ["a", "a"]})
    with pytest.raises(DataError, match="year is inf in row 1; give finite numbers"):
        design_matrix("~ year", {"year": [1.0, np.inf]})
    with pytest.raises(DataError, match="'kind' has 3 entries, but 'year' 2"):
        design_matrix("~ kind", {"year": [1, 2], "kind": ["a", "b", "a"]})
    with pytest.raises(DataError, match="year: masked entries"):
        design_matrix("~ year", {"year": np.ma.masked_equal([1, 2, 3], 2)})


class Table(dict):
    """A table as Arrow has it."""

    @property
    def column_names(self):
        return list(self)


MISSING = (
    r"kind has missing values in 2 of 4 rows, the first of them row 1; drop these rows .* fill"
)


@pytest.mark.parametrize("kind", [
    ["a", None, "b", None],
    [True, None, False, None],
    [1, None, 2, None],
    np.array(["a", np.nan, "b", np.nan], object),
    [1.0, np.nan, 2.0, np.nan],
])  # fmt: skip
def test_missing_values_are_no_category(kind):
    for columns in ({"kind": kind}, Table(kind=Boxed(kind))):
        with pytest.raises(DataError, match=MISSING):
            design_matrix("~ kind", columns)


@pytest.mark.parametrize("dtype", ["string", "str", "category", "Int64", "boolean", object])
def test_missing_values_of_pandas(dtype):
    pandas = pytest.importorskip("pandas")
    known = {"Int64": (1, 2), "boolean": (True, False)}.get(dtype, ("a", "b"))
    column = pandas.Series([known[0], None, known[1], None], dtype=dtype)
    with pytest.raises(DataError, match=MISSING):
        design_matrix("~ kind", pandas.DataFrame({"kind": column}))


def test_categories_have_their_own_order():
    pandas = pytest.importorskip("pandas")
    given = ["low", "high", "middle", "low"]
    order = ["low", "middle", "never", "high"]
    kind = pandas.Categorical(given, order, ordered=True)
    for columns in (pandas.DataFrame({"kind": kind}), {"kind": kind}):
        design, terms = design_matrix("~ kind", columns)
        assert terms == ["(intercept)", "kind[middle]", "kind[high]"]
        np.testing.assert_array_equal(design[:, 2], [0, 1, 0, 0])
    assert design_matrix("~ kind", {"kind": given})[1][1:] == ["kind[low]", "kind[middle]"]
    numbered = pandas.Series([2, 10, 2, 10], dtype="category")  # categories are no numbers
    assert design_matrix("~ k", {"k": numbered})[1] == ["(intercept)", "k[10]"]


def test_numbers_among_objects_are_numbers():
    years = np.array([2001, 2003, 2002], object)
    design, terms = design_matrix("~ year", {"year": years})
    assert terms == ["(intercept)", "year"]
    np.testing.assert_array_equal(design[:, 1], [2001, 2003, 2002])


@pytest.mark.parametrize("dates", [
    np.array(["2001-01-01", "2002-01-01"], "datetime64[ns]"),
    np.array([1, 2], "timedelta64[D]"),
    [date(2001, 1, 1), date(2002, 1, 1)],
    [timedelta(1), timedelta(2)],
])  # fmt: skip
def test_dates_are_refused_with_what_to_do(dates):
    with pytest.raises(
        DataError, match=r"when holds dates or times; .* the year .*topics_over_time"
    ):
        design_matrix("~ when", {"when": dates})


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
def test_columns_of_other_tables(package):
    """A data frame of polars and a table of Arrow give the design of a dict."""
    other = pytest.importorskip(package)
    columns = {"year": [1.0, 2.0, 4.0], "kind": ["a", "b", "a"]}
    table = other.DataFrame(columns) if package == "polars" else other.table(columns)
    found, expected = design_matrix("~ year:kind", table), design_matrix("~ year:kind", columns)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1]
