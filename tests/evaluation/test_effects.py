"""Designs of formulas, and the method of composition."""

from datetime import date, timedelta

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation.effects import EACH, compose, design_matrix
from tests.evaluation.test_shares import Boxed

STEP = np.arange(90) % 10 - 4.5
YEAR = STEP + 2004.5
NANOSECONDS = 1.6e18 + 8.64e13 * np.arange(90)


def effects(draws, design, names, seed=0):
    """The mean, sd and interval of the effects, (4, terms, topics)."""
    rows = compose(draws, design, names, seed=seed)
    assert [row[:2] for row in rows] == [
        (name, f"layer1_topic{k}") for name in names for k in range(draws.shape[2])
    ]
    return np.array([row[2:] for row in rows]).T.reshape(4, len(names), -1)


@pytest.mark.parametrize("more", [
    [np.ones(90)], [np.full(90, 0.1)], [np.zeros(90)], [YEAR, YEAR + 1], [NANOSECONDS, NANOSECONDS / 1e9],
])  # fmt: skip
def test_columns_that_cannot_be_told_apart(more):
    design = np.column_stack([np.ones(90), *more])
    with pytest.raises(DataError, match="cannot be separated"):
        compose(np.zeros((2, 90, 1)), design, [f"z{n}" for n in range(design.shape[1])])


@pytest.mark.parametrize(("columns", "alike"), [
    ([YEAR, YEAR**2], [STEP, STEP**2]),
    ([NANOSECONDS], [np.arange(90.0)]),
])  # fmt: skip
def test_columns_far_from_zero(columns, alike):
    """The last effect is that of columns near zero with the same span."""
    draws = np.random.default_rng(0).dirichlet(np.ones(3), (4, 90))
    far = np.column_stack([np.ones(90), *columns])
    near = np.column_stack([np.ones(90), *alike])
    names = [f"z{n}" for n in range(far.shape[1])]
    found, expected = effects(draws, far, names), effects(draws, near, names)
    unit = np.ptp(columns[0]) / np.ptp(alike[0])
    exact = np.linalg.lstsq(near, draws.mean(axis=0), rcond=None)[0]
    np.testing.assert_allclose(found[0, -1] * unit, exact[-1], atol=0.5 * expected[1, -1].max())
    np.testing.assert_allclose(found[1, -1] * unit, expected[1, -1], rtol=0.3)


def test_ordinary_columns_have_the_effects_of_the_normal_equations():
    rng = np.random.default_rng(0)
    draws = rng.dirichlet(np.ones(3), (4, 90))
    design = np.column_stack([np.ones(90), YEAR, rng.integers(0, 2, 90), rng.normal(size=90)])
    inverse, noise = np.linalg.inv(design.T @ design), np.random.default_rng(5)
    every = []
    for share in draws:
        beta = inverse @ design.T @ share
        sigma = np.sqrt(((share - design @ beta) ** 2).sum(axis=0) / 86)
        drawn = noise.standard_normal((EACH, 4, 3))
        every.append(beta + np.linalg.cholesky(inverse) @ drawn * sigma)
    found = effects(draws, design, list("abcd"), seed=5)
    np.testing.assert_allclose(found[0], np.concatenate(every).mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(found[1], np.concatenate(every).std(axis=0), rtol=1e-7)
    ends = np.quantile(np.concatenate(every), [0.05, 0.95], axis=0)
    np.testing.assert_allclose(found[2:], ends, rtol=1e-6)
    with pytest.raises(DataError, match="2 documents for 2 effects"):
        compose(np.zeros((2, 2, 1)), np.eye(2), ["a", "b"])


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


@pytest.mark.parametrize(("formula", "columns", "told"), [
    ("~ yeer", COLUMNS, "no column 'yeer'. Did you mean 'year'"),
    ("~ log(year)", COLUMNS, r"'log\(year\)': give names of columns"),
    ("", COLUMNS, "formula=''"),
    (3, COLUMNS, "formula=3"),
    ("~ year", {}, "there are no columns"),
    ("~ year", {"year": [1.0, np.nan]}, "year has missing values in 1 of 2 rows"),
    ("~ kind", {"kind": ["a", "a"]}, "kind has one value only"),
    ("~ year", {"year": [1.0, np.inf]}, "year is inf in row 1; give finite numbers"),
    ("~ kind", {"year": [1, 2], "kind": ["a", "b", "a"]}, "'kind' has 3 entries, but 'year' 2"),
    ("~ year", {"year": np.ma.masked_equal([1, 2, 3], 2)}, "year: masked entries"),
])  # fmt: skip
def test_wrong_formulas_and_columns(formula, columns, told):
    with pytest.raises(DataError, match=told):
        design_matrix(formula, columns)


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


@pytest.mark.parametrize("package", ["polars", "pyarrow", "numpy"])
def test_columns_of_other_tables(package):
    """A data frame of polars, a table of Arrow and numbers among objects give the same design."""
    other = pytest.importorskip(package)
    columns = {"year": [1.0, 2.0, 4.0], "kind": ["a", "b", "a"]}
    make = {"polars": "DataFrame", "pyarrow": "table"}.get(package)
    table = getattr(other, make)(columns) if make else {
        name: np.array(column, object) for name, column in columns.items()}  # fmt: skip
    found, expected = design_matrix("~ year:kind", table), design_matrix("~ year:kind", columns)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1]
