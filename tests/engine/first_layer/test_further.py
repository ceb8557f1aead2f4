"""What a first layer has beside φ·θ, as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import Constant, Dirichlet, Gamma, Network, Poisson
from pgbn.engine.first_layer.base import FirstLayer

X = np.array([[1, 0, 2], [3, 1, 0]])
SIZE = np.array([0.5, 2.0])


def layer() -> FirstLayer:
    """x ~ Pois(2 (G s) φ·θ + 3 s' d + ψ·w): a size of groups, a background and two pseudo-topics."""
    theta = Gamma("theta", 1, 1, dims=("doc", "topic"))
    phi = Dirichlet("phi", 1, over="term", dims="topic")
    member = Constant([[1.0, 0.0], [0.25, 0.75]], dims=("doc", "group"))
    size = 2.0 * (member @ Gamma("s", 1, 1, dims="group"))
    usual = 3.0 * Gamma("t", 1, 1, dims="doc") * Gamma("d", 1, 1, dims="term")
    other = Dirichlet("psi", 1, over="term", dims="other") @ Gamma("w", 1, 1, dims=("doc", "other"))
    network = Network(
        Poisson("x", size * (phi @ theta) + usual + other, dims=("doc", "term")),
        sizes={"topic": 2, "other": 2},
    )
    init = {"s": SIZE, "t": [1.0, 4.0], "d": [0.1, 0.2, 0.3], "w": [[1.0, 2.0], [3.0, 4.0]],
            "psi": [[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]]}  # fmt: skip
    sampler = network.chain({"x": X}, init=init, layer1="blocked").sampler
    assert sampler is not None
    return sampler


def test_the_factor_of_rows() -> None:
    assert np.allclose(layer().row_scale.get(), 2 * (np.array([[1, 0], [0.25, 0.75]]) @ SIZE))


def test_the_weights_of_further_terms() -> None:
    further = layer().further
    weights = further.weights(np.array([1.0, 10.0]))
    assert weights is not None
    assert further.size == 3
    assert np.allclose(weights.row, [[3, 1, 2], [120, 30, 40]])
    assert np.allclose(weights.word, [[0.1, 0.5, 0.2], [0.2, 0.25, 0.2], [0.3, 0.25, 0.6]])


@pytest.mark.parametrize("held", [True, False])
def test_the_weights_beside_those_of_the_topics(held: bool) -> None:
    """Beside s θ they are divided by s; with θ integrated out, by s / (c + q) too, and q = s."""
    sampler = layer()
    scale = sampler.row_scale.get()
    pseudo, plain = sampler.pseudo(held), sampler.further.weights(np.ones(2))
    assert pseudo is not None
    assert plain is not None
    factor = 1 / scale if held else (1.0 + scale) / scale
    assert np.allclose(pseudo.row, plain.row * factor[:, None])


def test_counts_go_to_their_factors() -> None:
    sampler = layer()
    sampler.m[...] = [[5, 1], [2, 2]]
    sampler.further.counts.row[...] = [[1, 2, 3], [4, 5, 6]]
    sampler.further.counts.word[...] = [[1, 7, 0], [4, 0, 9], [0, 0, 0]]
    sampler.deliver_others(3)
    counts = {pair[1]: array[0] for pair, array in sampler.program.counts.items()}
    assert counts["t"].tolist() == [1, 4]
    assert counts["d"].tolist() == [1, 4, 0]
    assert counts["w"].tolist() == [[2, 3], [5, 6]]
    assert counts["psi"].tolist() == [[7, 0], [0, 9], [0, 0]]
    assert counts["s"].sum() == 10
    assert counts["s"][0] >= 6  # the first row is of the first group
