"""Rows in shuffled order: each once an epoch, by the seed alone, from any minibatch on."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.training.minibatch import train
from pgbn.training.minibatch.train import minibatches, shuffled

ROWS = 53


@pytest.fixture(params=["memory", "folder"])
def corpus(request, tmp_path, monkeypatch) -> pgbn.Corpus:
    X = sp.csr_array(np.arange(1, ROWS + 1)[:, None])  # a row tells its number
    if request.param == "memory":
        return pgbn.Corpus(X, None, [])
    monkeypatch.setattr(train, "TOGETHER", 3)
    return pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=5)


def numbers(batches) -> np.ndarray:
    return np.concatenate([batch.toarray()[:, 0] for batch in batches])


def test_an_epoch_has_every_row_once_and_the_next_another_order(corpus) -> None:
    found = numbers(islice(minibatches(corpus, 10, seed=1), 11))[: 2 * ROWS]
    first, second = found[:ROWS], found[ROWS:]
    assert sorted(first) == sorted(second) == list(range(1, ROWS + 1))
    assert (first != second).sum() > ROWS / 2
    assert (first != np.arange(1, ROWS + 1)).sum() > ROWS / 2
    other = numbers(islice(minibatches(corpus, 10, seed=2), 6))[:ROWS]
    assert (first != other).any()


@pytest.mark.parametrize("start", [0, 1, 5, 9, 40])
def test_minibatches_from_any_one_on(corpus, start) -> None:
    whole = numbers(islice(minibatches(corpus, 7, seed=3), start + 12))
    part = numbers(islice(minibatches(corpus, 7, seed=3, start=start), 12))
    np.testing.assert_array_equal(part, whole[7 * start :])


def test_orders_are_uniform() -> None:
    """Each of the 6 orders of 3 about as often: χ² with 5 degrees of freedom."""
    found = [tuple(shuffled(3, 9, number)) for number in range(6000)]
    counts = np.array([found.count(each) for each in set(found)])
    assert counts.size == 6
    assert ((counts - 1000) ** 2 / 1000).sum() < 25  # P < 1.4e-4
