"""Chains of gamma layers: found by their form, and drawn by kernels with the law of the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Network, zoo
from pgbn.engine.rows.gamma_chain import ChainPattern, find_chain
from pgbn.engine.rows.independent import row_network
from pgbn.engine.rows.infer import infer_rows
from tests.helpers.models import MILD, zoo_models
from tests.helpers.trained import X, model_of

MODELS = zoo_models()
pytestmark = pytest.mark.filterwarnings("ignore::pgbn.PgbnWarning")


def other_names(first: Any = None) -> Network:
    """A belief network of two layers whose nodes have names of their own."""
    top = pgbn.Gamma("weights", 1.0, 1.0, dims="group")
    v = pgbn.Gamma("v", *MILD, dims="row")
    upper = pgbn.Gamma("upper", top, v, dims=("row", "group"))
    to_lower = pgbn.Dirichlet("to_lower", 0.5, over="unit", dims="group")
    u = first if first is not None else pgbn.BetaOdds("u", 2.0, 4.0, dims="row")
    lower = pgbn.Gamma("lower", to_lower @ upper, u, dims=("row", "unit"))
    to_word = pgbn.Dirichlet("to_word", 0.5, over="word", dims="unit")
    data = pgbn.Poisson("data", to_word @ lower, dims=("row", "word"))
    return Network(data, sizes={"group": 2, "unit": 3, "word": 4})


def test_names_do_not_matter_and_other_rates_do() -> None:
    pattern = find_chain(row_network(other_names(), "row"), "row")
    assert isinstance(pattern, ChainPattern)
    assert pattern.scores == ("lower", "upper")
    assert pattern.loadings == ("to_word", "to_lower")
    assert (pattern.top, pattern.prior) == ("weights", (2.0, 4.0, 4.0, 4.0))
    gamma = other_names(first=pgbn.Gamma("u", 1, 1, dims="row"))
    assert "u is not drawn as a BetaOdds" in str(find_chain(row_network(gamma, "row"), "row"))


@pytest.mark.parametrize("case", ["pgbn, T=2", "pgbn, gamma, T=1"])
def test_the_kernels_have_the_law_of_the_rules(case: str) -> None:
    network = MODELS[case]
    drawn = network.generate(seed=5, sizes={"doc": 3, "term": 3})
    data = {name: drawn[name] for name in network.observed}
    names = [name for name in network.latent if name.startswith("theta")]
    runs = [
        infer_rows(network, data, drawn, "doc", 30, 600, seed=seed, nodes=names, kernels=kernels,
                      proportions=True)
        for seed in (1, 2, 3, 4)
        for kernels in (True, False)
    ]  # fmt: skip
    for name in names:
        for part in ("means", "sd", "proportions", "proportions_sd"):
            fast, slow = (
                np.array([getattr(run, part)[name] for run in runs[first::2]]) for first in (0, 1)
            )
            error = np.sqrt(fast.var(axis=0) / 3 + slow.var(axis=0) / 3) + 0.02 * slow.mean(axis=0)
            assert (np.abs(fast.mean(axis=0) - slow.mean(axis=0)) / error).max() < 5, (name, part)


def test_the_kernels_are_those_of_trained_networks() -> None:
    model, x = model_of(), X
    network = zoo.pgbn(model.widths)
    given = {f"phi{t}": phi for t, phi in enumerate(model.phi, 1)} | {"r": model.r}
    old = model.infer(x, burn_in=5, draws=7, seed=3)
    new = network.infer({"x": x}, given, "doc", 5, 7, seed=3, nodes=["theta1"])
    assert np.array_equal(old["theta1"], new["theta1"])
    assert np.array_equal(old.sd["theta1"], new.sd["theta1"])


def test_many_draws_and_terms_that_no_unit_has() -> None:
    network = other_names()
    drawn = network.generate(seed=1, sizes={"row": 3})
    one = {name: drawn[name] for name in ("to_word", "to_lower", "weights")}
    two = {name: np.stack([value, value]) for name, value in one.items()}
    single, double = (
        network.infer(drawn, given, "row", 50, 2000, nodes=["lower"]) for given in (one, two)
    )
    assert np.allclose(single["lower"], double["lower"], rtol=0.15)
    zero = one | {"to_word": np.eye(4)[[0, 0, 1]]}
    with pytest.raises(pgbn.DataError, match="probability 0"):
        network.infer({"data": np.ones((1, 4), int)}, zero, "row", nodes=["lower"])
