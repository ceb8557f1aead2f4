"""Trained networks with exact draws of documents, and a test of their posterior moments."""

import warnings

import numpy as np

from pgbn.errors import PgbnWarning
from pgbn.training.new_rows import infer
from pgbn.training.trained import Priors, TrainedNetwork

TERMS = 8


def model_of(link="poisson", widths=(4, 3, 2), seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    below, phi = TERMS, []
    for width in widths:
        phi.append(rng.dirichlet(np.full(below, 0.5), width))
        below = width
    return TrainedNetwork.of_topics(
        tuple(phi),
        scale * (rng.gamma(2.0, 4.0, widths[-1]) + 1.0),
        np.ones(len(widths)),
        eta=(0.05,) * len(widths),
        link=link,
        noise=1.5,
        priors=Priors(p=(12.0, 12.0), c=(16.0, 12.0)),  # all moments that are compared exist
    )


def draw(model, documents, seed):
    """Exact draws of units and data given Φ and r."""
    given = {f"phi{t}": phi for t, phi in enumerate(model.phi, 1)} | {"r": model.r}
    if model.link == "gamma":
        given["noise"] = model.noise
    return model.network.generate(seed, {"doc": documents, "term": TERMS}, given)


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PgbnWarning)
        return infer(*args, **kwargs)


def calibration(model, joint, found):
    """z-scores of E[(θ − E[θ|x]) h(x)] = 0 for several h, and of E[(θ − E[θ|x])² − Var[θ|x]] = 0.

    The law of total expectation holds for exact draws of (θ, x) and the exact posterior, and for
    nothing else that is likely: the joint-distribution test for one document.
    """
    x = joint["x"]
    weights = [np.ones(len(x)), np.log1p(x.sum(axis=1)), (x > 0).mean(axis=1)]
    weights += [np.log1p(x[:, v]) for v in range(TERMS)]
    scores = []
    for t in found.layers:
        theta = joint[f"theta{t}"]
        share = theta / np.maximum(theta.sum(axis=1, keepdims=True), 1e-300)
        for true, mean, deviation in (
            (theta, found[f"theta{t}"], found.sd[f"theta{t}"]),
            (share, found.proportions[f"theta{t}"], found.proportions_sd[f"theta{t}"]),
        ):
            error = true - mean
            columns = [error * weight[:, None] for weight in weights] + [error**2 - deviation**2]
            for column in columns:
                scores += list(column.mean(axis=0) / column.std(axis=0) * np.sqrt(len(x)))
    return np.array(scores)
