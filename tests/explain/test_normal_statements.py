"""The lemmas of normal values, checked by numbers."""

from __future__ import annotations

import numpy as np

from pgbn.explain.lemmas import LEMMAS, NORMAL_LEMMAS


def test_names_are_new_and_texts_whole() -> None:
    assert not set(NORMAL_LEMMAS) & set(LEMMAS)
    for lemma in NORMAL_LEMMAS.values():
        assert lemma.title
        assert lemma.equations
        assert lemma.proof.endswith(".")


def test_the_quadratic_form() -> None:
    """Σ κψ − ½ωψ² at ψ = Gx + s differs from bᵀx − ½xᵀAx by a constant in x."""
    rng = np.random.default_rng(1)
    g, s, kappa, omega = rng.normal(size=(5, 2)), *rng.normal(size=(2, 5)), rng.gamma(1.0, size=5)
    a, b = (g.T * omega) @ g, g.T @ (kappa - omega * s)
    left = []
    for x in rng.normal(size=(3, 2)):
        psi = g @ x + s
        left.append((kappa * psi - 0.5 * omega * psi**2).sum() - (b @ x - 0.5 * x @ a @ x))
    assert np.allclose(left, left[0])
