"""Every draw of every model is the conditional of its joint distribution, to 1e-8."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn import Network, NetworkError, Poisson, PoissonGamma, zoo
from pgbn.engine.compile.density import ConditionalDensity
from pgbn.nodes import BetaOdds, Dirichlet, Gamma
from pgbn.nodes import rules as registry
from pgbn.testing import check_conjugacy
from tests.helpers.kernel_networks import SLICED
from tests.helpers.models import pgbn, sizes_of, zoo_models
from tests.helpers.state_networks import STATES

MODELS = zoo_models()


@pytest.mark.parametrize("name", ["pgbn, T=3", "multimodal"])
def test_every_node_is_checked(name):
    """tests/evidence checks every network."""
    result = check_conjugacy(MODELS[name], sizes_of(MODELS[name]), seed=1)
    assert set(result.errors) == set(MODELS[name].latent)


def test_sizes_that_all_differ():
    network = zoo.pgbn([5, 3, 2], 0.5, (2, 4), (9, 9), (9, 9), (60, 3))
    result = check_conjugacy(network, {"doc": 4, "term": 7}, seed=2)
    assert result.worst < 1e-8, result


def test_data_without_a_latent_parent_are_passed_over():
    a = Gamma("a", 2, 2)
    network = Network(Poisson("x", a, dims="i"), Poisson("x2", 1.0, dims="i"))
    assert check_conjugacy(network, {"i": 4}).worst < 1e-8
    assert check_conjugacy(Network(Poisson("x", 2.0, dims="i")), {"i": 4}).worst == 0.0


@pytest.mark.parametrize("constant", [False, True], ids=["rate", "constant rate"])
def test_a_sum_in_the_noise_of_reals(constant):
    a, b = Gamma("a", 2, 2), Gamma("b", 3, 2)
    rate = 1.5 if constant else Gamma("rate", 2, 2, dims="i")
    network = Network(PoissonGamma("y", rate, a + b + 0.5, dims="i"))
    result = check_conjugacy(network, {"i": 4})
    assert result.worst < 1e-8, result
    assert {"a", "b"} <= set(result.errors)


def test_a_wrong_noise_rule_fails(monkeypatch):
    rule = replace(registry._evidence[PoissonGamma, "noise", "poisson"], exposure=1.0)
    monkeypatch.setitem(registry._evidence, (PoissonGamma, "noise", "poisson"), rule)
    a, b = Gamma("a", 2, 2), Gamma("b", 3, 2)
    network = Network(PoissonGamma("y", 1.5, a + b + 0.5, dims="i"))
    assert check_conjugacy(network, {"i": 4}).failures == ["a", "b"]


# ---- the check can fail -----------------------------------------------------------------


def test_a_wrong_draw_rule_fails(monkeypatch):
    def posterior(count, exposure, shape, rate):
        return {"shape": shape + count + 1e-6, "rate": rate + exposure}

    rule = replace(registry._draws[Gamma, "poisson"], posterior=posterior)
    monkeypatch.setitem(registry._draws, (Gamma, "poisson"), rule)
    network = pgbn(2)
    failures = check_conjugacy(network, sizes_of(network)).failures
    assert {"r", "gamma0", "c0", "c3", "theta1", "theta2"} <= set(failures)
    assert "phi1" not in failures


def test_a_wrong_odds_rule_fails(monkeypatch):
    def posterior(count, exposure, a, b):
        return {"a": a + exposure, "b": b + count}  # the two exchanged

    rule = replace(registry.find_draw(BetaOdds("p", 1, 1), "odds"), posterior=posterior)
    monkeypatch.setitem(registry._draws, (BetaOdds, "odds"), rule)
    network = pgbn(1)
    assert check_conjugacy(network, sizes_of(network)).failures == ["p2"]


@pytest.mark.parametrize(
    ("exposure", "what"),
    [
        (lambda exposure, rate: exposure / rate, "without the logarithm"),
        (lambda exposure, rate: np.log1p(exposure * rate), "scale for rate"),
    ],
    ids=["no-logarithm", "scale-for-rate"],
)
def test_a_wrong_exposure_fails(monkeypatch, exposure, what):
    rule = replace(registry._evidence[Gamma, "shape", "poisson"], exposure=exposure)
    monkeypatch.setitem(registry._evidence, (Gamma, "shape", "poisson"), rule)
    network = pgbn(2)
    failures = check_conjugacy(network, sizes_of(network)).failures
    assert {"r", "gamma0", "theta2"} <= set(failures), what
    assert "theta1" not in failures
    assert "c3" not in failures


def test_a_rule_without_its_probability_is_named(monkeypatch):
    rule = replace(registry._evidence[Dirichlet, "concentration", "poisson"], log_probability=None)
    monkeypatch.setitem(registry._evidence, (Dirichlet, "concentration", "poisson"), rule)
    network = zoo.hdp_lda(2, total=3)
    with pytest.raises(NetworkError, match=r"Dirichlet\.concentration.*log_probability="):
        check_conjugacy(network, sizes_of(network))


# ---- the probabilities that it rests on -------------------------------------------------


def test_check_conjugacy_refuses_counts_beyond_its_tables() -> None:
    with pytest.warns(pg.PgbnWarning), pytest.raises(pg.DataError, match="check_conjugacy"):
        check_conjugacy(pg.zoo.pgbn([2, 2]), {"doc": 3, "term": 4}, replicates=300)


@pytest.mark.parametrize("build", [*SLICED.values(), *STATES.values()])
def test_kernels_and_steps_that_integrate_counts_out_raise_no_alarm(build: Any) -> None:
    net = build()
    sizes = dict.fromkeys(net.dims, 2)
    result = check_conjugacy(net, sizes, replicates=6, draws=2)
    assert not result.failures, result
    assert set(result.errors) == set(net.latent)


def test_a_wrong_density_of_a_child_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SLICED["shape_of_gammas"]()
    monkeypatch.setattr(ConditionalDensity, "__call__", ConditionalDensity.likelihood)
    assert check_conjugacy(net, {"i": 2}, replicates=6, draws=2).failures == ["a"]
