"""Save, load and go on; stop and resume: the result is that without the interruption."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import pgbn as pg
from pgbn.training.checkpoints import train_with_checkpoints

from . import chains, training
from .digest import digest
from .networks import LARGE_SIZES, data_for, large_zoo
from .registry import case

__all__: list[str] = []

SETTINGS: dict[str, Any] = {
    name: value for name, value in training.SETTINGS.items() if name != "progress"
}


class _PowerCut(Exception):
    """What ends a training in the middle."""


def _saved_chain(network: pg.Network, data: Any, sampler: str, threads: int) -> object:
    whole = network.chain(data, seed=2, sampler=sampler, threads=threads).sweep(2)
    with TemporaryDirectory() as folder:
        pg.save(whole, folder)
        again = pg.load(folder, threads=threads)
    found = [chains.everything_of(chain.sweep(2)) for chain in (whole, again)]
    assert digest(found[0]) == digest(found[1]), "a loaded chain does not go on as it would have"
    return found[0]


def _resumed(threads: int, stop: int, **changes: Any) -> object:
    """A training that a power cut ended after ``stop`` sweeps, resumed."""
    settings = {**SETTINGS, **changes}
    X = training.documents(settings.get("link", "poisson"))

    def fail(event: pg.Event) -> None:
        if event.done == stop:
            raise _PowerCut

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        try:
            train_with_checkpoints(X, path, minutes=None, every=3, share=1e9, callback=fail,
                                threads=threads, progress=False, **settings)  # fmt: skip
        except _PowerCut:
            pass
        else:
            raise AssertionError("the training was to be interrupted")
        resumed = pg.resume(path, threads=threads, progress=False)
        loaded = pg.load(path)
    whole = pg.train_layerwise(X, threads=threads, progress=False, **settings)
    found = [digest(training.everything_of(each)) for each in (resumed, loaded, whole)]
    assert len(set(found)) == 1, "resumed, loaded and uninterrupted trainings differ"
    return training.everything_of(resumed)


def _saved_estimator(threads: int) -> object:
    X, new = training.documents(), training.documents(rows=10, seed=2)
    model = pg.PGBN(10, 2, burn_in=5, sweeps=3, min_width=1, transform_burn_in=3,
                    transform_draws=4, random_state=1, n_jobs=threads).fit(X)  # fmt: skip
    with TemporaryDirectory() as folder:
        pg.save(model, folder)
        again = pg.load(folder)
    assert np.array_equal(model.transform(new), again.transform(new))
    return [again.transform(new), again.score(new), training.everything_of(again.training_)]


def _add_chains() -> None:
    zoo = large_zoo()
    for name, sampler in (
        ("gated_pfa", "auto"),
        ("hdp_lda", "auto"),
        ("pgbn poisson", "collapsed"),
    ):

        def run(threads: int, network: pg.Network = zoo[name], sampler: str = sampler) -> object:
            return _saved_chain(network, data_for(network, LARGE_SIZES), sampler, threads)

        case(f"saved chain/{name}/{sampler}", run)

    def masked(threads: int) -> object:
        data = data_for(zoo["pfa"], LARGE_SIZES)["x"]
        hidden = (np.arange(data.size) % 11 == 5).reshape(data.shape)
        return _saved_chain(
            zoo["pfa"], {"x": np.ma.masked_array(data, mask=hidden)}, "auto", threads
        )

    case("saved chain/masked", masked)


def _add_trainings() -> None:
    trainings: dict[str, Callable[[int], object]] = {
        "first layer": lambda threads: _resumed(threads, 5),
        "second layer": lambda threads: _resumed(threads, 14),
        "collecting": lambda threads: _resumed(threads, 10),
        "blocked": lambda threads: _resumed(threads, 19, sampler="blocked", depth=2),
    }
    for name, run in trainings.items():
        case(f"resumed/{name}", run)
    case("saved estimator/PGBN", _saved_estimator)


_add_chains()
_add_trainings()
