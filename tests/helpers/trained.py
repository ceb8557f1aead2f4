"""A trained network that nobody has trained, and documents for it."""

import numpy as np
import scipy.sparse as sp

from pgbn.training.trained import TrainedNetwork

RNG = np.random.default_rng(0)


X = sp.csr_array(RNG.poisson(1.0, (30, 12)))


def model_of(widths=(5, 3), terms=12, seed=0, **fields):
    rng = np.random.default_rng(seed)
    below, phi = terms, []
    for width in widths:
        phi.append(rng.dirichlet(np.full(below, 0.4), width))
        below = width
    r = rng.gamma(2.0, 1.0, widths[-1])
    return TrainedNetwork.of_topics(tuple(phi), r, np.full(len(widths), 0.8), **fields)
