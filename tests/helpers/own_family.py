"""A family of networks that is in no zoo: words with a background and an inferred η, and labels, on
layers whose nodes have names of their own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import pgbn as pg

__all__ = ["DATA", "MODALITIES", "MULTIMODAL", "own_family", "two_families"]


def own_family(widths: Sequence[int]) -> pg.Network:
    """The network of these widths."""
    sizes = {f"level{t}": width for t, width in enumerate(widths, 1)}
    depth = len(widths)
    mass, slowness = pg.Gamma("mass", 1.0, 1.0), pg.Gamma("slowness", 1.0, 1.0)
    shape: Any = pg.Gamma("weight", mass / widths[-1], slowness, dims=f"level{depth}")
    for t in range(depth, 0, -1):
        rate = pg.Gamma(f"rate{t}", 1.0, 1.0, dims="doc")
        scores = pg.Gamma(f"scores{t}", shape, rate, dims=("doc", f"level{t}"))
        if t > 1:
            shape = pg.Dirichlet(f"links{t}", 0.1, over=f"level{t - 1}", dims=f"level{t}") @ scores
    eta = pg.Gamma("eta", 1.0, 10.0)
    topics = pg.Dirichlet("topics", eta, over="word", dims="level1")
    background = pg.Dirichlet("background", 0.5, over="word")
    amount = pg.Gamma("amount", 1.0, 1.0, dims="doc")
    words = pg.Poisson("words", topics @ scores + background * amount, dims=("doc", "word"))
    effects = pg.Dirichlet("effects", 0.5, over="label", dims="level1")
    labels = pg.BernoulliPoisson("labels", effects @ scores, dims=("doc", "label"))
    return pg.Network(words, labels, sizes=sizes)


def _data() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    themes = rng.dirichlet(np.full(25, 0.1), 3)
    share = rng.gamma(0.5, 12.0, (40, 3))
    labels = (share @ rng.gamma(0.5, 0.2, (3, 4)) > rng.exponential(1.0, (40, 4))).astype(int)
    return {"words": rng.poisson(share @ themes), "labels": labels}


DATA = _data()
MODALITIES = {"words": "poisson", "labels": "bernoulli"}
MULTIMODAL = partial(pg.zoo.multimodal, modalities=MODALITIES)
two_families = {"multimodal": MULTIMODAL, "own": own_family}
