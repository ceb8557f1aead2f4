"""Layer-wise training, the estimators, and hidden units of new documents."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgbn as pg
from pgbn.training.numbering import numbered_as_in_chain

from .networks import topical
from .registry import case

__all__ = ["documents", "everything_of", "train", "trained"]

LINKS = ("poisson", "bernoulli", "gamma")
SETTINGS: dict[str, Any] = {
    "max_width": 15, "depth": 3, "burn_in": 6, "sweeps": 4, "average": 2, "min_width": 1,
    "trace_every": 3, "seed": 5, "progress": False,
}  # fmt: skip


def documents(link: str = "poisson", rows: int = 60, seed: int = 1) -> NDArray[Any]:
    """Documents × 80 terms for a link."""
    counts = topical(rows, 80, 0.6, seed)
    if link == "bernoulli":
        return (counts > 0).astype(np.int64)
    if link == "gamma":
        return counts * np.random.default_rng(seed).uniform(0.5, 1.5, counts.shape)
    return counts


def everything_of(training: pg.LayerwiseTraining) -> object:
    """All that a training has found, network by network, with the numbers that topics had in the
    chain."""
    fields = ("phi", "r", "c", "eta", "link", "noise", "weights", "traces", "state", "sweeps")
    networks = [
        {name: getattr(network, name) for name in fields} | {"priors": vars(network.priors)}
        for network in map(numbered_as_in_chain, training)
    ]
    return [training.widths, training.stopped, networks]


def train(X: Any, threads: int, **changes: Any) -> pg.LayerwiseTraining:
    """A training of a few sweeps."""
    return pg.train_layerwise(X, threads=threads, **{**SETTINGS, **changes})


@cache
def trained(link: str = "poisson", depth: int = 2) -> pg.LayerwiseTraining:
    """A trained network for cases that are about something else."""
    return train(documents(link), 1, link=link, depth=depth)


def _pruned(link: str, threads: int) -> object:
    """Wide enough, and long enough, that factors of every layer are removed."""
    found = train(documents(link), threads, link=link, max_width=80, burn_in=30)
    assert 80 > found.widths[0] > found.widths[1] > found.widths[2], found.widths
    return everything_of(found)


def _add_training() -> None:
    def add(name: str, link: str = "poisson", **changes: Any) -> None:
        def run(threads: int) -> object:
            return everything_of(train(documents(link), threads, link=link, **changes))

        case(f"train/{name}", run)

    for link in LINKS:
        add(link, link)
    case("train/pruned bernoulli", lambda threads: _pruned("bernoulli", threads))

    def events(threads: int) -> object:
        seen: list[object] = []
        train(documents(), threads, callback=lambda e: seen.append(
            [e.depth, e.phase, e.sweep, e.sweeps, e.done, e.total, e.widths, e.log_likelihood]
        ))  # fmt: skip
        return seen

    def longer(threads: int) -> object:
        first = train(documents(), threads, depth=2)
        return everything_of(train(documents(), threads, depth=2, start_from=first))

    case("train/events", events)
    case("train/longer", longer)


def _add_surgery() -> None:
    def prune(threads: int) -> object:
        network = pg.zoo.pgbn([8, 5])
        state = network.chain({"x": documents()}, seed=1, threads=threads).sweep(2).values
        kept = network.prune(state, "topic1", [0, 2, 3, 7], rescale="gamma0")
        larger = network.with_sizes(topic2=7)
        grown = larger.grow(state, {"r": 0.5, "theta2": 0.1, "phi2": 0.125})
        return [kept, grown]

    case("surgery/prune and grow", prune)


def _fitted(estimator: Any, X: Any, new: Any) -> list[object]:
    """All that a fitted estimator gives."""
    return [
        estimator.components_, estimator.widths_, estimator.n_iter_, estimator.link_,
        everything_of(estimator.training_), estimator.transform(X), estimator.transform(new),
        estimator.score(new), estimator.inverse_transform(estimator.transform(new)),
        estimator.get_feature_names_out(), [str(topic) for topic in estimator.topics(top=4)],
    ]  # fmt: skip


def _add_estimators() -> None:
    few: dict[str, Any] = {"burn_in": 6, "sweeps": 4, "transform_burn_in": 4,
                           "transform_draws": 5, "random_state": 3}  # fmt: skip

    def deep(threads: int, link: str = "auto", data: str = "poisson") -> object:
        X, new = documents(data), documents(data, 20, seed=2)
        model = pg.PGBN(12, 2, link=link, min_width=1, n_jobs=threads, **few).fit(X)
        every = [model.set_params(layer=layer).transform(new) for layer in (2, None)]
        model.set_params(layer=1)
        return [_fitted(model, X, new), every, model.generate(3)["x"]]

    def flat(threads: int) -> object:
        X, new = documents(), documents(rows=20, seed=2)
        model = pg.PFA(12, eta=0.1, n_jobs=threads, **few).fit(X)
        generated = model.generate(3, length=10)["x"]
        scores = [model.perplexity(new), model.perplexity(new, new)]
        return [_fitted(model, X, new), generated, scores]

    def warm(threads: int) -> object:
        X = documents()
        model = pg.PGBN(12, 1, min_width=1, warm_start=True, n_jobs=threads, **few).fit(X)
        deeper = everything_of(model.set_params(depth=2).fit(X).training_)
        return [deeper, everything_of(model.fit(X).training_)]

    case("estimator/PGBN", deep)
    case("estimator/PGBN gamma", lambda threads: deep(threads, data="gamma"))
    case("estimator/PFA", flat)
    case("estimator/warm start", warm)


def _units(found: pg.NewRows) -> object:
    parts = (found.proportions, found.proportions_sd, found.means, found.sd)
    by_layer = [{t: part[name] for t, name in found.layers.items() if name in part}
                for part in parts]  # fmt: skip
    unknown = (found.attributes[f"unknown_{what}"] for what in ("terms", "tokens"))
    return [tuple(found.layers), *by_layer, found.empty, *unknown, found.features()]


def _infer(threads: int, X: Any, link: str = "poisson", depth: int = 2, **options: Any) -> object:
    settings = {"burn_in": 5, "draws": 6, "seed": 9, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pg.PgbnWarning)  # of documents without known terms
        return _units(trained(link, depth).infer(X, threads=threads, **settings))


def _add_inference() -> None:
    for link, depth in (("poisson", 3), ("bernoulli", 2), ("gamma", 2)):
        case(f"infer/{link} {depth}", lambda t, link=link, depth=depth: _infer(
            t, documents(link, 150, seed=2), link, depth))  # fmt: skip
    names = [f"word{v}" for v in range(80)]
    new = documents(rows=40, seed=2)
    case("infer/large counts", lambda t: _infer(t, 5000 * new))
    case("infer/names", lambda t: _infer(
        t, new[:, ::-1], terms=[*names[:70], *(f"new{v}" for v in range(10))], vocabulary=names
    ))  # fmt: skip


_add_training()
_add_surgery()
_add_estimators()
_add_inference()
