"""Dynamic topics: the network, wrong tables, and the times of documents."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import NetworkError, zoo
from pgbn.testing import geweke, mutants

NETWORK = zoo.dynamic_topics(2, 1.0, (8, 2), (8, 8), (6, 4), period=[0, 1, 1, 2])
SIZES = {"term": 3, "time": 3}


def test_the_network() -> None:
    network = zoo.dynamic_topics(4)
    assert network["phi"].axes == ("time", "topic", "term")
    assert str(network["x"].rate) == "phi[period] @ theta"
    with pytest.raises(NetworkError, match="eta=0"):
        zoo.dynamic_topics(4, eta=0)
    text = str(network.explain("text"))
    assert "A Markov chain of Dirichlets, backward and forward" in text
    assert "Markov chain of gammas" not in text
    assert "(φ[v k t])ᵥ ∼ Dir((κₖ φ[v, k, t-1])ᵥ), t > 1" in text
    assert "s^(φ)[k 1] ∼ Beta(V / 10, m^(φ)[· k 1])" in text
    assert "s^(φ)[k t] ∼ Beta(κₖ, m^(φ)[· k t]), t > 1" in text


def test_tables_off_by_one_are_seen() -> None:
    mutant = mutants(NETWORK)["CRT off by one"]
    wrong = geweke(NETWORK, SIZES, 2000, 6, seed=1, layer1=mutant.layer1, broken=mutant)
    assert wrong.worst > 6, wrong


def test_documents_bring_their_times() -> None:
    x = np.random.default_rng(0).poisson(1.0, (6, 5))
    chain = zoo.dynamic_topics(2).chain({"x": x, "period": [0, 0, 1, 1, 2, 2]}, seed=0).sweep(3)
    assert chain.values["phi"].shape == (3, 2, 5)
    np.testing.assert_allclose(chain.values["phi"].sum(axis=2), 1.0)
