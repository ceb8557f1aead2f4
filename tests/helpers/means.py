"""Means of many draws against their expectations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def close(sample, mean, variance, slack=0.0):
    """|z| < 5 for the means of independent draws; ``slack`` draws more or less do not count."""
    number = len(sample)
    error = 5 * np.sqrt(variance / number) + slack / number
    return bool(np.all(np.abs(sample.mean(axis=0) - mean) <= error))


def difference(one: NDArray[Any], two: NDArray[Any]) -> NDArray[Any]:
    """The difference of two means of chains in standard errors, by means of 25 batches."""
    means = [v.reshape(25, -1, *v.shape[1:]).mean(axis=1) for v in (one, two)]
    error = np.sqrt(sum(m.var(axis=0) / 24 for m in means)) + 1e-9
    return np.asarray((means[0].mean(axis=0) - means[1].mean(axis=0)) / error)
