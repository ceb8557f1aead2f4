"""Documents of a few topics, and states of networks."""

import numpy as np
import scipy.sparse as sp

import pgbn
import pgbn.report


def documents(n=60, terms=30, topics=3, seed=0):
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(terms, 0.1), topics)
    return sp.csr_array(rng.poisson(rng.gamma(0.5, 20.0, (n, topics)) @ phi))


X = documents()


QUICK = {"burn_in": 15, "sweeps": 8, "threads": 1, "trace_every": 5}


def state_of(widths, n=5, terms=7, seed=0):
    network = pgbn.zoo.pgbn(widths)
    # The prior of γ0 is nearly all at 0, where no scaling would show.
    given = {"gamma0": 2.0, "c0": 1.0, "p2": np.ones(n)}
    state = network.generate(seed, {"doc": n, "term": terms}, given)
    del state["x"]
    return network, state
