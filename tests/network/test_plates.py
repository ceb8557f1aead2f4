"""Which steps draw row by row along a plate."""

from __future__ import annotations

import numpy as np

import pgbn
from pgbn import Gamma, Network, Poisson, zoo
from tests.helpers.models import zoo_models


def local(network: Network, plate: str, sampler: str = "blocked") -> set[str]:
    return {step.name for step in network.schedule_for(sampler) if step.local(plate)}


BY_DOCUMENT = {"counts(x)", "counts(theta1)", "counts(theta2)", "p2", "c3", "theta1", "theta2"}


def test_documents_of_a_belief_network() -> None:
    network = zoo.pgbn([4, 3])
    assert local(network, "doc") == BY_DOCUMENT
    assert (
        local(network, "doc", "partial") == BY_DOCUMENT
    )  # θ is integrated out document by document
    assert local(network, "doc", "collapsed") == BY_DOCUMENT - {"counts(x)"}  # and φ, over all


def test_what_has_no_plate_is_global() -> None:
    for name, network in zoo_models().items():
        for step in network.schedule:
            if step.local("doc"):
                assert "doc" in network[step.node].axes, (name, step.name)


def test_rows_of_a_recursion_depend_on_each_other() -> None:
    network = zoo.gp_dpfa(3)
    assert local(network, "time") == {"counts(x)"}  # a rate reads two rows of theta


def test_a_sum_over_the_plate_couples_its_rows() -> None:
    a = Gamma("a", 1, 1, dims="doc")
    total = Gamma(
        "total", pgbn.extend.Mix(factors=(a, Gamma("w", 1, 1, dims="doc")), over=("doc",)), 1
    )
    network = Network(Poisson("x", total * Gamma("b", 1, 1, dims="doc"), dims="doc"))
    assert not local(network, "doc") & {"a", "w"}
    assert "b" in local(network, "doc")


def test_a_renamed_plate_reads_other_rows() -> None:
    """Each theta_i hears of all pairs (i, j), and so depends on every row of the other node."""
    theta, other = Gamma("theta", 1, 1, dims="i"), Gamma("other", 1, 1, dims="i")
    pairs = Poisson("x", theta * other.rename(i="j"), dims=("i", "j"))
    assert local(Network(pairs, sizes={"i": 4, "j": 4}), "i") == set()
    plain = Poisson("x", theta * Gamma("third", 1, 1, dims="j"), dims=("i", "j"))
    assert local(Network(plain), "i") == {"counts(x)", "theta"}


def test_what_a_sampler_integrates_out_is_looked_through() -> None:
    """With theta integrated out, a row of counts depends on all rows that its shape is made of."""
    mean = pgbn.Constant(value=np.full((3, 3), 1 / 3), dims=("other", "doc"))
    w = Gamma("w", 1, 1, dims=("doc", "topic"))
    shape = pgbn.extend.Mix(factors=(w.rename(doc="other"), mean), over=("other",))
    theta = Gamma("theta", shape, 1, dims=("doc", "topic"))
    phi = pgbn.Dirichlet("phi", 0.1, over="term", dims="topic")
    network = Network(Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 2})
    assert "counts(x)" in local(network, "doc")
    assert "counts(x)" not in local(network, "doc", "partial")
