"""Tokens that topics account for: exact sums, and no document that outweighs the others."""

import numpy as np
import pytest

from pgbn import train_layerwise
from pgbn.evaluation import topic_weights
from pgbn.training.trained import tokens_of_topics
from tests.helpers.training import QUICK, X


def test_tokens_are_shared_out_in_proportion() -> None:
    first = np.array([[1.0, 2.0], [6.0, 0.0], [4.0, 4.0]])  # 3, 6 and 8 tokens
    second = np.array([[1.0, 1.0, 0.0], [500.0, 0.0, 1500.0], [0.0, 0.0, 0.0]])
    below, above = tokens_of_topics([first, second])
    assert below.tolist() == [11.0, 6.0]
    # Half of 3 and a quarter of 6; half of 3; three quarters of 6. The last has no units.
    assert above.tolist() == [3.0, 1.5, 4.5]


def test_blocks_of_rows_make_no_difference(monkeypatch) -> None:
    g = np.random.default_rng(0)
    units = [g.gamma(0.3, size=(50, 7)), g.gamma(0.1, size=(50, 3))]
    whole = tokens_of_topics(units)
    monkeypatch.setattr("pgbn.training.trained.ROWS", 8)
    for once, by_parts in zip(whole, tokens_of_topics(units), strict=True):
        np.testing.assert_allclose(by_parts, once, rtol=1e-13)


def test_no_documents() -> None:
    assert [w.tolist() for w in tokens_of_topics([np.zeros((0, 2)), np.zeros((0, 1))])] == [
        [0.0, 0.0], [0.0]]  # fmt: skip


def test_the_scale_of_a_document_is_no_weight() -> None:
    """Every layer accounts for the same tokens, and a topic above for those of its topics."""
    model = train_layerwise(X, (7, 4), 2, min_width=1, progress=False, **QUICK).deepest
    units = [model.state[f"theta{t}"] for t in (1, 2)]
    assert [w.sum() for w in model.weights] == pytest.approx([units[0].sum()] * 2)
    shares = units[1] / units[1].sum(axis=1, keepdims=True)
    expected = units[0].sum(axis=1) @ shares
    np.testing.assert_allclose(topic_weights(model, 2), expected / expected.sum(), rtol=1e-12)
