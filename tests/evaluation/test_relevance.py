"""Words by relevance: λ ln p + (1 − λ) ln(p / corpus)."""

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation.projection import draw_of, rank_words, relevance_of, with_floor

COMMON = np.array([0.09, 0.06, 0.05, 0.02, *[0.01] * 78])
FLOOR = np.maximum(COMMON, 0.06)  # a tenth of all tokens is reached at the second word
PSI = np.zeros((2, 82))
PSI[:, :4] = [[0.5, 0.1, 0.2, 0.2], [0.4, 0.59, 0.01, 0.0]]


def test_probability_alone_where_relevance_is_one():
    np.testing.assert_array_equal(rank_words(PSI, COMMON, 1.0, 4), [[0, 2, 3, 1], [1, 0, 2, 3]])


@pytest.mark.parametrize("lam", [0.0, 0.3, 0.6])
def test_the_formula(lam):
    psi, floor = PSI[0, :4], FLOOR[:4]
    score = lam * np.log(psi) + (1 - lam) * np.log(psi / floor)
    found = rank_words(PSI, COMMON, lam, 4)[0]
    np.testing.assert_array_equal(found, np.argsort(-score, kind="stable"))


def test_rare_words_count_as_common_as_the_word_where_a_tenth_is_reached():
    np.testing.assert_array_equal(with_floor(COMMON), FLOOR)
    np.testing.assert_array_equal(with_floor(COMMON[::-1]), FLOOR[::-1])
    np.testing.assert_array_equal(with_floor(np.zeros(3)), np.zeros(3))
    # Words 2 and 3 are equally likely here, and word 3 is two and a half times as rare: that is no merit.
    assert rank_words(PSI[:1], COMMON, 0.0, 2).tolist() == [[0, 2]]


def test_a_word_that_the_topic_hardly_has_comes_last_however_rare():
    psi, common = np.array([[0.9, 0.1 - 1e-7, 1e-7, 0.0]]), np.array([0.6, 0.4 - 1e-9, 1e-9, 0.0])
    assert rank_words(psi, common, 0.0, 4).tolist() == [[0, 1, 2, 3]]
    assert rank_words(psi, common, 0.0, 2).shape == (1, 2)


def test_each_layer_has_its_default_and_wrong_ones_are_refused():
    assert [relevance_of(t) for t in (1, 2, 5)] == [1.0, 0.3, 0.3]
    assert relevance_of(1, 0.2) == 0.2
    assert relevance_of(3, 1) == 1.0
    for wrong in (-0.1, 1.5, "much", float("nan"), [0.5]):
        with pytest.raises(DataError, match=r"relevance=.*must be a number from 0 to 1"):
            relevance_of(2, wrong)


def test_the_floor_falls_as_texts_get_longer():
    common = np.array([0.2, 0.15, 0.1, 0.08, 0.07, *[0.01] * 40])
    # A tenth of all tokens is reached at the first word, a half at the fourth.
    for length, floor in ((0.0, 0.2), (0.05, 0.2), (0.16, 0.125), (0.2, 0.1), (100.0, 0.08),
                          (np.inf, 0.2), (np.nan, 0.2)):  # fmt: skip
        np.testing.assert_allclose(with_floor(common, length), np.maximum(common, floor))
    psi = np.zeros((1, 45))
    psi[0, [0, 3]] = [0.6, 0.35]
    assert rank_words(psi, common, 0.0, 1).tolist() == [[0]], "equally common"
    assert rank_words(psi, common, 0.0, 1, 100.0).tolist() == [[3]], "0.35 / 0.08 above 0.6 / 0.2"


def test_a_topic_of_a_few_tokens_is_read_by_its_probable_words():
    """(n ψ / p + s) / (n + s) in place of ψ / p: the same for large n, 1 for small."""
    psi, common = np.zeros((1, 45)), np.array([0.2, 0.15, 0.1, 0.08, 0.07, *[0.01] * 40])
    psi[0, [0, 3]] = [0.6, 0.35]  # 3 and 4.4 times as often as in the corpus
    for tokens, first in ((1e9, 3), (4000.0, 3), (1.0, 0)):
        found = rank_words(psi, common, 0.2, 1, 100.0, np.array([tokens]))
        assert found.tolist() == [[first]], tokens
    score = 0.2 * np.log(psi[0, [0, 3]]) + 0.8 * np.log(
        (100 * np.array([3.0, 4.375]) + 2000) / 2100
    )
    assert score[0] > score[1], "so with 100 tokens the frequent word leads"
    assert rank_words(psi, common, 0.2, 1, 100.0, np.array([100.0])).tolist() == [[0]]
    assert draw_of(None) == 0.0
    np.testing.assert_allclose(draw_of(np.array([2000.0, 500.0])), [1.0, 4.0])
    assert np.isfinite(draw_of(np.zeros(1))).all()
