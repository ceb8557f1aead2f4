"""The sweep: which sampler is explained, every step in its order, and why that order is valid."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.explain.render import FORMATS
from pgbn.explain.sampler import sampler_of, sampler_of_chain
from pgbn.testing import mutants
from tests.helpers.compositions import COMPOSITIONS
from tests.same_bits.networks import SMALL_SIZES, data_for, small_zoo


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_every_step_occurs_in_order(name: str) -> None:
    """The headings of the steps follow the schedule, whatever it is."""
    network = COMPOSITIONS[name]()
    for format in FORMATS:
        text = network.explain(format)
        places = [text.index(f"Step {number}: ") for number in range(1, len(network.schedule) + 1)]
        assert places == sorted(places)
        assert f"Step {len(network.schedule) + 1}: " not in text
        if format == "text":
            for place, step in zip(places, network.schedule, strict=True):
                heading = text[place : text.index("\n", place)]
                assert step.node.replace("`", "'") in heading


def test_a_users_order_is_explained_with_the_sum_exemption() -> None:
    """Algorithm 1 draws phi2 before p2, so theta1 is stale, and c3 after phi3 reads a sum."""
    order = ["counts(x)", "counts(theta1)", "counts(theta2)", "counts(theta3)", "counts(r)",
             "phi1", "phi2", "phi3", "p2", "c3", "c4", "c0", "gamma0", "r",
             "theta3", "theta2", "theta1"]  # fmt: skip
    network = pg.zoo.pgbn([4, 3, 2])
    text = plain(network.with_order(order).explain())
    assert "The order below was given by the user" in text
    exempt = "theta2 is stale since step 8, but only its sum over k₂ is read"
    assert exempt in text
    assert "Sums stay current" in text
    derived = plain(network.explain())
    assert "was derived from the graph" in derived
    assert exempt not in derived


def test_the_life_of_every_value_that_goes_stale() -> None:
    text = plain(pg.zoo.pgbn([3, 2]).explain(sampler="blocked"))
    assert (
        "theta1 is stale from step 6 (phi2) on, once more after steps 9, 10, 11 and 12, until "
        "step 13 draws it. Steps 7 to 12 do not read it." in text
    )
    assert "theta2 is stale from step 10 (gamma0) on, once more after step 11" in text
    assert "Step 11 does not read it." in text
    assert "r is stale from step 10 (gamma0) on, until step 11 draws it. No step comes" in text


def test_sums_are_exempt_and_their_algebra_is_stated() -> None:
    text = plain(pg.zoo.pgbn([4, 3, 2], order="paper").explain())
    assert "theta2 is stale from step 6 (phi3) on" in text
    assert "read its sum over k₂ alone, which Lemma" in text
    assert "the Jacobian of (s, u)" in text


def test_an_order_that_was_not_checked_is_not_praised() -> None:
    network = pg.zoo.pgbn([3, 2])
    chain = network.chain({"x": np.ones((3, 4), int)}, sampler="composed", threads=1)
    mutants(network)["stale order"](chain)
    text = plain(chain.explain())
    assert "The order below was not checked." in text
    assert "This order is not valid" in text
    assert "(c3) reads theta2, which gamma0 has integrated out" in text or (
        "(c3) reads theta2, which r has integrated out" in text
    )
    assert "of which θ⁽²⁾ summed over k₂ is stale: a mistake." in text


# ---- which sampler ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", small_zoo())
def test_by_default_it_is_the_one_that_a_chain_takes(name: str) -> None:
    network = small_zoo()[name]
    chain = network.chain(data_for(network, SMALL_SIZES), threads=1)
    sampler = sampler_of(network)
    explained = (
        chain.sampler if sampler.patterns else "composed"
    )  # what the rules say, "blocked" draws
    assert chain.sampler in (explained, "blocked")
    assert sampler_of(network).name == sampler_of_chain(chain).name == explained
    assert sampler_of(network).schedule.names == chain.schedule.names
    assert str(chain.explain()) == str(network.explain())


def test_a_user_order_that_needs_more_values_is_explained_with_them() -> None:
    """The rates read theta after the counts are drawn, so that theta must be held."""
    c = pg.Gamma("c", 1, 1, dims="doc")
    theta = pg.Gamma("theta", 1, c, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.1, over="term", dims="topic")
    network = pg.Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 2})
    assert sampler_of(network).name == "collapsed"
    assert sampler_of(network.with_order(["counts(x)", "phi", "c", "theta"])).name == "blocked"


@pytest.mark.parametrize(
    ("network", "sampler", "words"),
    [
        (pg.zoo.pgbn([3]), "colapsed", r"sampler='colapsed'.*'auto'.*Did you mean 'collapsed'"),
        (pg.zoo.pgbn([3]), None, "sampler=None"),
        (pg.zoo.pgbn([3], link="bernoulli"), "collapsed", "are not counts; use sampler='auto'"),
    ],
)
def test_samplers_that_do_not_exist(network: pg.Network, sampler: str, words: str) -> None:
    with pytest.raises(pg.NetworkError, match=words):
        network.explain(sampler=sampler)


def test_missing_cells_are_known_to_a_chain() -> None:
    data = np.ma.masked_array(np.ones((3, 4), int), np.eye(3, 4, dtype=bool))
    chain = pg.zoo.pgbn([2]).chain({"x": data}, threads=1)
    assert sampler_of_chain(chain).missing == {"x"}
    line = "(x[v j] | -) ∼ Pois(Σ_k₁ φ⁽¹⁾[v k₁] θ⁽¹⁾[k₁ j]) where the cell is missing"
    assert line in chain.explain()
    assert line not in pg.zoo.pgbn([2]).explain()


@pytest.mark.parametrize("above", [True, False])
def test_given_loadings_are_not_integrated_out(above: bool) -> None:
    network = pg.zoo.pgbn([3, 2]).with_given("phi1", above=above)
    assert sampler_of(network).name == "partial"
    with pytest.raises(pg.StaleReadError, match="integrates phi1 out, but phi1 is given"):
        sampler_of(network, "collapsed")
    phi, data = np.full((3, 5), 0.2), {"x": np.ones((4, 5), int)}
    with pytest.raises(pg.StaleReadError, match="integrates phi1 out, but phi1 is given"):
        network.chain(data, given={"phi1": phi}, sampler="collapsed")
