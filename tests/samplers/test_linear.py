"""Quadratic forms and draws from them, against exact moments and probabilities."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pgbn.samplers.executor import Threads
from pgbn.samplers.linear_regression import binary_field, joint_normal, quadratic_form, signed_rows
from pgbn.samplers.random import Stream

RNG = np.random.default_rng(0)
MATRIX = np.array([[2.0, 0.7, -0.3], [0.7, 1.5, 0.4], [-0.3, 0.4, 3.0]])
VECTOR = np.array([0.4, -1.0, 0.8])


@pytest.mark.parametrize("shared", [(1, 1, 4, 2), (3, 2, 4, 2), (1, 2, 1, 2), (3, 1, 4, 2)])
def test_quadratic_form(shared: tuple[int, ...]) -> None:
    count, exposure = RNG.normal(size=(3, 2, 4)), RNG.gamma(1.0, size=(3, 2, 4))
    design = RNG.normal(size=shared)
    matrix, vector = quadratic_form(count, exposure, design)
    g = np.broadcast_to(design, (3, 2, 4, 2))
    assert np.allclose(matrix, np.einsum("rbc,rbci,rbcj->rbij", exposure, g, g))
    assert np.allclose(vector, np.einsum("rbc,rbci->rbi", count, g))


def test_product_of_any_signs() -> None:
    a, b = RNG.normal(size=(2, 3, 5)), RNG.normal(size=(1, 4, 5))
    out = np.empty((2, 3, 4))
    signed_rows(0, 0, 6, a, b, out, np.float64)
    assert np.allclose(out, np.einsum("rik,jk->rij", a, b[0]))


def test_joint_normal_has_its_moments() -> None:
    rows = 60_000
    x = joint_normal(
        Stream(5, (1, 1, rows, 3)), np.tile(MATRIX, (1, rows, 1, 1)), np.tile(VECTOR, (1, rows, 1))
    )[0]
    covariance = np.linalg.inv(MATRIX)
    mean = covariance @ VECTOR
    error = np.sqrt(np.diag(covariance) / rows)
    assert (np.abs(x.mean(axis=0) - mean) < 4.5 * error).all()
    variances = np.diag(covariance)
    spread = np.sqrt((np.outer(variances, variances) + covariance**2) / rows)
    assert (np.abs(np.cov(x.T) - covariance) < 4.5 * spread).all()


def test_bits_keep_their_law() -> None:
    """From exact draws, one sweep over the bits leaves p(x) ∝ exp(bᵀx − ½xᵀAx + ψᵀx)."""
    odds, states = np.array([0.3, -0.5, 0.1]), np.array(list(product([0.0, 1.0], repeat=3)))
    logs = states @ (VECTOR + odds) - 0.5 * np.einsum("si,ij,sj->s", states, MATRIX, states)
    exact = np.exp(logs) / np.exp(logs).sum()
    rows = 100_000
    old = states[RNG.choice(8, size=rows, p=exact)]
    many = [np.tile(each, (1, rows, *(1,) * each.ndim)) for each in (MATRIX, VECTOR, odds)]
    new = binary_field(Stream(6, (1, 1, rows, 3)), *many, old[None])[0]
    found = np.bincount((new @ [4, 2, 1]).astype(int), minlength=8) / rows
    assert (np.abs(found - exact) < 4.5 * np.sqrt(exact * (1 - exact) / rows)).all()
    assert 0.1 < (new == old).all(axis=1).mean() < 0.9


def test_same_bits_on_threads() -> None:
    shape = (1, 1, 9000, 3)
    matrix, vector = np.tile(MATRIX, (1, 9000, 1, 1)), RNG.normal(size=(1, 9000, 3))
    one = joint_normal(Stream(5, shape), matrix, vector)
    two = joint_normal(Stream(5, shape, Threads(2)), matrix, vector)
    assert np.array_equal(one, two)
    bits = np.ones((1, 9000, 3))
    assert np.array_equal(
        binary_field(Stream(5, shape), matrix, vector, 0 * bits, bits),
        binary_field(Stream(5, shape, Threads(2)), matrix, vector, 0 * bits, bits),
    )
    count = RNG.normal(size=(1, 40, 300))
    design = RNG.normal(size=(1, 1, 300, 3))
    for one, two in zip(
        quadratic_form(count, count**2, design),
        quadratic_form(count, count**2, design, Threads(2)),
        strict=True,
    ):
        assert np.array_equal(one, two)
