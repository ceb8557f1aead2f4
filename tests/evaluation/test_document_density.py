"""The score of data that are not counts: the mean log density of documents, block by block."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("sklearn")

import pgbn
from pgbn import PFA
from pgbn.training.trained import observed_node

X = sp.csr_array(np.random.default_rng(0).poisson(0.7, (60, 24)))
FAST = {"burn_in": 15, "collect": 10, "transform_burn_in": 10, "transform_samples": 10}


@pytest.mark.parametrize("link", ["bernoulli", "gamma"])
def test_score_by_blocks_is_the_mean_log_density(link, monkeypatch):
    data = (X > 0).astype(int) if link == "bernoulli" else X * 0.3
    fitted = PFA(3, link=link, random_state=0, **FAST).fit(data)
    network = fitted.training_.deepest
    units = pgbn.infer(network, data, layers=1, **fitted._chain())["theta1"]
    slots = {"noise": network.noise} if link == "gamma" else {}
    rate = units @ network.phi[0]
    density = observed_node(link).log_density(data.toarray(), rate=rate, **slots)
    for cells in (24 * 7, 10**6):  # 7 documents at a time, and all at once
        monkeypatch.setattr("pgbn.evaluation.perplexity._CELLS", cells)
        assert fitted.score(data) == pytest.approx(density.sum(axis=1).mean(), rel=1e-12)
        assert fitted.score(data.toarray()) == pytest.approx(fitted.score(data), rel=1e-12)


def test_score_makes_no_dense_matrix_of_all_documents():
    rng, documents, terms = np.random.default_rng(0), 1000, 6000
    row = sp.csr_array(rng.random((1, terms)) < 0.01).astype(int)
    data = sp.csr_array(sp.vstack([row] * documents))
    fitted = PFA(2, link="bernoulli", burn_in=1, collect=1, transform_burn_in=0,
                 transform_samples=1, random_state=0).fit(data)  # fmt: skip
    tracemalloc.start()
    fitted.score(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < documents * terms * 8 / 2  # a dense matrix takes twice as much
