"""Completion by a chain that goes on from training over the seen tokens too."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.evaluation import HeldOut, completion_perplexity, split_tokens


def test_with_the_training_documents_the_chain_of_the_training_goes_on() -> None:
    """The samples of a chain on both, begun at the state that training left."""
    x = np.random.default_rng(0).poisson(1.0, (20, 8))
    seen, rest = split_tokens(x[12:], 0.5)
    model = pgbn.PGBN(4, 1, burn_in=4, collect=3, random_state=1, n_jobs=1,
                      transform_burn_in=2, transform_samples=10).fit(x[:12])  # fmt: skip
    trained = model.training_.deepest
    chain = trained.network().chain({"x": x[:12]}, model._seed, trained.sweeps, trained.state)
    chain = chain.append({"x": seen}, sweeps=10).sweep(2)
    expected = HeldOut(rest)
    for _ in range(2):
        values = chain.sweep(5).values
        expected.add(values["phi1"], values["theta1"][12:])
    before = trained.phi[0].copy()
    assert model.perplexity(seen, rest, train=x[:12]) == expected.perplexity()
    assert model.perplexity(seen, rest) != expected.perplexity()
    np.testing.assert_array_equal(model.components_, before)
    with pytest.raises(pgbn.DataError, match=r"train has the shape \(11, 8\).* 12 documents"):
        model.perplexity(seen, rest, train=x[:11])
    with pytest.raises(pgbn.DataError, match="train: the model has no state"):
        completion_perplexity(trained.without_state(), seen, rest, train=x[:12])
