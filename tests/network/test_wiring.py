"""What every latent node hears, checked when the network is built."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn import Gamma, Network, Poisson
from pgbn.testing import geweke
from tests.helpers.small_networks import poisson


def test_a_type_says_with_which_slot_it_is_zero() -> None:
    class SwitchedGamma(pgbn.Gamma):
        tag = "test_switched_gamma"

    class NeverZero(pgbn.Gamma):
        tag = "test_never_zero"
        zero_with = ()

    def build(kind: type[pgbn.Gamma]) -> pgbn.Network:
        gate = pgbn.Bernoulli("h", 0.5, dims="k")
        parts = pgbn.Dirichlet("p", kind("g", 2 * gate, 1, dims="k"), over="k")
        return pgbn.Network(pgbn.Multinomial("x", parts, over="k"))

    with pytest.raises(pgbn.NetworkError, match=r"p: concentration.*number to the shape of g$"):
        build(SwitchedGamma)
    assert "g" in build(NeverZero).nodes


def test_constant_loadings_that_sum_to_one_are_an_exposure_of_one() -> None:
    """Also where their sums are 1 but for rounding."""
    loadings = pgbn.Constant(np.array([[0.1, 0.5], [0.2, 0.25], [0.7, 0.25]]), dims=("term", "k"))
    scores = Gamma("theta", 2.0, pgbn.BetaOdds("p", 6, 4, dims="doc"), dims=("doc", "k"))
    network = poisson(loadings @ scores)
    assert network.wiring.exposures.received("theta")[0].is_one
    result = geweke(network, {"doc": 2}, 4000, 6, seed=2)
    assert result.worst < 4, result


@pytest.mark.parametrize("name", ["zero_with", "positive_slots", "real_slots"])
def test_slots_that_a_type_names_must_exist(name: str) -> None:
    kind = type("Misspelt", (pgbn.Gamma,), {"tag": f"test_connections.{name}", name: ("shap",)})
    with pytest.raises(pgbn.NetworkError, match=f"Misspelt.{name}.*'shap'.*shape"):
        pgbn.Network(Poisson("x", kind("g", 1, 1)))


def test_a_network_with_complementary_zeros_is_sampled_rightly() -> None:
    """Constants that are 0 in different places leave a sum positive."""
    weights = [pgbn.Constant(each, dims="doc") for each in ([0.0, 1.0, 0.0], [1.0, 0.0, 2.0])]
    shape = weights[0] * Gamma("a", 2.0, 2.0) + weights[1] * Gamma("b", 2.0, 2.0)
    theta = Gamma("theta", shape, 1.0, dims=("doc", "term"))
    network = Network(Poisson("x", theta, dims=("doc", "term")), sizes={"term": 2})
    assert geweke(network, replicates=1500, sweeps=4).worst < 4
