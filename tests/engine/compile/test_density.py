"""The log density of nodes, against scipy, and the log conditional of one node."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import pgbn as pg
from pgbn import Gamma, Network, Poisson
from pgbn.engine.compile.density import ConditionalDensity, log_density
from pgbn.engine.run.chain import Chain
from tests.helpers.kernel_networks import SLICED, sizes_of


def test_the_density_of_a_multinomial_has_its_factorials() -> None:
    x = np.array([[2, 0, 5], [1, 1, 0]])
    chain = pg.zoo.lda(2, 0.5, 0.5).chain({"x": x}, threads=1).sweep()
    rate = chain.values["theta"] @ chain.values["phi"]
    exact = sum(
        stats.multinomial(counts.sum(), share / share.sum()).logpmf(counts)
        for counts, share in zip(x, rate, strict=True)
    )
    assert chain.log_likelihood() == pytest.approx(exact, rel=1e-9)
    node = chain.network["x"]
    dense = node.log_density(x[None, None], probability=rate[None, None], axis=3)
    assert dense.sum() == pytest.approx(exact, rel=1e-9)


def test_log_joint_is_the_sum_of_the_densities(documents) -> None:
    net = pg.zoo.pgbn([3], eta=0.7, p_prior=(2, 3), gamma0_prior=(2, 2), c0_prior=(3, 1))
    chain = net.chain({"x": documents}, seed=4).sweep(2)
    v = chain.values
    probability = 1 / (1 + v["p2"])
    expected = stats.gamma(2, scale=1 / 2).logpdf(v["gamma0"]) + stats.gamma(3).logpdf(v["c0"])
    expected += stats.gamma(v["gamma0"] / 3, scale=1 / v["c0"]).logpdf(v["r"]).sum()
    expected += (stats.beta(2, 3).logpdf(probability) + 2 * np.log(probability)).sum()
    expected += stats.gamma(v["r"][None], scale=1 / v["p2"][:, None]).logpdf(v["theta1"]).sum()
    expected += sum(stats.dirichlet([0.7] * 25).logpdf(column) for column in v["phi1"])
    likelihood = stats.poisson(v["theta1"] @ v["phi1"]).logpmf(documents).sum()
    assert chain.log_likelihood() == pytest.approx(likelihood, rel=1e-10)
    assert chain.log_joint() == pytest.approx(expected + likelihood, rel=1e-10)


def test_the_density_of_masked_data_leaves_them_out() -> None:
    net = Network(Poisson("x", Gamma("g", 2, 1), dims="cell"))
    options = {"start": {"g": 1.5}}
    masked = net.chain({"x": np.ma.masked_array([3, 7], [False, True])}, **options)
    assert masked.log_likelihood() == pytest.approx(stats.poisson(1.5).logpmf(3))


# ---- the log conditional of a node: the joint density, up to what does not depend on it ----------


NODES = {"shape_of_gammas": "a", "beside_conjugate": "a", "twice": "a", "concentrations": "e",
         "scores": "theta", "probability": "p"}  # fmt: skip


@pytest.mark.parametrize(("name", "node"), NODES.items())
def test_differences_are_those_of_the_joint_density(name: str, node: str) -> None:
    net = SLICED[name]()
    chain = Chain._replicated(net, sizes_of(net), 3, 0, "composed", 1)
    program = chain._program
    conditional = ConditionalDensity(program, net[node])

    def joint() -> np.ndarray:
        return sum(log_density(program, every) for every in net.nodes)

    old = program.values[node]
    new = 0.3 + 0.5 * old
    before, after = (conditional(v.reshape(program.shape4[node])) for v in (old, new))
    assert program.values[node] is old
    first = joint()
    program.values[node] = new
    difference = joint() - first
    assert np.allclose((after - before).reshape(3, -1).sum(axis=1), difference)
