"""Views through categories: what is taken, what is given back, and the law of the sampler."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pgbn.engine.compile.layout import Labelled
from pgbn.engine.compile.program import View
from pgbn.network.terms import Lookup
from pgbn.testing import geweke
from tests.helpers.categories import AUTHORS, authors

SIZES = {"doc": 4, "writer": 3, "year": 2, "topic": 5}
INDEXES = {"author": np.array([AUTHORS]), "when": np.array([[1, 0, 1, 1]])}
AUTHOR, WHEN = Lookup("author", "writer", ("doc",)), Lookup("when", "year", ("doc",))


def one_hot() -> Any:
    return np.eye(3)[AUTHORS]


@pytest.mark.parametrize("stored", [("writer", "topic"), ("topic", "writer")])
def test_a_view_is_a_product_with_a_one_hot_matrix(stored: tuple[str, ...]) -> None:
    view = View((AUTHOR,), stored, SIZES, INDEXES)
    assert view.dims == ("doc", "topic")
    array = np.random.default_rng(0).random((2, *(SIZES[dim] for dim in stored)))
    whole = array if stored[0] == "writer" else array.transpose(0, 2, 1)
    assert np.array_equal(view.take(array), one_hot() @ whole)
    received = np.random.default_rng(1).integers(0, 9, (2, 4, 5))
    back = one_hot().T @ received
    expected = back if stored[0] == "writer" else back.transpose(0, 2, 1)
    assert np.array_equal(view.counts(received), expected)


def test_what_lacks_a_dim_is_heard_by_every_row() -> None:
    view = View((AUTHOR,), ("writer", "topic"), SIZES, INDEXES)
    number = view.received(Labelled(lambda: np.full(1, 2.0), (), 1, 2.0))
    assert number.dims == ("writer",)
    assert number.get().tolist() == [[4.0, 0.0, 4.0]]
    by_topic = np.arange(5.0)[None]
    received = view.received(Labelled(lambda: by_topic, ("topic",), 1))
    assert received.dims == ("writer", "topic")
    assert np.array_equal(received.get()[0], np.outer([2, 0, 2], np.arange(5.0)))


def test_two_dims_are_read_together() -> None:
    view = View((AUTHOR, WHEN), ("year", "topic", "writer"), SIZES, INDEXES)
    assert view.dims == ("doc", "topic")
    array = np.random.default_rng(0).random((1, 2, 5, 3))
    assert np.array_equal(view.take(array)[0], array[0, [1, 0, 1, 1], :, AUTHORS])
    received = np.random.default_rng(1).integers(0, 9, (1, 4, 5))
    expected = np.zeros((2, 5, 3), int)
    for doc in range(4):
        expected[INDEXES["when"][0, doc], :, AUTHORS[doc]] += received[0, doc]
    assert np.array_equal(view.counts(received)[0], expected)


def test_replicates_may_have_categories_of_their_own() -> None:
    own = np.array([[2, 0, 0, 2], [1, 1, 1, 0]])
    view = View((AUTHOR,), ("writer", "topic"), SIZES, {"author": own})
    shared = np.random.default_rng(0).random((1, 3, 5))
    assert np.array_equal(view.take(shared), shared[0][own])
    each = np.random.default_rng(0).random((2, 3, 5))
    assert np.array_equal(view.take(each), np.stack([each[0][own[0]], each[1][own[1]]]))


def test_an_exposure_that_is_not_added_up_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each author with documents hears as if of one: the mistake of a mean for a sum."""
    right = View.received

    def wrong(self: View, labelled: Labelled) -> Labelled:
        found, times = right(self, labelled), np.bincount(self.place[0], minlength=3)
        scale = 1.0 / np.maximum(times, 1)
        return Labelled(lambda: (found.get().T * scale[:, None]).T, found.dims, found.replicates)

    monkeypatch.setattr(View, "received", wrong)
    assert geweke(authors(), replicates=3000, sweeps=6).worst > 6
