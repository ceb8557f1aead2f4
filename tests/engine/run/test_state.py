"""States that do not fit a chain are rejected in words."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from tests.helpers.small_data import equal_arrays

X = np.random.default_rng(0).poisson(2.0, (6, 5))


@pytest.fixture(scope="module")
def chain() -> pg.Chain:
    return pg.zoo.gated_pfa(3).chain({"x": X}, sampler="composed").sweep(2)


@pytest.mark.parametrize("sampler", ["composed", "collapsed", "blocked"])
def test_a_chain_continues_from_its_state(sampler: str) -> None:
    """Lists of numbers will do; values that are drawn on demand may be missing."""
    first, again = (pg.zoo.pfa(3).chain({"x": X}, sampler=sampler) for _ in range(2))
    state = first.sweep(2).state()
    assert ("values/theta1" in state) == (sampler != "collapsed")
    again.restore({p: v if "sampler" in p else v.tolist() for p, v in state.items()}, 2)
    assert equal_arrays(first.values, again.values)
    assert equal_arrays(first.sweep().values, again.sweep().values)
    del state["values/r"]
    with pytest.raises(pg.DataError, match="restore: the state has no value of 'r'"):
        again.restore(state, 2)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("values", 1.0, "'values' is no entry of a state"),
        ("counts/x", 1.0, "'counts/x' is no entry"),
        ("valves/r", 1.0, "'valves/r' is no entry"),
        (3, 1.0, "3 is no entry"),
        ("values/thet", 1.0, "no such 'thet'. Did you mean 'theta'"),
        ("counts/x/zz", 1, "no such 'zz'. Known: "),
        ("counts/zz/r", 1, "no such 'zz'"),
        ("latent_counts/zz", 1, "no such 'zz'. Known: x"),
        ("drawn/x/rate", 1.0, "no random exposure"),
        ("values/r", "a", "give an array of numbers"),
        ("values/r", [[1.0], [1.0, 2.0]], "rows of unequal length"),
        ("values/r", [[1.0, 2.0]], "same network and data"),
        ("values/r", [[1.0, np.nan, 1.0]], "values/r has the value nan"),
        ("values/r", [[1.0, -2.0, 1.0]], "values/r has the value -2"),
        ("values/phi", np.full((1, 5, 3), 0.3), "values/phi sums to 1.5 over 'term'"),
        ("values/h", np.full((1, 6, 3), 0.5), "a gate is 0 or 1"),
        ("counts/x/phi", np.full((1, 5, 3), -1), "counts/x/phi must hold integers of at least 0"),
        ("counts/x/phi", np.full((1, 5, 3), np.nan), "must hold integers"),
        ("latent_counts/x", np.full((X > 0).sum(), -1), "must hold integers of at least 0"),
    ],
)
def test_wrong_entries_are_named(chain, path, value, words) -> None:
    good = chain.state()
    with pytest.raises(pg.DataError, match=f"^restore: .*{words}"):
        chain.restore({**good, path: value}, 2)
    assert equal_arrays(chain.state(), good)  # and nothing was taken over


def test_a_state_is_a_dict(chain) -> None:
    with pytest.raises(
        pg.DataError, match=r"a state of type list; give the dict that Chain\.state"
    ):
        chain.restore([1], 2)


def test_random_exposures_are_checked() -> None:
    chain = pg.zoo.hdp_lda(3, total=3).chain({"x": X}, sampler="composed").sweep(2)
    good = chain.state()
    exposure = good["drawn/theta/concentration"]
    for bad, words in ((exposure[:, :, :1], "has 1 numbers"), (-exposure, "negative or NaN"),
                       (exposure * np.nan, "negative or NaN")):  # fmt: skip
        with pytest.raises(pg.DataError, match=words):
            chain.restore({**good, "drawn/theta/concentration": bad}, 2)


@pytest.mark.parametrize("sampler", ["collapsed", "partial", "blocked"])
def test_states_of_samplers_are_checked(sampler: str) -> None:
    """Kernels index with labels: no state may lead them astray."""
    chain = pg.zoo.pgbn([6]).chain({"x": X}, 1, sampler=sampler).sweep(2)
    good = chain.state()
    for name, array in good.items():
        if name.startswith("sampler/") and name != "sampler/key":
            beyond = array + 2**15 if sampler != "blocked" else array[None]
            negative = -1 - array.astype(int)
            for bad in (beyond, array[:-1], negative, array.astype(float)):
                with pytest.raises(pg.DataError):
                    chain.restore({**good, name: bad}, 2)
    if sampler == "collapsed":
        shuffled = np.roll(good["sampler/topics_of_words"], 1)
        with pytest.raises(pg.DataError, match="contradicts"):
            chain.restore({**good, "sampler/topics_of_words": shuffled}, 2)


def test_what_a_row_passes_back_is_not_restored() -> None:
    """It is drawn before it is read, whatever a state says."""
    network = pg.zoo.gp_dpfa(2)
    data = network.generate(1, {"time": 4, "term": 3})
    chain, again = (network.chain({"x": data["x"]}).sweep(2) for _ in range(2))
    state = chain.state()
    again.restore({**state, "counts/theta/self": [-1]}, 2)
    assert equal_arrays(chain.sweep().values, again.sweep().values)
