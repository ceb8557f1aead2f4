"""Networks that look conjugate and are not: refused when they are built."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.testing import check_conjugacy, geweke


def poisson(rate, dims="d"):
    return pg.Network(pg.Poisson("x", rate, dims=dims))


def shape_and_rate():
    r = pg.Gamma("r", 4, 4)
    return poisson(pg.Gamma("t", r, r, dims="d"))


def factor_of_the_previous_row():
    w = pg.Gamma("w", 4, 4)
    chain = pg.Shift(w * pg.Self(), along="d", initial=2.0)
    return poisson(pg.Gamma("t", chain, 2.0, dims="d"))


def latent_scale_of_a_dynamical_system():
    tau = pg.Gamma("tau", 4, 4)
    pi = pg.Dirichlet("pi", 1.0, over="k", dims="before")
    chain = pg.Shift(pi @ pg.Self(k="before"), along="d", initial=1.0)
    theta = pg.Gamma("theta", tau * chain, tau, dims=("d", "k"))
    phi = pg.Dirichlet("phi", 1.0, over="v", dims="k")
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("d", "v")), sizes={"k": 2, "before": 2})


def gate_above_and_beside():
    h = pg.Bernoulli("h", 0.5)
    t = pg.Gamma("t", 2.0 * h + 0.5, 2.0, dims="d")
    return poisson((h + 0.3) * t)


def odds_as_the_rate_of_a_chain():
    p = pg.BetaOdds("p", 4, 4, dims="d")
    return poisson(pg.Gamma("t", pg.Shift(pg.Self(), along="d", initial=1.0), p, dims="d"))


def two_slots_of_one_node():
    s = pg.Gamma("s", 4, 4)
    t = pg.Gamma("t", 2, 1, dims="d")
    return pg.Network(pg.PoissonGamma("x", s * t, s, dims="d"))


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (shape_and_rate, "r"),
        (factor_of_the_previous_row, "w"),
        (latent_scale_of_a_dynamical_system, "tau"),
        (gate_above_and_beside, "h"),
        (odds_as_the_rate_of_a_chain, "p"),
        (two_slots_of_one_node, "s"),
    ],
)
def test_what_depends_on_its_own_update_is_refused(build, name) -> None:
    with pytest.raises(pg.MissingRuleError, match=rf"\b{name}\b"):
        build()


def test_a_probability_is_not_a_rate_and_a_rate_not_a_probability() -> None:
    with pytest.raises(pg.MissingRuleError, match="Beta"):
        poisson(pg.Gamma("t", 2.0, pg.Beta("p", 4, 4), dims="d"))
    gate = pg.Bernoulli("h", pg.BetaOdds("p", 4, 4), dims="d")
    with pytest.raises(pg.MissingRuleError, match="BetaOdds"):
        poisson(pg.Gamma("t", 2.0 * gate, 2.0, dims="d"))


@pytest.mark.parametrize(
    "build",
    [
        lambda h: pg.Gamma("t", 2.0, h, dims="d"),
        lambda h: pg.Gamma(
            "t", 2.0, pg.Gamma("c", 1, 1) * pg.Constant([0.0, 1.0], dims="d"), dims="d"
        ),
    ],
    ids=["gate", "constant"],
)
def test_a_rate_that_can_be_zero_is_refused(build) -> None:
    with pytest.raises(pg.NetworkError, match="t: rate"):
        poisson(build(pg.Bernoulli("h", 0.5, dims="d")))


def test_a_concentration_needs_a_positive_part() -> None:
    gate = pg.Bernoulli("h", 0.5, dims="k")
    e = pg.Gamma("e", 2, 2)
    with pytest.raises(pg.NetworkError, match="p: concentration"):
        pg.Network(pg.Multinomial("x", pg.Dirichlet("p", gate * e, over="k"), over="k"))
    network = pg.Network(
        pg.Multinomial("x", pg.Dirichlet("p", gate * e + 0.3, over="k"), over="k", total=6)
    )
    assert geweke(network, {"k": 3}, replicates=20_000, sweeps=5).worst < 4


def test_a_type_says_with_which_slot_it_is_zero() -> None:
    class SwitchedGamma(pg.Gamma):
        tag = "test_switched_gamma"

    class NeverZero(pg.Gamma):
        tag = "test_never_zero"
        zero_with = ()

    def build(kind: type[pg.Gamma]) -> pg.Network:
        gate = pg.Bernoulli("h", 0.5, dims="k")
        parts = pg.Dirichlet("p", kind("g", 2 * gate, 1, dims="k"), over="k")
        return pg.Network(pg.Multinomial("x", parts, over="k"))

    with pytest.raises(pg.NetworkError, match=r"p: concentration.*number to the shape of g$"):
        build(SwitchedGamma)
    assert "g" in build(NeverZero).nodes


def test_unknown_cells_are_imputed_from_current_values() -> None:
    """With θ integrated out analytically, masked cells must not change what r hears."""
    r = pg.Gamma("r", 4, 4, dims="k")
    network = pg.Network(pg.Poisson("x", pg.Gamma("t", r, 1.0, dims=("d", "k")), dims=("d", "k")))
    data = np.random.default_rng(0).poisson(8.0, (10, 2))
    mask = np.zeros((10, 2), bool)
    mask[5:] = True
    masked = network.sample({"x": np.ma.array(data, mask=mask)}, 300, 3000, keep=["r"], seed=1)
    fewer = network.sample({"x": data[:5]}, 300, 3000, keep=["r"], seed=2)
    np.testing.assert_allclose(masked.mean("r"), fewer.mean("r"), rtol=0.05)


def test_more_tokens_than_32_bits_count() -> None:
    data = {"x": np.array([[2_000_000_000, 1], [2_000_000_000, 3]])}
    chain = pg.zoo.pgbn([1]).chain(data, layer1="blocked").sweep(2)
    assert chain.layer1 == "composed"
    assert chain.counts["phi1"].tolist() == [[4_000_000_000, 4]]
    assert pg.zoo.pgbn([1]).chain(data).layer1 == "composed"


def test_large_reals_stay_reals() -> None:
    chain = pg.zoo.pgbn([2], link="gamma").chain({"x": np.full((3, 2), 1e20)})
    assert chain.program.cells["x"].values.tolist() == [1e20] * 6


@pytest.mark.parametrize("data", [np.zeros((3, 3)), np.array([[0, 0, 0], [1, 0, 2], [0, 0, 0]])])
def test_log_joint_is_finite_on_sparse_data(data) -> None:
    for seed in range(5):
        chain = pg.zoo.pgbn([4, 3, 2]).chain({"x": data}, seed=seed).sweep(20)
        assert np.isfinite(chain.log_joint())


def test_values_that_cannot_be() -> None:
    net = pg.zoo.pgbn([2, 2], p_prior=(2, 4), gamma0_prior=(4, 4))
    with pytest.raises(pg.DataError, match=r"phi1 sums to 1\.5"):
        net.generate(sizes={"doc": 2}, given={"phi1": np.full((2, 3), 0.5)})
    with pytest.raises(pg.DataError, match="gate is 0 or 1"):
        pg.zoo.gated_pfa(2).chain({"x": np.ones((2, 3))}, init={"h": np.full((2, 2), 0.5)})
    values = net.chain({"x": np.ones((2, 3))}).sweep().values
    with pytest.raises(ValueError, match="read-only"):
        values["r"][0] = 1.0


def test_check_conjugacy_refuses_counts_beyond_its_tables() -> None:
    with pytest.warns(pg.PgbnWarning), pytest.raises(pg.DataError, match="check_conjugacy"):
        check_conjugacy(pg.zoo.pgbn([2, 2]), {"doc": 3, "term": 4}, replicates=300)


def test_the_table_of_rules_shows_itself() -> None:
    table = pg.rules()
    assert repr(table) == str(table)
    for word in ("Gamma.shape", "CRT", "Dirichlet.concentration", "BernoulliPoisson.rate", "Beta"):
        assert word in table
