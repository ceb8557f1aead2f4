"""The first layer with φ and θ integrated out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gamma

import pgbn as pg
from pgbn import zoo
from pgbn.engine.first_layer.collapsed import Collapsed
from pgbn.testing import geweke
from tests.helpers.small_data import corpus
from tests.helpers.small_networks import topics_of_gammas


def test_overlapping_the_steps_changes_nothing():
    network, x = zoo.pgbn([24, 20, 17]), corpus()
    usual, plain = (network.chain({"x": x}, seed=3, threads=2) for _ in range(2))
    plain.sampler.mix = None  # one step after the other
    usual.sweep(2), plain.sweep(2)
    assert np.array_equal(usual.sampler.tokens.labels, plain.sampler.tokens.labels)
    for name, value in plain.values.items():
        assert np.array_equal(usual.values[name], value)


def test_tables_of_other_rows_wait_for_the_counts_of_the_data():
    """φ2 is a gamma: its tables have a row a topic, while the collapsed sampler goes by document."""
    network = topics_of_gammas()
    assert geweke(network, {"doc": 3, "term": 4}, 4000, 6, seed=1, layer1="collapsed").worst < 4
    data = {"x": corpus(documents=40)}
    usual, plain = (network.chain(data, threads=2, layer1="collapsed") for _ in range(2))
    plain.sampler.mix = None
    usual.sweep(3), plain.sweep(3)
    for name, value in plain.values.items():
        assert np.array_equal(usual.values[name], value)


# ---- one step -------------------------------------------------------------------------------

N = 20_000


def layer(tokens: int = 1, documents: int = N) -> Collapsed:
    x = np.tile([tokens, 0], (documents, 1))
    network = zoo.pfa(2, eta=0.5)
    sampler = network.chain({"x": x}, init={"r": [1.0, 3.0]}, layer1="collapsed").sampler
    assert isinstance(sampler, Collapsed)
    return sampler


def test_counts_of_words_documents_and_topics_agree() -> None:
    sampler = layer(3)
    sampler.step(5)
    assert (sampler.m.sum(axis=1) == 3).all()
    labels = np.bincount(sampler.tokens.labels, minlength=2)
    assert np.array_equal(labels, sampler.m.sum(axis=0))
    assert np.array_equal(sampler.totals[0], labels)
    sampler.show()
    assert sampler.program.counts["x", "phi1"][0].tolist() == [labels.tolist(), [0, 0]]


def test_two_tokens_of_one_document() -> None:
    """P(z, z') ∝ Π_k Γ(a_k + m_k) · Γ(η + n_k) / Γ(2η + n_k), all tokens of the first word."""
    sampler, seen = layer(2, 1), np.zeros(3)
    for key in range(6000):
        sampler.step(key)
        seen[sampler.m[0, 0]] += 1
    a, eta = np.array([1.0, 3.0]), 0.5
    m = np.array([[n, 2 - n] for n in range(3)])
    weight = gamma(a + m).prod(axis=1) * (gamma(eta + m) / gamma(2 * eta + m)).prod(axis=1)
    weight *= [1, 2, 1]  # labels of two tokens
    np.testing.assert_allclose(seen / seen.sum(), weight / weight.sum(), atol=0.03)


def test_topics_are_drawn_given_their_counts() -> None:
    """φ_k ~ Dir(η + n_k): the first word has all n tokens."""
    sampler = layer(1, 50)
    sampler.step(1)
    n, drawn = sampler.totals[0], []
    for key in range(4000):
        sampler.draw_loadings(key)
        drawn.append(sampler.program.values["phi1"][0, 0])
    np.testing.assert_allclose(np.mean(drawn, axis=0), (0.5 + n) / (1.0 + n), atol=0.01)


def test_its_state_is_the_labels_and_the_order_of_topics() -> None:
    sampler, other = layer(3, 20), layer(3, 20)
    sampler.step(1)
    sampler.step(2)
    state = sampler.state()
    assert set(state) == {"labels", "topics_of_words"}
    other.restore(state)
    for each in (sampler, other):
        each.step(3)
    assert np.array_equal(sampler.tokens.labels, other.tokens.labels)


def test_a_state_that_contradicts_itself() -> None:
    sampler = layer(3, 20)
    state = sampler.state()
    assert sorted(state["topics_of_words"].tolist()) == [0, 1]
    with pytest.raises(pg.DataError, match="contradicts itself: topics_of_words, labels"):
        sampler.restore({**state, "topics_of_words": np.zeros(2, np.int64)})


def test_its_cost_is_that_of_tokens() -> None:
    found = Collapsed.nanoseconds(np.array([1, 3]), 1, 1, 20)
    assert found == pytest.approx(4 * 26.0 + 2 * 21.0)
