"""The flat map of documents."""

import sys

import numpy as np
import pytest

from pgbn.report.embedding import (
    by_neighbours,
    document_positions,
    even_choice,
    principal_positions,
)


def two_groups(each: int) -> np.ndarray:
    g = np.random.default_rng(0)
    return np.concatenate([g.dirichlet([9, 1, 1], each), g.dirichlet([1, 1, 9], each)])


def neighbours_agree(theta: np.ndarray, position: np.ndarray) -> float:
    """How often the nearest document on the map is of the same half."""
    away = ((position[:, None] - position[None]) ** 2).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    half = np.arange(len(theta)) < len(theta) // 2
    return float((half[away.argmin(axis=1)] == half).mean())


def test_principal_components() -> None:
    """Documents of two groups fall apart on the map, in the same way whatever their order."""
    theta = two_groups(40)
    position = principal_positions(theta)
    assert (
        position[:40, 0].max() < position[40:, 0].min()
        or position[:40, 0].min() > position[40:, 0].max()
    )
    order = np.random.default_rng(1).permutation(80)
    np.testing.assert_allclose(principal_positions(theta[order]), position[order], atol=1e-9)
    assert principal_positions(np.ones((5, 1))).tolist() == [[0.0, 0.0]] * 5


def test_neighbours_by_topics_are_neighbours_on_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    theta = two_groups(40)
    position = document_positions(theta, seed=3)
    assert neighbours_agree(theta, position) > 0.95
    assert np.array_equal(position, document_positions(theta, seed=3))
    monkeypatch.setattr("pgbn.report.embedding._PLACED", 60)  # a part of them; others lie between
    theta = two_groups(150)
    assert neighbours_agree(theta, document_positions(theta)) > 0.95
    same = document_positions(np.full((20, 4), 0.25))  # all of one mixture
    assert np.isfinite(same).all()
    assert document_positions(np.ones((5, 1))).tolist() == [[0.0, 0.0]] * 5


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    theta = two_groups(40)
    assert not by_neighbours(theta)
    assert np.array_equal(document_positions(theta), principal_positions(theta))


def test_even_choice() -> None:
    assert even_choice(5, 9).tolist() == [0, 1, 2, 3, 4]
    assert even_choice(100, 3).tolist() == [0, 50, 99]
