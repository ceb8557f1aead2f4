"""Upper layers without twins."""

import numpy as np

from pgbn.evaluation.layer_quality import merge_twins, similar_topics, without_twins
from pgbn.training.trained import TrainedNetwork
from pgbn.training.training_result import LayerwiseTraining


def model(terms=120):
    """Six topics of twenty terms each; in the second layer, 0 and 2 are twins, and 1 and 3."""
    phi = np.full((6, terms), 1e-6)
    for k in range(6):
        phi[k, 20 * k : 20 * k + 20] = np.arange(20, 0, -1)
    upper = np.array([[9, 1, 0, 0, 0, 0], [0, 0, 5, 1, 0, 0], [8, 1, 1, 0, 0, 0],
                      [0, 0, 7, 1, 0, 0], [0, 0, 0, 0, 1, 1]]) + 0.01  # fmt: skip
    phi, upper = (each / each.sum(axis=1, keepdims=True) for each in (phi, upper))
    return TrainedNetwork.of_topics(phi=(phi, upper), r=np.ones(5), c=np.ones(2),
                          weights=(np.ones(6), np.ones(5)))  # fmt: skip


def test_twins_above_the_first_layer_are_merged():
    merged = merge_twins(model())
    assert merged.widths == (6, 3)
    assert similar_topics(merged, 2) == []
    assert merge_twins(merged) is None
    np.testing.assert_allclose(merged.r, [2, 2, 1])


def test_what_is_left_alone():
    one = model().with_topics(phi=model().phi[:1], r=np.ones(6), c=np.ones(1), weights=())
    assert merge_twins(one) is None  # one layer
    same = np.repeat(model().phi[1][:1], 3, axis=0)
    alike = model().with_topics(phi=(model().phi[0], same), r=np.ones(3), weights=())
    assert merge_twins(alike) is None  # one topic would be left
    few = model().with_topics(
        phi=(
            model().phi[0][:, :99] / model().phi[0][:, :99].sum(axis=1, keepdims=True),
            model().phi[1],
        ),
    )
    assert merge_twins(few) is None


def test_rounds_end_when_there_are_no_twins():
    seen = []

    def train(merged):
        seen.append(merged.widths)
        return merged

    first = LayerwiseTraining((model(),), "depth 2 reached")
    found = without_twins(first, train)
    assert seen == [(6, 3)]
    assert found.widths == (6, 3)
    assert found.stopped == "depth 2 reached; twins were merged, 6-5 to 6-3"
    assert without_twins(found, train) is found
    stubborn = without_twins(first, lambda merged: seen.append("again") or model())
    assert seen.count("again") == 3
    assert stubborn.widths == (6, 5)
