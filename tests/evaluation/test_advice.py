"""What is said of a training that should not be believed as it is."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn.evaluation import training_advice
from pgbn.evaluation.layer_quality import looks_like_noise, still_falling
from pgbn.training.trained import TrainedNetwork
from pgbn.training.training_result import LayerwiseTraining
from tests.helpers.training import documents


def training(topics=8, terms=20, theta=None, **parts):
    rng = np.random.default_rng(0)
    state = {} if theta is None else {"theta1": theta}
    network = TrainedNetwork.of_topics(
        phi=(rng.dirichlet(np.ones(terms), topics),), r=np.ones(topics), c=np.ones(1), state=state
    )
    return LayerwiseTraining((network.with_topics(**parts),), "depth 1 reached")


def trace(widths):
    return {"sweep": np.arange(len(widths)) * 10.0, "width": np.asarray(widths, float)}


@pytest.mark.parametrize(
    ("widths", "falls"),
    [
        (np.linspace(100, 50, 40), True),
        (np.concatenate([np.linspace(100, 50, 20), np.full(20, 50)]), False),
        (np.full(40, 30), False),
        ([50, 49] * 20, False),
        ([9, 8, 7], False),  # too short to tell
        ([10] * 20 + [9] * 20, False),  # one topic comes and goes
    ],
)
def test_a_width_that_still_falls(widths, falls):
    assert still_falling(np.arange(len(widths)), widths) is falls
    told = training_advice(training(traces=trace(widths)))
    assert any("still falling" in text for text in told) is falls


def test_the_fall_is_told_in_numbers():
    (told,) = training_advice(training(traces=trace(np.linspace(100, 50, 41))))
    assert told.startswith("layer 1: the number of topics was still falling")
    assert "75 halfway, 50 at the end" in told
    assert "burn_in" in told


def test_merging_is_no_fall():
    fall = trace([60] * 25 + [30] * 15)
    assert any("still falling" in text for text in training_advice(training(traces=fall)))
    fall["before_merging"] = np.repeat([1.0, 0.0], [25, 15])
    assert training_advice(training(traces=fall)) == []


def test_more_topics_than_terms_or_nearly_as_many_as_documents():
    assert "21 topics of 20 terms" in training_advice(training(topics=21))[0]
    (told,) = training_advice(training(topics=8), documents(n=20, terms=20))
    assert "8 topics of 20 documents" in told
    assert training_advice(training(topics=8), documents(n=60, terms=20)) == []


def test_short_texts_without_repeated_words_are_not_called_noise():
    """Two themes, each word once in a text: repeats, by which noise is told, say nothing."""
    rng = np.random.default_rng(0)
    texts = np.zeros((40, 16), int)
    for j, text in enumerate(texts):
        text[8 * (j % 2) + rng.choice(8, 5, replace=False)] = 1
    assert not looks_like_noise(texts)


def test_noise_is_told_from_topics():
    rng = np.random.default_rng(1)
    for seed in range(5):
        assert looks_like_noise(rng.poisson(0.3, (80, 50)))
        rare = rng.dirichlet(np.full(300, 0.1))
        assert looks_like_noise(sp.csr_array(rng.multinomial(15, rare, 400)))
        assert not looks_like_noise(documents(80, 50, 3, seed))
    assert "looks like noise" in training_advice(training(), rng.poisson(0.4, (60, 20)))[0]


def test_the_share_of_false_alarms_is_that_of_four_deviations():
    """Of margins of any kind: the statistic is about normal where cells are not all rare."""
    rng = np.random.default_rng(2)
    terms = rng.dirichlet(np.full(40, 0.5))
    lengths = rng.integers(1, 200, 50)
    told = [looks_like_noise(np.array([rng.multinomial(n, terms) for n in lengths]))
            for _ in range(200)]  # fmt: skip
    assert np.mean(told) > 0.98


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (1, 9), (9, 1)])
def test_what_cannot_be_told_is_not(shape):
    assert not looks_like_noise(np.ones(shape, int))
    assert not looks_like_noise(np.zeros((4, 4), int))


def test_a_topic_that_leads_everywhere():
    theta = np.full((30, 8), 0.1)
    theta[np.arange(30), np.arange(30) % 8] = 1.0
    assert training_advice(training(theta=theta)) == []
    theta[:12] = 0.1
    theta[:12, 3] = 1.0
    (told,) = training_advice(training(theta=theta))
    assert told.startswith("topic 1/3 (")
    assert "leads in 47% of the documents" in told
    assert "max_df" in told


def test_layers_of_twins_are_told():
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(200, 0.05), 8)
    assert training_advice(training(terms=200, phi=(phi,))) == []
    phi[5] = phi[2]
    (told,) = training_advice(training(terms=200, phi=(phi,)))
    assert told.startswith("layer 1: 2 of 8 topics share six of their ten leading words")
    assert "max_width" in told
    assert "max_df" in told
    few = training(topics=8, terms=20)
    same = few.deepest.with_topics(phi=(np.repeat(few.deepest.phi[0][:1], 8, axis=0),))
    assert training_advice(replace(few, networks=(same,))) == [], "20 terms cannot tell"
