"""The counts that nodes heard."""

import numpy as np

import pgbn
from pgbn.engine.run.chain import received_counts


def chain() -> pgbn.Chain:
    counts = np.random.default_rng(0).poisson(1.0, (6, 5))
    return pgbn.zoo.pgbn([3, 2]).chain({"x": counts}, seed=1, threads=1).sweep(2)


def test_scores_and_loadings_hear_every_token_once() -> None:
    run = chain()
    tokens = np.asarray(run.program.cells["x"].values).sum()
    found = run.counts
    assert found["theta1"].shape == (6, 3)
    assert found["phi1"].shape == (3, 5)
    assert found["theta1"].sum() == found["phi1"].sum() == tokens
    np.testing.assert_array_equal(found["theta1"].sum(axis=0), found["phi1"].sum(axis=1))


def test_some_nodes_hear_the_same_as_all() -> None:
    run = chain()
    every, some = run.counts, run.counts_of(["theta1", "r"])
    assert list(some) == ["theta1", "r"]
    for name, counts in some.items():
        np.testing.assert_array_equal(counts, every[name])
    assert "c0" not in received_counts(run.program, ["c0"])
