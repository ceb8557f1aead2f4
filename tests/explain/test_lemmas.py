"""The lemmas: each is cited where it is stated, has a proof, and holds in numbers; references."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import special, stats

import pgbn as pg
from pgbn.explain.lemmas import lemmas
from tests.helpers.compositions import COMPOSITIONS


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_every_lemma_that_is_cited_is_stated(name: str) -> None:
    text = COMPOSITIONS[name]().explain()
    stated = {int(n) for n in re.findall(r"^Lemma (\d+)\. ", text, re.MULTILINE)}
    own_words = text.replace("Lemma 1 of Zhou", "").replace("Lemma 4.1", "").replace("\n", " ")
    cited = {
        int(number)
        for numbers in re.findall(r"Lemmas? (\d+(?:(?: and|,) \d+)*)", own_words)
        for number in re.findall(r"\d+", numbers)
    }
    assert cited == stated == set(range(1, len(stated) + 1))


@pytest.mark.parametrize("key", lemmas())
def test_a_lemma_is_stated_and_proved(key: str) -> None:
    lemma = lemmas()[key]
    assert lemma.title
    assert lemma.statement
    assert lemma.equations
    assert len(lemma.proof) > 40
    assert lemma.proof.endswith((".", ")"))
    assert all(line.count("&") == 1 for line in lemma.equations)


def test_the_sum_of_gammas_is_independent_of_the_proportions() -> None:
    a, m, rate = np.array([0.7, 1.2, 2.0]), np.array([1, 0, 3]), 1.7
    s, u = 2.3, np.array([0.2, 0.5, 0.3])
    left = stats.gamma.logpdf(s * u, a + m, scale=1 / rate).sum() + 2 * np.log(s)
    right = stats.gamma.logpdf(s, (a + m).sum(), scale=1 / rate)
    right += stats.dirichlet.logpdf(u, a + m)
    assert np.isclose(left, right)


def test_tables_of_a_negative_binomial_are_poisson() -> None:
    """Σ_m NB(m; a, p) CRT(ℓ; m, a) = Pois(ℓ; −a ln(1 − p)), for ℓ = 1."""
    a, p, m = 0.8, 0.3, np.arange(1, 200)
    one_table = special.gammaln(m) + np.log(a) + special.gammaln(a) - special.gammaln(a + m)
    total = np.exp(stats.nbinom.logpmf(m, a, 1 - p) + one_table).sum()
    assert np.isclose(total, stats.poisson.pmf(1, -a * np.log1p(-p)))


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


def test_references_are_full_and_only_those_used() -> None:
    chain, layers = COMPOSITIONS["gamma_markov_chain"]().explain(), pg.zoo.pgbn([3, 2]).explain()
    assert "Acharya, A." in chain
    assert "Acharya, A." not in layers
    assert "The Poisson gamma belief network. NIPS." in " ".join(layers.split())
