"""New rows in a running chain: old values stay, new ones have their law, the chain goes on."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError

X = np.random.default_rng(0).poisson(1.0, (20, 6))
PRIORS = {"p_prior": (3.0, 4.0), "c0_prior": (4.0, 4.0), "gamma0_prior": (4.0, 2.0), "eta": 0.8}


@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_old_values_stay_and_all_rows_are_there(sampler) -> None:
    chain = pgbn.zoo.pgbn((4, 3)).chain({"x": X[:12]}, seed=1, sampler=sampler).sweep(5)
    before = {name: np.array(value) for name, value in chain.values.items()}
    joined = chain.append({"x": X[12:]}, sweeps=3)
    assert (joined.sampler, joined.sweeps) == (chain.sampler, 5)
    np.testing.assert_array_equal(joined._program.cells["x"].dense()[0], X)
    for name, value in before.items():
        now = joined.values[name]
        np.testing.assert_array_equal(
            now[:12] if "doc" in joined.network[name].axes else now, value
        )
    assert joined.values["theta1"].shape == (20, 4)
    assert joined.sweep(2).sweeps == 7
    assert np.isfinite(joined.log_joint())
    again = chain.append({"x": X[12:]}, sweeps=3).sweep(2)
    np.testing.assert_array_equal(again.values["phi1"], joined.values["phi1"])


def scores(replicates: int, hold: bool) -> np.ndarray:
    """z of what rows share: chains at exact draws of a part of the rows get the others, and sweep:
    the joint law stays. ``hold=False`` breaks it: new rows begin with data of another draw."""
    network, sizes = pgbn.zoo.pfa(2, **PRIORS), {"doc": 6, "term": 4}
    before, after = [], []
    for seed in range(replicates):
        drawn = network.generate(seed=3 * seed, sizes=sizes)
        other = network.generate(seed=3 * seed + 1, sizes=sizes)
        init = {n: v[:3] if "doc" in network[n].axes else v for n, v in drawn.items() if n != "x"}
        chain = network.chain({"x": drawn["x"][:3]}, seed=seed, start=init)
        joined = chain.append({"x": (drawn if hold else other)["x"][3:] * (1 if hold else 3)},
                              sweeps=30).sweep(2)  # fmt: skip
        for kept, values in ((before, other), (after, joined.values)):
            r, c0 = values["r"], values["c0"]
            kept.append([(values["phi1"] ** 2).sum(), r.sum(), values["gamma0"], c0, r.sum() * c0,
                         np.log1p(values["theta1"]).sum()])  # fmt: skip
    one, two = np.array(before), np.array(after)
    spread = np.sqrt((one.var(axis=0) + two.var(axis=0)) / replicates)
    return (two.mean(axis=0) - one.mean(axis=0)) / spread


@pytest.mark.long
def test_the_joint_law_stays() -> None:
    assert np.abs(scores(8000, hold=True)).max() < 4


@pytest.mark.long
def test_wrong_rows_are_seen() -> None:
    assert np.abs(scores(600, hold=False)).max() > 5


@pytest.mark.parametrize(("data", "words"), [
    (X[:3, :5], "5"),
    (-X[:3], "negative"),
    (np.ma.masked_array(X[:3], X[:3] > 2), "missing cells"),
])  # fmt: skip
def test_wrong_rows_are_refused(data, words) -> None:
    chain = pgbn.zoo.pfa(3).chain({"x": X[:12]}, seed=1)
    with pytest.raises(DataError, match=words):
        chain.append({"x": data})


def test_a_network_whose_rows_depend_on_each_other_is_refused() -> None:
    chain = pgbn.zoo.pgds(2).chain({"x": X}, seed=1)
    with pytest.raises(pgbn.PgbnError, match="rows"):
        chain.append({"x": X[:2]})
