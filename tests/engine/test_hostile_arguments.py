"""Arrays and absurd numbers where something else is meant: the error names the argument."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn.testing import check_conjugacy, geweke, z_counts, z_mean
from pgbn.training.checkpoints import train_with_checkpoints

X = np.random.default_rng(0).poisson(1.0, (12, 9))
ARRAYS = [np.array([1, 2]), np.array(["poisson", "gamma"]), np.zeros((2, 0)), np.array([None, {}])]
NETWORK = pgbn.zoo.pgbn([3, 2])
WITH_ARRAY: dict[str, Callable[[np.ndarray], object]] = {
    "link of the zoo": lambda a: pgbn.zoo.pgbn([3, 2], link=a),
    "link of a training": lambda a: pgbn.train_layerwise(X, 3, 1, link=a),
    "sampler of a training": lambda a: pgbn.train_layerwise(X, 3, 1, sampler=a),
    "sampler of a chain": lambda a: NETWORK.chain({"x": X}, sampler=a),
    "sampler of draws": lambda a: NETWORK.sample({"x": X}, 1, 1, sampler=a),
    "start of a chain": lambda a: NETWORK.chain({"x": X}, start=a),
    "sizes of generate": lambda a: NETWORK.generate(sizes=a),
    "sizes of one dim": lambda a: NETWORK.generate(sizes={"doc": a, "term": 3}),
    "sizes of prior_predictive": lambda a: NETWORK.prior_predictive(sizes=a),
    "sizes of replicates": lambda a: pgbn.Chain._replicated(NETWORK, a, 3),
    "sizes of geweke": lambda a: geweke(NETWORK, a, 10, 1),
    "sizes of check_conjugacy": lambda a: check_conjugacy(NETWORK, a),
    "progress of a training": lambda a: pgbn.train_layerwise(X, 3, 1, progress=a),
    "progress of minibatches": lambda a: pgbn.train_minibatch(X, 3, steps=1, progress=a),
    "network of a chain": lambda a: pgbn.Chain._of_data(a, {"x": X}),
    "keep of draws": lambda a: NETWORK.sample({"x": X}, 1, 1, keep=a),
    "mean of a score": lambda a: z_mean([1, 2], a),
    "pmf of a score": lambda a: z_counts([1, 2], a),
    "top of a score": lambda a: z_counts([1, 2], np.ones_like, a),
    "ordered pairs": lambda a: pgbn.distinct(pgbn.Gamma("g", 1, 1, dims="i"), "i", "j", ordered=a),
    "name of a node": lambda a: pgbn.Gamma(a, 1.0, 1.0),
    "prune": lambda a: NETWORK.prune({}, a, [0]),
    "rows of append": lambda a: NETWORK.chain({"x": X}, threads=1).append({"x": X}, rows=a),
    "network of replicates": lambda a: pgbn.Chain._replicated(a, {}, 2),
    "indent of JSON": lambda a: NETWORK.to_json(indent=a),
    "minutes of a run": lambda a: pgbn.resume("nowhere", minutes=a),
}


@pytest.mark.parametrize("array", ARRAYS, ids=["whole", "text", "empty", "objects"])
@pytest.mark.parametrize("case", WITH_ARRAY)
def test_arrays(case: str, array: np.ndarray) -> None:
    with pytest.raises(pgbn.PgbnError, match=rf"\b{case.split()[0]}(=|: )"):
        WITH_ARRAY[case](array)


@pytest.mark.parametrize("number", [10**400, -(10**400)], ids=["huge", "minus huge"])
def test_numbers_that_no_float_holds(number: int) -> None:
    theta = NETWORK.nodes["theta1"]
    operations: list[Callable[[], object]] = [
        lambda: theta * number, lambda: number * theta, lambda: theta + number,
        lambda: number + theta, lambda: theta / number, lambda: theta @ number,
        lambda: pgbn.Gamma("g", number, 1.0), lambda: pgbn.Gamma("g", 1.0, rate=number),
    ]  # fmt: skip
    for operation in operations:
        with pytest.raises(pgbn.PgbnError, match=r"100000") as caught:
            operation()
        assert len(str(caught.value)) < 400


def odd_names() -> list[object]:
    return [np.array([1, 2]), {"a": 1}, 3, None, "nosuch", pgbn.zoo, int]


def test_names_that_are_none() -> None:
    """A node is asked for by its name; "latent" was the role of whatever is not there."""
    chain = NETWORK.chain({"x": X}, threads=1)
    for odd in odd_names():
        for ask in (NETWORK.role, NETWORK.__getitem__, chain.imputed):
            with pytest.raises(pgbn.PgbnError, match=r"there is no node|not an observed node"):
                ask(odd)
    with pytest.raises(pgbn.PgbnError, match="network='x' is no"):
        pgbn.Chain._replicated("x", {}, 2)
    with pytest.raises(pgbn.PgbnError, match="indent=slice"):
        NETWORK.to_json(indent=slice(None))


@pytest.mark.parametrize("sweeps", [10**400, 1e300, [10**30]])
def test_sweeps_without_end(sweeps: object) -> None:
    for argument in ("burn_in", "sweeps"):
        with pytest.raises(pgbn.PgbnError, match=f"{argument}=.*below 2"):
            pgbn.train_layerwise(X, 3, 1, progress=False, **{argument: sweeps})


def test_minutes_that_no_float_holds(tmp_path: Path) -> None:
    with pytest.raises(pgbn.PgbnError, match="minutes=1000"):
        train_with_checkpoints(X, tmp_path / "m", max_width=3, depth=1, minutes=10**400)
