"""The method of composition."""

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation.effects import EACH, compose, design_matrix

STEP = np.arange(90) % 10 - 4.5
YEAR = STEP + 2004.5
NANOSECONDS = 1.6e18 + 8.64e13 * np.arange(90)


def test_wrong_designs():
    with pytest.raises(DataError, match="2 documents for 2 effects"):
        compose(np.zeros((2, 2, 1)), np.eye(2), ["a", "b"])


@pytest.mark.parametrize("more", [
    [np.ones(90)], [np.full(90, 0.1)], [np.zeros(90)], [YEAR, YEAR + 1], [NANOSECONDS, NANOSECONDS / 1e9],
])  # fmt: skip
def test_columns_that_cannot_be_told_apart(more):
    design = np.column_stack([np.ones(90), *more])
    with pytest.raises(DataError, match="cannot be told apart"):
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
    found, expected = compose(draws, far, names), compose(draws, near, names)
    unit = np.ptp(columns[0]) / np.ptp(alike[0])
    exact = np.linalg.lstsq(near, draws.mean(axis=0), rcond=None)[0]
    np.testing.assert_allclose(found.mean[-1] * unit, exact[-1], atol=0.5 * expected.sd[-1].max())
    np.testing.assert_allclose(found.sd[-1] * unit, expected.sd[-1], rtol=0.3)


@pytest.mark.parametrize("formula", ["~ year + square", "~ year + year:year"])
def test_years_beside_their_squares(formula):
    year = 2000 + np.arange(400) % 10
    design, terms = design_matrix(formula, {"year": year, "square": year**2})
    draws = np.random.default_rng(0).dirichlet(np.ones(3), (3, 400))
    found = compose(draws, design, terms)
    fit = np.stack([draws[:, year == each].mean(axis=(0, 1)) for each in range(2000, 2010)])
    assert np.abs(design[:10] @ found.mean - fit).max() < 0.1
    assert np.isfinite(found.sd).all()


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
    found = compose(draws, design, list("abcd"), seed=5)
    np.testing.assert_allclose(found.mean, np.concatenate(every).mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(found.sd, np.concatenate(every).std(axis=0), rtol=1e-7)


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
