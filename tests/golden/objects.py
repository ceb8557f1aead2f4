"""What is written: small objects of every kind that pgbn can save, by name.

The data are made by arithmetic, so that they need no random generator to be made again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgbn as pg

__all__ = ["CHECKPOINTS", "NAMES", "SAVED", "TITLES", "documents", "train"]

ROWS, TERMS = 12, 9
NAMES = [f"word {v}" for v in range(TERMS - 1)] + ["Größe"]
TITLES = [f"text {j}" for j in range(ROWS)]
PRIORS = pg.Priors(p=(0.1, 0.2), c=(2.0, 1.0), c0=(1.0, 3.0), gamma0=(0.5, 0.5), noise=(2.0, 2.0))
FEW: dict[str, Any] = {"burn_in": 4, "collect": 3, "min_width": 1, "seed": 2, "threads": 1}


def documents(link: str = "poisson", masked: bool = False) -> NDArray[Any]:
    """12 documents × 9 terms of two themes."""
    row, column = np.indices((ROWS, TERMS))
    x = np.where((row + column) % 2 == 0, (7 * row + 5 * column) % 6, (3 * row * column) % 11 // 9)
    if link == "bernoulli":
        x = (x > 0).astype(np.int64)
    elif link == "gamma":
        x = x * (1.0 + (row + 2 * column) % 5 / 8.0)
    return np.ma.masked_array(x, mask=(row * TERMS + column) % 10 == 4) if masked else x


def train(link: str = "poisson", depth: int = 2, masked: bool = False, **more: Any) -> Any:
    """A training of a few sweeps."""
    settings = {"max_width": 5, **FEW, **more}
    return pg.train_layerwise(documents(link, masked), depth=depth, link=link, progress=False,
                              **settings)  # fmt: skip


def _chain(network: pg.Network, data: dict[str, Any], layer1: str = "auto", sweeps: int = 3) -> Any:
    return network.chain(data, seed=3, chain=1, layer1=layer1, threads=1).sweep(sweeps)


def _deep(layer1: str, sweeps: int = 3) -> Any:
    return _chain(pg.zoo.pgbn([4, 3]), {"x": documents()}, layer1, sweeps)


def _link(link: str, masked: bool = False) -> Any:
    return _chain(pg.zoo.pgbn([4, 3], link=link), {"x": documents(link, masked)})


def _own_order() -> Any:
    network = pg.zoo.pgbn([4, 3]).with_order(
        ["counts(x)", "phi1", "counts(theta1)", "phi2", "counts(theta2)", "counts(r)", "p2", "c3",
         "c0", "gamma0", "r", "theta2", "theta1"]
    )  # fmt: skip
    return _chain(network, {"x": documents()}, "blocked")


def _multimodal() -> Any:
    links = {"words": "poisson", "tags": "bernoulli", "ratings": "gamma"}
    return _chain(
        pg.zoo.multimodal([4, 3], links), {name: documents(links[name]) for name in links}
    )


def _in_time() -> Any:
    return _chain(pg.zoo.pgds(3), {"x": documents()})


def _estimator(kind: str, **more: Any) -> Any:
    few = {"burn_in": 4, "collect": 3, "transform_burn_in": 3, "transform_samples": 4,
           "random_state": 5, **more}  # fmt: skip
    if kind == "PFA":
        return pg.PFA(4, **few)
    return pg.PGBN(5, 2, min_width=1, **few)


def _of_a_data_frame() -> Any:
    import pandas

    return _estimator("PFA").fit(pandas.DataFrame(documents(), columns=NAMES))


def _labelled() -> Any:
    model = train().deepest.without_state()
    return model.with_labels({(1, 0): "weather", (2, 1): "travel"})


def _gamma_estimator() -> Any:
    return _estimator("PFA", priors=PRIORS, eta=0.1).fit(documents("gamma"))


BESIDE: dict[str, Any] = {
    "vocabulary": NAMES, "labels": TITLES, "record": {"corpus": "made up", "number": 1.5},
    "data": documents(),
}  # fmt: skip

# by name: the object, and what is saved beside it
SAVED: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "network": (lambda: pg.zoo.pgbn([4, 3], eta=[0.1, 0.2], link="gamma"), {}),
    "chain-collapsed": (lambda: _deep("collapsed"), {}),
    "chain-partial": (lambda: _deep("partial"), {}),
    "chain-blocked": (lambda: _deep("blocked"), {}),
    "chain-composed": (lambda: _deep("composed"), {}),
    "chain-at-its-beginning": (lambda: _deep("auto", 0), {}),
    "chain-bernoulli": (lambda: _link("bernoulli"), {}),
    "chain-gamma": (lambda: _link("gamma"), {}),
    "chain-masked": (lambda: _link("poisson", masked=True), {}),
    "chain-lda": (lambda: _chain(pg.zoo.lda(4), {"x": documents()}, "partial"), {}),
    "chain-own-order": (_own_order, {}),
    "chain-multimodal": (_multimodal, {}),
    "chain-in-time": (_in_time, BESIDE),
    "trained": (lambda: train().deepest, {}),
    "trained-without-state": (_labelled, {"vocabulary": NAMES}),
    "training": (train, BESIDE),
    "training-bernoulli": (lambda: train("bernoulli"), {}),
    "training-gamma": (lambda: train("gamma", priors=PRIORS, eta=[0.1, 0.2]), {}),
    "training-masked": (lambda: train(masked=True, depth=1), {"vocabulary": NAMES}),
    "training-with-states": (lambda: train(keep_states=True, average=2), {}),
    "estimator-PGBN": (lambda: _estimator("PGBN").fit(documents()), {"vocabulary": NAMES}),
    "estimator-PGBN-not-fitted": (lambda: _estimator("PGBN", priors=PRIORS), {}),
    "estimator-PFA-gamma": (_gamma_estimator, {}),
    "estimator-PFA-of-a-data-frame": (_of_a_data_frame, {}),
}

# by name: the sweep after which the last checkpoint was written, and the arguments
CHECKPOINTS: dict[str, tuple[int, dict[str, Any]]] = {
    "stopped-in-the-first-layer": (2, {}),
    "stopped-in-the-second-layer": (9, {"vocabulary": NAMES, "labels": TITLES,
                                        "record": {"corpus": "made up"}}),
    "stopped-while-collecting": (13, {"average": 2}),
    "stopped-bernoulli": (9, {"link": "bernoulli"}),
    "stopped-gamma": (12, {"link": "gamma", "priors": PRIORS, "eta": [0.1, 0.2, 0.3]}),
    "stopped-masked": (9, {"masked": True}),
}  # fmt: skip
