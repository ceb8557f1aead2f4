"""Which nodes are local, take a step, or are drawn above: by the graph alone."""

from __future__ import annotations

import pytest

import pgbn
from pgbn.errors import NetworkError
from pgbn.training.minibatch.learner import find_roles


def test_the_roles_of_a_belief_network() -> None:
    roles = find_roles(pgbn.zoo.pgbn((4, 3), link="gamma"), "doc")
    assert set(roles.shared) == {"phi1", "phi2", "r", "gamma0", "c0", "noise"}
    assert set(roles.proportions) == {"phi1", "phi2"}
    assert set(roles.received) == {"r", "noise"}
    assert roles.above is not None
    assert set(roles.above.free) == {"r", "gamma0", "c0", "noise"}


def test_a_network_of_the_users_own() -> None:
    a = pgbn.Gamma("a", 1.0, 1.0)
    theta = pgbn.Gamma("theta", a, 1.0, dims=("page", "topic"))
    phi = pgbn.Dirichlet("phi", 0.1, over="word", dims="topic")
    x = pgbn.Poisson("x", phi @ theta, dims=("page", "word"))
    roles = find_roles(pgbn.Network(x, sizes={"topic": 3}), "page")
    assert (roles.proportions, roles.received) == (("phi",), ("a",))


def test_what_has_no_step_is_named() -> None:
    eta = pgbn.Gamma("eta", 1.0, 1.0)
    theta = pgbn.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    phi = pgbn.Dirichlet("phi", eta, over="term", dims="topic")
    x = pgbn.Poisson("x", phi @ theta, dims=("doc", "term"))
    with pytest.raises(NetworkError, match="the concentration of phi depends on eta"):
        find_roles(pgbn.Network(x, sizes={"topic": 3}), "doc")
    odds = pgbn.BetaOdds("odds", 1.0, 1.0)
    theta = pgbn.Gamma("theta", 1.0, odds, dims=("doc", "topic"))
    phi = pgbn.Dirichlet("phi", 0.1, over="term", dims="topic")
    x = pgbn.Poisson("x", phi @ theta, dims=("doc", "term"))
    with pytest.raises(NetworkError, match="odds is a BetaOdds, which has no stochastic step"):
        find_roles(pgbn.Network(x, sizes={"topic": 3}), "doc")
