"""Plain variates have the laws of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pgbn.samplers import vectorised
from pgbn.samplers.linear_regression import binary_field, joint_normal
from pgbn.samplers.plain import PlainVariates
from pgbn.samplers.random import Stream

SHAPE = (1, 1, 500, 10)

LAWS: list[tuple[str, tuple[Any, ...]]] = [
    ("uniform", ()), ("normal", (1, 2)), ("exponential", (3,)),
    ("gamma", (0.3, 2.0)), ("gamma", (0.001, 2.0)), ("gamma", (5.0, 2.0)), ("log_gamma", (0.2,)),
    ("beta_odds", (0.5, 0.3)), ("beta", (2.0, 0.3)), ("neg_log_beta", (0.7, 5)),
    ("log_normal", (0.3, 2.0)), ("log_normal", (0.3, 2.0, 7.0, 1.5)),
    ("log_normal", (-1.0, 0.5, 0.0, 3.0)), ("log_normal", (-1.0, 0.5, 40.0, 3.0)),
    ("bernoulli", (0.3,)), ("poisson", (2.5,)), ("binomial", (7, 0.3)), ("crt", (12, 0.6)),
    ("truncated_poisson", (0.3,)), ("truncated_poisson", (8.0,)),
    ("bessel", (0.3,)), ("bessel", (3.0,)),
    ("hidden_count", (2.0, 0.5, 3)), ("hidden_count", (2.0, 0.0, 3)),
    ("hidden_count", (2.0, 0.0, 0)), ("hidden_count", (9.0, 0.5)), ("hidden_count", (9.0, 0.0)),
    ("hidden_count", (30.0, 1.0, 20)), ("gig", (0.5, 1.0, 2.0)), ("gig", (-1.5, 1.0, 2.0)),
    ("polya_gamma", (0.0,)), ("polya_gamma", (1.0,)), ("polya_gamma", (4.0,)),
    ("polya_gamma", (-9.0,)),
    ("dirichlet", (np.array([0.1, 0.5, 2.0]), 3)), ("dirichlet", (np.array([1e-3, 2e-3, 1e-2]), 3)),
    ("multinomial", (5, np.array([0.1, 0.2, 0.7]), 3)),
    ("categorical", (np.log([0.1, 0.2, 0.7]), 3)),
]  # fmt: skip


def plain(shape: tuple[int, ...] = SHAPE, seed: int = 3) -> Stream:
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


@pytest.mark.parametrize(("name", "given"), LAWS, ids=str)
def test_a_plain_draw_has_the_law_of_the_kernel(name: str, given: tuple[Any, ...]) -> None:
    vector = any(isinstance(each, np.ndarray) for each in given)
    shape = (1, 1, 5000, 3) if vector else SHAPE
    draw = getattr(vectorised, name)
    one, other = draw(Stream(7, shape), *given), draw(plain(shape), *given)
    assert one.shape == other.shape
    assert worst(one, other) < 4.5


def test_draws_at_the_ends() -> None:
    """Shapes of 0, counts of 0, and lines without a positive weight."""
    stream = plain((1, 1, 4, 3))
    assert not vectorised.gamma(stream, 0.0, 1.0).any()
    assert not vectorised.neg_log_beta(stream, 1.0, 0).any()
    assert np.allclose(vectorised.dirichlet(stream, 0.0, 3), 1 / 3)
    assert (vectorised.crt(stream, 5, 0.0) == 1).all()
    assert (vectorised.multinomial(stream, 6, np.zeros(3), 3).sum(axis=3) == 6).all()
    assert not vectorised.hidden_count(stream, 0.0, 0.0).any()
    assert (vectorised.gamma(stream, 1e-5, 1.0) > 0).all()


def test_a_child_brings_the_variates_of_its_stream() -> None:
    stream = plain((1, 1, 4, 3))
    child = stream.child("count", without=3)
    assert child.variates is stream.variates
    assert vectorised.poisson(child, 2.0).shape == (1, 1, 4, 1)


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
