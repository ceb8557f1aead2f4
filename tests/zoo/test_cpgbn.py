"""The convolutional network: windows, the joint distribution, its power, simulated data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn import zoo
from pgbn.engine.compile.views import View
from pgbn.testing import geweke
from tests.helpers.recovery import covered

TEXTS = [[0, 1, 2], [1, 0]]
SIZES = {"term": 3}


def network(texts: Any = TEXTS, phrase: int = 2) -> pg.Network:
    data = zoo.phrase_windows(texts, phrase, terms=3)
    net = zoo.cpgbn(2, phrase, 0.8, (3.0, 3.0), (4.0, 4.0))
    return net.with_indexes(window=data["window"], text=data["text"])


def test_windows_of_texts() -> None:
    """A phrase that begins at place p has its word s at the position p + s − (phrase − 1)."""
    data = zoo.phrase_windows(TEXTS, 2, terms=4)
    assert data["x"].toarray().tolist() == np.eye(4, dtype=int)[[0, 1, 2, 1, 0]].tolist()
    assert data["window"].tolist() == [[1, 0], [2, 1], [3, 2], [5, 4], [6, 5]]
    assert data["text"].tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert zoo.phrase_windows(TEXTS, 1)["x"].shape == (5, 3)


def test_the_rate_is_a_convolution() -> None:
    net, data = network(), zoo.phrase_windows(TEXTS, 2, terms=3)
    draws = net.sample({"x": data["x"]}, burn_in=1, draws=1, progress=False,
                       keep={"phi": net["phi"], "theta": net["theta"], "rate": net["x"].rate})  # fmt: skip
    phi, theta, rate = (draws[name][0, 0] for name in ("phi", "theta", "rate"))
    rate = rate.T  # of position × term
    for first, places in ((0, slice(0, 4)), (3, slice(4, 7))):
        whole = sum(
            np.convolve(theta[places, k], phi[k, :, v])[:, None] * np.eye(3)[v]
            for k in range(2)
            for v in range(3)
        )
        inside = whole[1:-1]  # all positions of the text: the ends of the sum lie outside it
        np.testing.assert_allclose(rate[first : first + len(inside)], inside, rtol=1e-12)


def test_counts_given_to_the_wrong_place_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each count goes to the place before its own."""
    right = View.counts

    def wrong(self: View, received: Any) -> Any:
        found = right(self, received)
        return np.roll(found, 1, axis=1) if self.looked == ("place",) else found

    monkeypatch.setattr(View, "counts", wrong)
    assert geweke(network(), SIZES, 3000, 6, seed=3).worst > 6


@pytest.mark.long
def test_intervals_cover_the_rates() -> None:
    net = network([[0, 1, 2, 0, 1], [1, 0, 2, 2]], 2)
    assert 80 <= covered(net, SIZES) <= 97


def test_phrases_are_found() -> None:
    """Texts of two phrases, "0 1 2" and "3 4 5", in any order: each topic is one of them."""
    rng = np.random.default_rng(0)
    phrases = np.array([[0, 1, 2], [3, 4, 5]])
    texts = [phrases[rng.integers(0, 2, 12)].reshape(-1) for _ in range(12)]
    data = zoo.phrase_windows(texts, 3)
    draws = zoo.cpgbn(2, 3).sample(data, burn_in=150, draws=30, seed=1, progress=False)
    phi = draws.mean("phi")
    words = {tuple(np.unique(topic.argmax(axis=1) // 3)) for topic in phi}
    assert words == {(0,), (1,)}, phi.round(2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: zoo.phrase_windows([]), "texts: give the numbers"),
        (lambda: zoo.phrase_windows(3), "texts: give the numbers"),
        (lambda: zoo.phrase_windows([[0], []]), "give the numbers, from 0 on"),
        (lambda: zoo.phrase_windows([[0, 1.5]]), r"texts: \[0, 1.5\]: give the numbers"),
        (lambda: zoo.phrase_windows([[0, float("nan")]]), "give the numbers"),
        (lambda: zoo.phrase_windows([[0], ["a"]]), "texts: a text has the dtype"),
        (lambda: zoo.phrase_windows([[2**40]]), "give the numbers"),
        (lambda: zoo.phrase_windows([[0, 1]], terms="a"), "terms='a'"),
        (lambda: zoo.phrase_windows([[0, 5]], terms=3), r"terms=3: a word has the number 5"),
        (lambda: zoo.cpgbn(2, phrase=0), "phrase=0"),
        (lambda: zoo.cpgbn(0), "width=0"),
    ],
)
def test_refusals(call: Any, words: str) -> None:
    with pytest.raises(pg.PgbnError, match=words):
        call()
