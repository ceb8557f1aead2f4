"""New rows by workers that have a memory of their own: the bits of threads, in any split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.samplers.worker_pool import WorkerLost
from tests.engine.shards.test_driver import CASES, X
from tests.helpers.workers_here import Spread, WorkersHere

NEW = np.vstack([X[:61], np.zeros((1, X.shape[1]), int)])  # one of them empty
OPTIONS: dict[str, Any] = {"burn_in": 3, "draws": 4, "seed": 5}


def given(network: pgbn.Network, data: dict[str, Any], sampler: str) -> Any:
    keep = [name for name in network.latent if "doc" not in network[name].axes]
    return network.sample(data, 2, 2, sampler=sampler, threads=1, keep=keep, progress=False)


def assert_same_rows(one: Any, other: Any) -> None:
    assert set(one) == set(other)
    for name in one:
        assert np.array_equal(one[name], other[name]), name
        assert np.array_equal(one.sd[name], other.sd[name]), name


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("more", [{}, {"keep": "draws", "quantiles": (0.1, 0.9)}])
def test_the_bits_are_those_of_threads(name: str, more: dict[str, Any]) -> None:
    network, sampler, data = CASES[name]
    draws = given(network, data, sampler)
    new = {n: (NEW if n == "x" else array[: len(NEW)]) for n, array in data.items()}
    if name == "bernoulli":
        new = {"x": np.minimum(NEW, 1)}
    here = network.infer(new, draws, threads=1, **OPTIONS, **more)
    for workers in (1, 3):
        executor = Spread(workers)
        there = network.infer(new, draws, executor=executor, **OPTIONS, **more)
        assert executor.here.asked >= workers
        assert_same_rows(there, here)
        for each in here.draws:
            assert np.array_equal(there.draws[each], here.draws[each])
        for each in here.quantiles:
            assert np.array_equal(there.quantiles[each], here.quantiles[each])


def test_hidden_units_of_several_draws() -> None:
    trained = pgbn.train_layerwise(X, 8, 2, burn_in=3, sweeps=4, keep_draws=2, threads=1,
                                   progress=False).deepest  # fmt: skip
    with pytest.warns(pgbn.errors.PgbnWarning, match="no known term"):
        here = trained.infer(NEW, threads=1, **OPTIONS)
    for workers in (1, 2, 80):
        executor = Spread(workers, loses=0.05, seed=workers)
        with pytest.warns(pgbn.errors.PgbnWarning, match="no known term"):
            there = trained.infer(NEW, executor=executor, **OPTIONS)
        for t in here.layers.values():
            for one, other in (
                (here.proportions, there.proportions),
                (here.proportions_sd, there.proportions_sd),
                (here.means, there.means),
                (here.sd, there.sd),
            ):
                assert np.array_equal(one[t], other[t]), t


def test_any_network_as_an_estimator() -> None:
    """Fitted on threads ("auto" is a sampler that cannot be spread), its new rows by workers."""
    options: dict[str, Any] = {"burn_in": 2, "draws": 2, "thin": 1, "random_state": 0}
    fitted = pgbn.NetworkTransformer(zoo.lda(5), n_jobs=1, **options).fit(X)
    here = fitted.transform(X[:40])
    fitted.set_params(n_jobs=None, executor=Spread(2))
    assert np.array_equal(fitted.transform(X[:40]), here)


def _double(room: Any, number: int) -> int:
    return 2 * number


def test_jobs_are_done_in_order_whoever_is_lost() -> None:
    pool, lost = WorkersHere(3, loses=0.2, seed=1), 0
    for _ in range(5):
        assert list(pool.map(_double, ((n,) for n in range(20)))) == list(range(0, 40, 2))
        lost += pool.lost
    assert lost > 0
    with pytest.raises(WorkerLost):
        list(WorkersHere(2, loses=1.0).map(_double, [(1,)]))
