"""Scores of fitted estimators: what they are, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.evaluation import split_tokens

X = np.random.default_rng(0).poisson(np.repeat([[4, 1], [1, 4]], 10, axis=0).repeat(4, axis=1))
SETTINGS = {"burn_in": 5, "collect": 3, "random_state": 0, "n_jobs": 1,
            "transform_burn_in": 3, "transform_samples": 5}  # fmt: skip


def test_score_is_minus_the_log_of_perplexity() -> None:
    model = pgbn.PFA(3, **SETTINGS).fit(X)
    assert model.score(X) == -np.log(model.perplexity(X))


def test_what_is_wrong_is_named_as_the_method_calls_it() -> None:
    model = pgbn.PFA(3, **SETTINGS).fit(X)
    seen, held = split_tokens(X, 0.5)
    with pytest.raises(ValueError, match="X_held"):
        model.perplexity(seen, held[:5])
    with pytest.raises(ValueError, match="train has 7 features"):
        model.perplexity(seen, held, train=X[:, :7])
    with pytest.raises(pgbn.DataError, match="fraction=2"):
        model.perplexity(X, fraction=2)
