"""The first layer with φ and θ integrated out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gamma

import pgbn as pg
from pgbn import zoo
from pgbn.engine.first_layer.collapsed import Collapsed, TokenLabels
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


def test_a_state_that_contradicts_itself() -> None:
    sampler = layer(3, 20)
    state = sampler.state()
    assert sorted(state["topics_of_words"].tolist()) == [0, 1]
    with pytest.raises(pg.DataError, match="contradicts itself: topics_of_words, labels"):
        sampler.restore({**state, "topics_of_words": np.zeros(2, np.int64)})


# ---- a label for every token ---------------------------------------------------------------------


def labels_of(data: np.ndarray, **init: np.ndarray) -> TokenLabels:
    sampler = pg.zoo.pfa(2).chain({"x": data}, init=init, layer1="collapsed").sampler
    assert isinstance(sampler, Collapsed)
    return sampler.tokens


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
