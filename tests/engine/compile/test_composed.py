"""Steps as compositions of rules: the laws that they draw from."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import pgbn
from pgbn import Gamma, Network, Poisson
from pgbn.engine.compile.composed import count_step, data_step, draw_step, prior_of, slot_step
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Counts, DataCounts, Draw, SlotCounts

N = 20_000


def program_of(node: pgbn.Observed, data: NDArray[np.int64] | float, **init: float) -> Program:
    """A program with N equal cells, and latent values as given."""
    network = Network(node)
    wide = {
        name: np.full([N] * len(network[name].axes), value) for name, value in init.items()
    }  # at most one dim
    x = np.full(N, data)
    return network.chain({node.name: x}, init=wide, layer1="composed").program


def each(name: str, shape: float = 2.0) -> Gamma:
    return Gamma(name, shape, 1.0, dims="i")


def test_a_draw_is_the_posterior() -> None:
    """g ~ Gam(2, 1), x ~ Pois(g), x = 3: g ~ Gam(5, 2), each cell on its own."""
    program = program_of(Poisson("x", each("g"), dims="i"), 3)
    program.counts["x", "g"] = np.full((1, N), 3)
    draw_step(program, Draw(program.network["g"]))(7)
    assert stats.kstest(program.values["g"][0], stats.gamma(5, scale=1 / 2).cdf).pvalue > 1e-4


def test_a_draw_depends_on_its_key_alone() -> None:
    program = program_of(Poisson("x", each("g"), dims="i"), 3)
    program.counts["x", "g"] = np.full((1, N), 3)
    run, drawn = draw_step(program, Draw(program.network["g"])), []
    for key in (7, 8, 7):
        run(key)
        drawn.append(program.values["g"])
    assert np.array_equal(drawn[0], drawn[2])
    assert not np.array_equal(drawn[0], drawn[1])


def test_the_prior_of_a_node() -> None:
    program = program_of(Poisson("x", each("g"), dims="i"), 3)
    assert (
        stats.kstest(prior_of(program, program.network["g"])(1)[0], stats.gamma(2).cdf).pvalue
        > 1e-4
    )
    counts = prior_of(program, program.network["x"])(1)
    assert counts.shape == (1, N)


def test_data_counts_are_shared_out() -> None:
    """x ~ Pois(a + 3b), x = 8, a = 1, b = 1: a hears Bin(8, 1/4) and b the rest."""
    program = program_of(Poisson("x", each("a") + 3.0 * each("b"), dims="i"), 8, a=1.0, b=1.0)
    data_step(program, DataCounts(program.network["x"]))(5)
    a, b = (program.counts["x", name][0] for name in "ab")
    assert ((a + b) == 8).all()
    expected = stats.binom(8, 1 / 4).pmf(np.arange(9))
    np.testing.assert_allclose(np.bincount(a, minlength=9) / N, expected, atol=0.015)


def test_a_factor_of_two_terms_hears_both() -> None:
    """x ~ Pois(a + a b): a hears all counts, b those of the second term."""
    a = each("a")
    program = program_of(Poisson("x", a + a * each("b"), dims="i"), 8, a=1.0, b=3.0)
    data_step(program, DataCounts(program.network["x"]))(5)
    assert (program.counts["x", "a"] == 8).all()
    assert program.counts["x", "b"].mean() == pytest.approx(6.0, abs=0.05)


def test_counts_behind_binary_data() -> None:
    """b = 1: n ~ Pois(0.5) given n ≥ 1."""
    node = pgbn.BernoulliPoisson("x", each("a"), dims="i")
    program = program_of(node, 1, a=0.5)
    data_step(program, DataCounts(program.network["x"]))(5)
    counts = program.latent_counts["x"]
    assert counts.min() == 1
    assert counts.mean() == pytest.approx(0.5 / (1 - np.exp(-0.5)), abs=0.02)
    assert np.array_equal(program.counts["x", "a"][0], counts)


def test_the_counts_of_a_slot_are_tables() -> None:
    """m = 3 customers, shape 0.5: 1 + 1/3 + 1/5 tables on average."""
    theta = Gamma("theta", each("r"), 1.0, dims="i")
    program = program_of(Poisson("x", theta, dims="i"), 3, r=0.5)
    program.counts["x", "theta"] = np.full((1, N), 3)
    slot_step(program, SlotCounts(program.network["theta"], "shape"))(2)
    tables = program.counts["theta", "r"][0]
    assert set(tables.tolist()) == {1, 2, 3}
    assert tables.mean() == pytest.approx(1 + 1 / 3 + 1 / 5, abs=0.02)


def test_a_random_exposure_is_kept() -> None:
    """A Dirichlet tells its concentration tables and −ln s, s ~ Beta(a_·, n_·)."""
    p = pgbn.Dirichlet("p", Gamma("a", 2, 2), over="k", dims="i")
    network = Network(pgbn.Multinomial("x", p, over="k", dims="i"))
    x = np.full((N, 2), 3)
    program = network.chain({"x": x}, init={"a": 0.5}, layer1="composed").program
    program.counts["x", "p"] = x[None]
    slot_step(program, SlotCounts(network["p"], "concentration"))(2)
    s = np.exp(-program.drawn["p", "concentration"].reshape(-1))
    assert stats.kstest(s, stats.beta(1.0, 6).cdf).pvalue > 1e-4
    assert program.counts["p", "a"].item() >= 2 * N  # each of the two restaurants has a table


def test_the_counts_of_a_node_are_those_of_its_data_and_slots() -> None:
    node = pgbn.PoissonGamma("y", each("a"), each("noise"), dims="i")
    program = program_of(node, 1.5, a=1.0, noise=1.0)
    count_step(program, Counts(program.network["y"]))(3)
    assert np.array_equal(program.counts["y", "a"], program.counts["y", "noise"])
    assert (program.counts["y", "a"] > 0).all()


def test_unknown_cells_are_imputed() -> None:
    """x ~ Pois(2) where it is masked."""
    network = Network(Poisson("x", Gamma("a", 2, 1), dims="i"))
    data = np.ma.masked_array(np.full(N, 9), np.arange(N) > 0)
    program = network.chain({"x": data}, init={"a": 2.0}).program
    data_step(program, DataCounts(network["x"]))(4)
    counts = program.latent_counts["x"]
    assert counts[0] == 9
    share = np.bincount(counts[1:], minlength=8)[:8] / (N - 1)
    np.testing.assert_allclose(share, stats.poisson(2).pmf(np.arange(8)), atol=0.015)
    assert program.counts["x", "a"].item() == counts.sum()
