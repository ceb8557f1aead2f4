"""Topics by a word, by likeness, and across chains."""

from dataclasses import replace

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation.finding import (
    find_topics,
    keyword_labels,
    topic_similarity,
    topic_stability,
)
from pgbn.evaluation.projection import project, topic_weights
from tests.evaluation.test_layer_quality import three_topics

NAMES = tuple(f"word{v}" for v in range(20))


@pytest.fixture
def model():
    return replace(three_topics(), vocabulary=NAMES)


def test_a_word_is_found_in_the_topics_that_have_most_of_it(model):
    found = find_topics(model, "word2", n=2)
    joint = topic_weights(model, 1) * project(model, 1)[:, 2]
    expected = joint / joint.sum()
    assert [topic.index for topic, _ in found] == np.argsort(-expected)[:2].tolist()
    assert found[0][1] == pytest.approx(expected.max())
    both = find_topics(model, ["word18", "word19"], layer=2, n=1)
    assert both[0][0].layer == 2
    assert both[0][0].index == 1
    with pytest.raises(DataError, match=r"'word77' is no term of the model. Did you mean 'word7'"):
        find_topics(model, "word77")
    with pytest.raises(DataError, match="at least one word"):
        find_topics(model, [])
    with pytest.raises(DataError, match="layer=3"):
        find_topics(model, "word1", layer=3)


def test_case_matters_only_where_a_term_is_written_like_the_word(model):
    named = replace(model, vocabulary=("rain", "Rain", "US", "us", "Sun", *NAMES[5:]))

    def shares(words):
        return [(topic.index, share) for topic, share in find_topics(named, words)]

    def shares_of(columns):
        joint = topic_weights(model, 1) * project(model, 1)[:, columns].sum(axis=1)
        return pytest.approx(np.sort(joint / joint.sum())[::-1])

    assert shares("Sun") == shares("sun") == shares("SUN")
    assert [share for _, share in shares("US")] == shares_of([2])
    assert [share for _, share in shares("us")] == shares_of([3])
    assert [share for _, share in shares("RAIN")] == shares_of([0, 1])
    assert keyword_labels(named, {"weather": ["SUN"]}) == keyword_labels(named, {"weather": "Sun"})
    with pytest.raises(DataError, match="'moon' is no term"):
        find_topics(named, "moon")


def test_labels_by_keywords(model):
    labels = keyword_labels(
        model, {"begin": ["word0", "word1"], "end": "word19", "last": ["word18"]}
    )
    assert labels == {(1, 0): "begin", (1, 1): "end / last"}
    assert model.with_labels(labels).labels == labels
    with pytest.raises(DataError, match="keywords="):
        keyword_labels(model, ["word1"])


def test_similarity_is_one_for_equal_topics(model):
    found = topic_similarity(model)
    np.testing.assert_allclose(np.diag(found), 1.0)
    np.testing.assert_allclose(found, found.T)
    assert found[0, 2] > 0.5 > found[0, 1]


def test_stability_matches_topics_one_to_one(model):
    turned = model.with_topics(phi=(model.phi[0][[2, 0, 1]], model.phi[1][:, [2, 0, 1]]))
    np.testing.assert_allclose(topic_stability([model, turned, model]), 1.0)
    np.testing.assert_allclose(topic_stability([model, turned], layer=2), 1.0)
    fewer = model.with_topics(phi=(model.phi[0][:2],), r=np.ones(2), c=np.ones(1), weights=())
    assert (topic_stability([model, fewer])[0] > 0).sum() == 2  # the third has no partner
    with pytest.raises(DataError, match="at least two"):
        topic_stability([model])
    other = model.with_topics(phi=(np.full((2, 3), 1 / 3),), r=np.ones(2), c=np.ones(1), weights=(),
                    vocabulary=None)  # fmt: skip
    with pytest.raises(DataError, match=r"of \[3, 20\] terms"):
        topic_stability([model, other])
