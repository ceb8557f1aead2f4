"""Missing cells: what is imputed, and how it is read."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg

X = np.random.default_rng(0).poisson(2.0, (6, 5))
HIDDEN = np.zeros(X.shape, bool)
HIDDEN[0, 1] = HIDDEN[3, 4] = True


def masked() -> np.ma.MaskedArray:
    return np.ma.masked_array(np.where(HIDDEN, 1000, X), mask=HIDDEN)


def test_known_cells_stay_and_missing_ones_are_drawn() -> None:
    chain = pg.zoo.pfa(3).chain({"x": masked()}, seed=1)
    seen = np.array([chain.sweep().imputed("x") for _ in range(20)])
    assert seen.dtype == np.int64
    assert (seen[:, ~HIDDEN] == X[~HIDDEN]).all()
    assert (seen[:, HIDDEN].std(axis=0) > 0).all()
    assert seen[:, HIDDEN].max() < 1000  # what stands under the mask is not read
    assert np.array_equal(chain.counts["theta1"].sum(axis=1), seen[-1].sum(axis=1))


def test_imputed_cells_have_their_predictive_distribution() -> None:
    """a ~ Gam(2, 1), x ~ Pois(a), 8 of 10 cells known: the others are NB(2 + Σx, 1/(1 + 9))."""
    known = np.array([3, 1, 4, 1, 5, 9, 2, 6])
    data = np.ma.masked_array([*known, 0, 0], mask=[0] * 8 + [1] * 2)
    network = pg.Network(pg.Poisson("x", pg.Gamma("a", 2, 1), dims="i"))
    draws = network.sample({"x": data}, 100, 20_000, keep=["x", "a"], seed=2, progress=False)
    assert draws.dims["x"] == ("chain", "draw", "i")
    assert np.array_equal(draws.mean("x")[:8], known)
    shape, rate = 2 + known.sum(), 1 + known.size
    mean, variance = shape / rate, shape / rate * (1 + 1 / rate)
    cell = draws["x"][0, :, 8]
    assert cell.mean() == pytest.approx(mean, abs=0.08)
    assert cell.var() == pytest.approx(variance, rel=0.06)


def test_a_restored_chain_knows_what_was_imputed() -> None:
    network = pg.zoo.pfa(3)
    chain = network.chain({"x": masked()}, seed=1).sweep(3)
    other = network.chain({"x": masked()}, seed=1).restore(chain.state(), 3)
    assert np.array_equal(chain.imputed("x"), other.imputed("x"))


def fixed_rate() -> pg.Network:
    return pg.Network(
        pg.Poisson("x", pg.Gamma("a", 1, 1), dims=("doc", "term")),
        pg.Poisson("y", 1.0, dims=("doc", "term")),
    )


@pytest.mark.parametrize(
    ("network", "data", "name", "words"),
    [
        (pg.zoo.pfa(3), {"x": X}, "x", "no missing cells"),
        (pg.zoo.pfa(3), {"x": masked()}, "theta1", "'theta1' is not an observed node"),
        (pg.zoo.pfa(3), {"x": masked()}, "y", "'y' is not an observed node. Known: x"),
        (
            pg.zoo.pfa(3, link="bernoulli"),
            {"x": np.ma.masked_array(X > 0, mask=HIDDEN)},
            "x",
            "x' is a BernoulliPoisson.* latent counts behind the data.*generate",
        ),
        (fixed_rate(), {"x": X, "y": masked()}, "y", "parameters of 'y' are numbers"),
    ],
)
def test_what_is_not_imputed_says_why(network, data, name, words) -> None:
    chain = network.chain(data).sweep()
    with pytest.raises(pg.DataError, match=f"^imputed: .*{words}"):
        chain.imputed(name)
    if name in network.observed:
        with pytest.raises(pg.DataError, match=f"^keep: .*{words}"):
            network.sample(data, burn_in=1, draws=1, keep=[name], progress=False)


def test_nothing_is_imputed_before_the_first_sweep() -> None:
    with pytest.raises(pg.DataError, match=r"call chain\.sweep\(\) first"):
        pg.zoo.pfa(3).chain({"x": masked()}).imputed("x")


def test_data_behind_latent_counts_can_be_generated() -> None:
    """The remedy that the error names."""
    network = pg.zoo.pfa(3, link="bernoulli")
    chain = network.chain({"x": np.ma.masked_array(X > 0, mask=HIDDEN)}).sweep()
    assert network.generate(given=chain.values)["x"].shape == X.shape
