"""Means of many draws against their expectations."""

import numpy as np


def close(sample, mean, variance, slack=0.0):
    """|z| < 5 for the means of independent draws; ``slack`` draws more or less do not count."""
    number = len(sample)
    error = 5 * np.sqrt(variance / number) + slack / number
    return bool(np.all(np.abs(sample.mean(axis=0) - mean) <= error))
