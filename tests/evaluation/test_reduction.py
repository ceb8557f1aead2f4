"""Which topics are made one."""

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation.projection import groups_for
from pgbn.training.merging import merge_topics
from tests.evaluation.test_layer_quality import three_topics


def test_twins_are_merged_first():
    model = three_topics()
    assert groups_for(model, 3) == [(0,), (1,), (2,)]
    assert groups_for(model, 2) == [(0, 2), (1,)]
    assert groups_for(model, 1) == [(0, 1, 2)]
    assert merge_topics(model, groups_for(model, 2)).widths == (2, 2)


def test_the_loss_is_that_of_wards_rule():
    """Two merges of four topics, by hand: each time the pair of least loss."""
    rng = np.random.default_rng(0)
    phi, weight = rng.dirichlet(np.full(12, 0.5), 4), np.array([4.0, 1.0, 2.0, 3.0])
    model = three_topics().with_topics(phi=(phi,), r=np.ones(4), c=np.ones(1), weights=(weight,))
    topics = {(k,): (weight[k] / 10, phi[k]) for k in range(4)}
    for _ in range(2):

        def loss(pair, topics=topics):
            (v, a), (w, b) = topics[pair[0]], topics[pair[1]]
            return v * w / (v + w) * ((np.sqrt(a) - np.sqrt(b)) ** 2).sum()

        keys = sorted(topics)
        one, two = min(((a, b) for a in keys for b in keys if a < b), key=loss)
        (v, a), (w, b) = topics.pop(one), topics.pop(two)
        topics[tuple(sorted(one + two))] = (v + w, (v * a + w * b) / (v + w))
    assert groups_for(model, 2) == sorted(topics)


@pytest.mark.parametrize("to", [0, 4, 1.5, None])
def test_numbers_that_cannot_be(to):
    with pytest.raises(DataError, match=r"to=.*layer 1 has 3 topics"):
        groups_for(three_topics(), to)
