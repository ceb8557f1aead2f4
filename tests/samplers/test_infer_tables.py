"""Documents in `infer`: how they are known, where many tables go, what no evidence means."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

import pgbn
from pgbn.samplers.documents.sweeps import hash_documents
from pgbn.training.trained import Priors, TrainedNetwork


def test_a_document_is_known_by_its_terms_and_counts() -> None:
    x = sp.csr_array(np.array([[1, 2, 0], [1, 0, 2], [2, 1, 0]]))
    indptr, indices = x.indptr.astype(np.int64), x.indices.astype(np.int32)
    out = np.empty(3, np.uint64)
    hash_documents(0, 0, 3, indptr, indices, x.data.astype(np.int64).view(np.uint64), out)
    assert len(set(out.tolist())) == 3


@pytest.mark.filterwarnings("ignore::pgbn.PgbnWarning")
def test_without_any_units_the_shares_are_equal() -> None:
    model = TrainedNetwork((np.full((2, 3), 1 / 3),), np.zeros(2), np.ones(1))
    found = pgbn.infer(model, np.zeros((1, 3), int), burn_in=0, samples=2)
    np.testing.assert_allclose(found.proportions[1], [[0.5, 0.5]])


def test_many_tables_are_shared_out() -> None:
    """x ~ Pois(θ1), θ1 ~ Gam(s, 1) with s = Σ_k θ2_k ~ Gam(Σ r, 0.1): the posterior of s is an
    integral in one dimension, and E θ2_k = E[s] r_k / Σ r."""
    r, x = np.array([20.0, 30.0]), 800
    priors = Priors(p=(1e9, 1e9), c=(1e9, 1e10))  # the rates are known: 1 and 0.1
    phi = (np.ones((1, 1)), np.ones((2, 1)))
    model = TrainedNetwork(phi, r, np.array([1.0, 0.1]), priors=priors)
    found = pgbn.infer(model, np.array([[x]]), burn_in=50, samples=2000, seed=1, threads=1)
    s = np.linspace(1.0, 2000.0, 20_000)
    weight = stats.gamma(r.sum(), scale=10.0).pdf(s) * stats.nbinom(s, 0.5).pmf(x)
    expected = (s * weight).sum() / weight.sum() * r / r.sum()
    np.testing.assert_allclose(found.units[2][0], expected, rtol=0.1)
