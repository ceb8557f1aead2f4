"""States that do not fit a chain are refused in words."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.engine.run.state import read_tables

X = np.random.default_rng(0).poisson(2.0, (6, 5))


@pytest.fixture(scope="module")
def chain() -> pg.Chain:
    return pg.zoo.gated_pfa(3).chain({"x": X}, layer1="composed").sweep(2)


@pytest.mark.parametrize("layer1", ["composed", "collapsed", "blocked"])
def test_lists_of_numbers_will_do(layer1) -> None:
    first, again = (pg.zoo.pfa(3).chain({"x": X}, layer1=layer1) for _ in range(2))
    state = first.sweep(2).state()
    plain = {p: value if "sampler" in p else value.tolist() for p, value in state.items()}
    again.restore(plain, 2).sweep()
    for name, value in first.sweep().values.items():
        assert np.array_equal(value, again.values[name])


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
    after = chain.state()  # and nothing was taken over
    assert all(np.array_equal(after[name], good[name]) for name in good)


def test_a_state_is_a_dict(chain) -> None:
    with pytest.raises(
        pg.DataError, match=r"a state of type list; give the dict that Chain\.state"
    ):
        chain.restore([1], 2)


def test_random_exposures_are_checked() -> None:
    chain = pg.zoo.hdp_lda(3, total=3).chain({"x": X}, layer1="composed").sweep(2)
    good = chain.state()
    exposure = good["drawn/theta/concentration"]
    for bad, words in ((exposure[:, :, :1], "has 1 numbers"), (-exposure, "negative or NaN"),
                       (exposure * np.nan, "negative or NaN")):  # fmt: skip
        with pytest.raises(pg.DataError, match=words):
            chain.restore({**good, "drawn/theta/concentration": bad}, 2)


def test_the_tables_of_a_state(chain) -> None:
    tables = read_tables(chain.program, chain.state())
    assert set(tables) == {"values", "counts", "drawn", "latent_counts", "sampler"}
    assert set(tables["values"]) == set(chain.network.latent)
    assert tables["counts"]["x", "phi"].dtype == np.int64
    assert np.array_equal(tables["values"]["r"], chain.program.values["r"])
    assert tables["values"]["r"] is not chain.program.values["r"]
    assert tables["drawn"] == tables["sampler"] == {}


def test_a_state_may_leave_values_out_that_are_drawn_on_demand() -> None:
    first, again = (pg.zoo.pfa(3).chain({"x": X}, layer1="collapsed") for _ in range(2))
    state = first.sweep(2).state()
    assert "values/theta1" not in state
    again.restore(state, 2)
    assert np.array_equal(first.values["theta1"], again.values["theta1"])
    with pytest.raises(pg.DataError, match="restore: the state has no value of 'r'"):
        again.restore({name: array for name, array in state.items() if name != "values/r"}, 2)


def test_what_a_row_passes_back_is_no_part_of_a_state() -> None:
    network = pg.zoo.gamma_markov_chain(2)
    data = network.generate(1, {"time": 4, "term": 3})
    chain = network.chain({"x": data["x"]}).sweep(2)
    state = chain.state()
    assert "counts/theta/self" in state
    assert ("theta", "self") not in read_tables(chain.program, state)["counts"]
