"""The method of composition."""

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation.effects import compose, design_matrix

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
    with pytest.raises(DataError, match="year has missing values"):
        design_matrix("~ year", {"year": [1.0, np.nan]})
    with pytest.raises(DataError, match="kind has one value only"):
        design_matrix("~ kind", {"kind": ["a", "a"]})
    with pytest.raises(DataError, match="cannot be told apart"):
        compose(np.zeros((2, 9, 1)), np.ones((9, 2)), ["a", "b"])
    with pytest.raises(DataError, match="2 documents for 2 effects"):
        compose(np.zeros((2, 2, 1)), np.eye(2), ["a", "b"])


def test_of_shares_that_are_known_it_is_the_regression():
    rng = np.random.default_rng(0)
    z = np.column_stack([np.ones(200), rng.normal(size=200)])
    share = z @ np.array([[0.5], [0.1]]) + rng.normal(scale=0.2, size=(200, 1))
    found = compose(np.repeat(share[None], 400, axis=0), z, ["one", "slope"])
    beta, rest = np.linalg.lstsq(z, share, rcond=None)[:2]
    error = np.sqrt(rest / 198 * np.diag(np.linalg.inv(z.T @ z)))
    np.testing.assert_allclose(found.mean, beta, atol=4 * error.max() / np.sqrt(10_000))
    np.testing.assert_allclose(found.sd[:, 0], error, rtol=0.03)
    np.testing.assert_allclose(found.high - found.low, 2 * 1.645 * found.sd, rtol=0.05)


def test_the_spread_of_the_shares_adds_to_that_of_the_regression():
    rng = np.random.default_rng(1)
    z = np.column_stack([np.ones(100), np.arange(100) % 2])
    base = rng.normal(0.5, 0.05, (100, 1))
    shift = rng.normal(0, 0.1, 500)  # of the second group, in each draw
    draws = base + z[:, 1:] * shift[:, None, None]
    found, sure = (
        compose(draws, z, ["a", "b"]),
        compose(np.repeat(base[None], 500, 0), z, ["a", "b"]),
    )
    assert found.sd[1, 0] ** 2 == pytest.approx(sure.sd[1, 0] ** 2 + shift.var(), rel=0.05)


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
def test_columns_of_other_tables(package):
    """A data frame of polars and a table of Arrow give the design of a dict."""
    other = pytest.importorskip(package)
    columns = {"year": [1.0, 2.0, 4.0], "kind": ["a", "b", "a"]}
    table = other.DataFrame(columns) if package == "polars" else other.table(columns)
    found, expected = design_matrix("~ year:kind", table), design_matrix("~ year:kind", columns)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1]
