"""Columns of the documents, and shares of topics in documents and groups of them."""

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation.shares import group_shares, interval_of, is_missing, plain_list, share_draws
from pgbn.training.new_rows import infer
from tests.helpers.documents import TERMS, model_of


class Boxed(list):
    """A column as Arrow has it: what comes out of it one by one is in boxes."""

    def __iter__(self):
        return iter([object()] * len(self))

    def to_pylist(self):
        return [self[j] for j in range(len(self))]


def test_a_column_of_arrow_is_taken_out_of_its_boxes():
    assert plain_list(Boxed([1, None, "a"])) == [1, None, "a"]
    assert plain_list(np.array([1, 2])) == [1, 2]
    for wrong in (3, None, "2019"):
        with pytest.raises(DataError, match=r"classes=.*give one entry for each document"):
            plain_list(wrong, "classes")


@pytest.mark.parametrize("entry", [None, float("nan"), np.nan, np.datetime64("NaT")])
def test_what_is_missing(entry):
    assert is_missing(entry)
    for there in (0, "", "nan", False, np.array([1.0, np.nan])):
        assert not is_missing(there)


@pytest.fixture(scope="module")
def model():
    return model_of(widths=(4, 3))


X = np.random.default_rng(0).poisson(1.5, (12, TERMS)) + np.eye(12, TERMS, dtype=int)


def test_draws_have_the_mean_and_spread_of_the_posterior(model):
    draws = share_draws(model, X, 2, 150, burn_in=10, threads=1)
    assert draws.shape == (150, 12, 3)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)
    assert not (share_draws(model, X, 2, 2, burn_in=10, seed=1, threads=1) == draws[:2]).any()
    exact = infer(model, X, layers=2, burn_in=50, draws=4000, threads=1)
    error = exact.proportions_sd["theta2"] / np.sqrt(150)
    z = (draws.mean(axis=0) - exact.proportions["theta2"]) / np.maximum(error, 1e-9)
    assert np.abs(z).max() < 4
    np.testing.assert_allclose(
        draws.std(axis=0).mean(), exact.proportions_sd["theta2"].mean(), rtol=0.1
    )
    np.testing.assert_array_equal(draws[:3], share_draws(model, X, 2, 3, burn_in=10, threads=1))


def test_groups_have_the_means_of_their_documents():
    rng = np.random.default_rng(0)
    draws = rng.dirichlet(np.ones(3), (50, 5))
    rows = group_shares(draws, ["b", "a", None, "b", float("nan")], 2, 0.9, "y")
    assert [row[:3] for row in rows] == [
        (group, size, f"layer2_topic{k}") for group, size in (("a", 1), ("b", 2)) for k in range(3)
    ]
    share, low, high = np.array([row[3:] for row in rows]).T.reshape(3, 2, 3)
    of_a = draws[:, [1]].mean(axis=(0, 1))
    np.testing.assert_allclose(share, [of_a, draws[:, [0, 3]].mean(axis=(0, 1))])
    of_b = draws[:, [0, 3]].mean(axis=1)
    np.testing.assert_allclose(low[1], np.quantile(of_b, 0.05, axis=0))
    np.testing.assert_allclose(high[1], np.quantile(of_b, 0.95, axis=0))
    with pytest.raises(DataError, match="y: all are missing"):
        group_shares(draws, [None] * 5, 1, 0.9, "y")


@pytest.mark.parametrize("wrong", [0, 1, 1.5, "a", None])
def test_intervals(wrong):
    assert interval_of(0.9) == pytest.approx((0.05, 0.95))
    with pytest.raises(DataError, match="interval="):
        interval_of(wrong)
