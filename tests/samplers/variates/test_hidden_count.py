"""Hidden counts of randomised gammas against their exact probabilities."""

import numpy as np
import pytest
from scipy.special import gammaln

from pgbn.samplers import Stream, vectorised

SHAPE = (1, 1, 100, 400)


@pytest.mark.parametrize(
    ("w", "offset", "count"),
    [
        (0.3, 0.0, -1), (50.0, 0.0, -1), (3.0, 0.4, -1), (900.0, 2.5, -1),
        (2.0, 0.0, 0), (2.0, 0.0, 3), (0.5, 1.5, 4), (0.97, 0.2, 60), (7.0, 0.5, 0), (40.0, 1.0, 30),
    ],
)  # fmt: skip
def test_probabilities(w: float, offset: float, count: int) -> None:
    draws = vectorised.hidden_count(Stream(3, SHAPE), w, offset, count).ravel()
    h = np.arange(1.0 if offset == 0.0 and count != 0 else 0.0, 2000.0)
    logs = h * np.log(w) - gammaln(h + 1)
    if count:
        logs += (gammaln(offset + h + count) if count > 0 else 0.0) - gammaln(offset + h)
    exact = np.exp(logs - logs.max())
    exact /= exact.sum()
    found = np.bincount(draws - int(h[0]), minlength=h.size) / draws.size
    error = np.sqrt(exact * (1 - exact) / draws.size)
    seen = exact > 1e-3
    assert (np.abs(found - exact)[seen] < 4.5 * error[seen]).all()


def test_edges() -> None:
    stream = Stream(3, (1, 1, 2, 2))
    assert (vectorised.hidden_count(stream, 0.0, 0.0) == 0).all()  # a gamma of 0
    assert (vectorised.hidden_count(stream, 0.0, 1.0, 5) == 0).all()
    assert (vectorised.hidden_count(stream, 1e-300, 0.0, 5) == 1).all()
