"""Plain variates: joint draws and hidden states; the other laws are in `test_variates`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgbn.samplers.linear_regression import binary_field, joint_normal
from pgbn.samplers.plain import PlainVariates
from pgbn.samplers.random import Stream


def plain(shape: tuple[int, ...], seed: int = 3) -> Stream:
    return Stream(0, shape, variates=PlainVariates(np.random.default_rng(seed)))


def worst(one: Any, other: Any) -> float:
    """The largest |z| of the means of some functions, of every entry along the last axis."""
    sides = [np.asarray(x, np.float64).reshape(-1, np.shape(x)[-1]) for x in (one, other)]
    found = []
    for function in (
        lambda x: x,
        lambda x: x / (1 + np.abs(x)),
        lambda x: np.log(1e-3 + np.abs(x)),
    ):
        a, b = map(function, sides)
        error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
        found.append(np.abs(a.mean(axis=0) - b.mean(axis=0)) / np.maximum(error, 1e-12))
    return float(np.max(found))


def test_joint_draws_have_the_law_of_the_kernels() -> None:
    matrix = np.broadcast_to([[2.0, 0.5], [0.5, 1.0]], (1, 8000, 2, 2))
    vector = np.broadcast_to([1.0, -1.0], (1, 8000, 2))
    shape = (1, 1, 8000, 2)
    assert worst(*(joint_normal(s, matrix, vector) for s in (Stream(1, shape), plain(shape)))) < 4.5
    odds, value = np.zeros((1, 8000, 2)), np.ones((1, 8000, 2))
    both = [binary_field(s, matrix, vector, odds, value) for s in (Stream(1, shape), plain(shape))]
    assert worst(*both) < 4.5
    assert worst(*(each.sum(axis=-1, keepdims=True) for each in both)) < 4.5


def test_hidden_states_have_their_posterior() -> None:
    """Against the sum over all paths of two rows."""
    weight = np.log([[0.2, 0.6], [0.5, 0.1]])
    first, move = np.array([0.3, 0.7]), np.array([[0.9, 0.1], [0.4, 0.6]])
    paths = first[:, None] * np.exp(weight[0])[:, None] * move * np.exp(weight[1])
    copies = 20_000
    logs = np.broadcast_to(weight[:, None], (2, copies, 2))
    moves = np.broadcast_to(np.stack([[first, first], move])[:, None], (2, copies, 2, 2))
    drawn = PlainVariates(np.random.default_rng(1)).states(logs, moves)
    found = np.einsum("cl,ck->lk", drawn[0], drawn[1]) / copies
    error = np.sqrt(found * (1 - found) / copies)
    assert (np.abs(found - paths / paths.sum()) / error).max() < 4.5
