"""A label for every token."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.engine.first_layer.collapsed import Collapsed, TokenLabels


def test_chains_begin_with_labels_of_their_own() -> None:
    data = {"x": np.full((20, 6), 3)}
    init = {"phi1": np.full((3, 6), 1 / 6), "theta1": np.ones((20, 3))}
    one, two = (
        pg.zoo.pfa(3).chain(data, chain=number, init=init, layer1="collapsed", threads=1)
        for number in (0, 1)
    )
    assert (one.sampler.tokens.labels != two.sampler.tokens.labels).any()


def labels_of(data: np.ndarray, **init: np.ndarray) -> TokenLabels:
    sampler = pg.zoo.pfa(2).chain({"x": data}, init=init, layer1="collapsed").sampler
    assert isinstance(sampler, Collapsed)
    return sampler.tokens


def test_every_token_has_its_word_and_its_row() -> None:
    tokens = labels_of(np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]])).tokens
    assert tokens.word.tolist() == [0, 0, 2, 1, 1, 1]
    assert tokens.row_start.tolist() == [0, 3, 3, 6]


def test_labels_are_drawn_from_the_weights() -> None:
    """φ_vk θ_jk: 0.8 · 1 and 0.4 · 2 for the first word, 0.2 · 1 and 0.6 · 2 for the second."""
    x = np.tile([1, 1], (20_000, 1))
    phi, theta = np.array([[0.8, 0.2], [0.4, 0.6]]), np.tile([1.0, 2.0], (20_000, 1))
    found = labels_of(x, phi1=phi, theta1=theta)
    first, second = (found.labels[found.tokens.word == word] for word in (0, 1))
    assert abs((first == 0).mean() - 0.5) < 0.015
    assert abs((second == 0).mean() - 0.2 / 1.4) < 0.015


def test_labels_are_counted_by_document() -> None:
    found = labels_of(np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]]))
    found.restore({"labels": np.array([0, 1, 1, 0, 0, 0])})
    m = np.full((3, 2), 9, np.int32)
    found.count_into(m)
    assert m.tolist() == [[1, 2], [0, 0], [3, 0]]


def test_labels_of_topics_that_do_not_exist_are_refused() -> None:
    found = labels_of(np.array([[2, 1]]))
    for bad in ([0, 0, 2], [0, 0], [0.0, 0.0, 1.0]):
        with pytest.raises(pg.DataError, match="restore: 'labels'"):
            found.restore({"labels": np.array(bad)})


def test_many_tokens_are_counted_without_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers, with four bytes less for each token."""
    X = np.random.default_rng(3).poisson(0.5, (60, 20))
    found = []
    for many in (10**7, 1):
        monkeypatch.setattr("pgbn.engine.first_layer.collapsed._MANY", many)
        chain = pg.zoo.pgbn([8, 4]).chain({"x": X}, layer1="partial", threads=2).sweep(3)
        found.append((chain.counts["phi1"], "order" in vars(chain.sampler.tokens)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert [ordered for _, ordered in found] == [True, False]
